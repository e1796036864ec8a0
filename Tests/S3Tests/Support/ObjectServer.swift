import Foundation
import Replicator
import S3Remote
import StoreTesting
import Testing
import URLSessionTransport

/// An object store that runs as a process on this machine.
final class ObjectServer: Sendable {
  enum Kind: String, CaseIterable, CustomTestStringConvertible {
    /// Keeps objects in files.
    case seaweedFS = "weed"
    /// Keeps them in memory, for tests of programs.
    case moto = "moto_server"
    /// Serves a folder, and honours no conditions.
    case rclone = "rclone"

    var testDescription: String { rawValue }

    var isInstalled: Bool {
      (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(rawValue)") }
    }
  }

  private let process = Process()
  private let directory = TemporaryDirectory()
  private let port: Int

  /// Starts a store that has one bucket, and waits until it serves.
  init(_ kind: Kind) async throws {
    // SeaweedFS takes this port, the next three, and those 10,000 above them. Clients get ports from 32,768 on.
    port = Int.random(in: 3_000..<5_500) * 4
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = try [kind.rawValue] + Self.arguments(kind, port, directory.path)
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    let transport = URLSessionTransport()
    for _ in 0..<1200 where process.isRunning {
      if try await makeBucket(transport) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Failure(description: "\(kind.rawValue) does not serve")
  }

  struct Failure: Error, CustomStringConvertible { var description: String }

  deinit { stop() }

  func stop() { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  private static func arguments(_ kind: Kind, _ port: Int, _ directory: String) throws -> [String] {
    switch kind {
    case .seaweedFS:
      let config = directory + "/s3.json"
      let text = """
        {"identities": [{"name": "test", "credentials": [{"accessKey": "key", "secretKey": "secret"}],
          "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
        """
      try text.write(toFile: config, atomically: true, encoding: .utf8)
      return [
        "server", "-dir=\(directory)", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.port=\(port)",
        "-s3.config=\(config)", "-master.port=\(port + 1)", "-volume.port=\(port + 2)",
        "-filer.port=\(port + 3)",
        "-volume.max=50", "-master.volumeSizeLimitMB=128",
      ]
    case .moto: return ["-H", "127.0.0.1", "-p", "\(port)"]
    case .rclone: return ["serve", "s3", "--addr", "127.0.0.1:\(port)", directory]
    }
  }

  /// Makes the bucket.
  ///
  /// - Returns: whether the store has answered.
  private func makeBucket(_ transport: URLSessionTransport) async throws -> Bool {
    let remote = try remote("")
    do throws(RemoteError) {
      try await remote.makeBucket()
      return true
    } catch {
      if error.code == .unreachable || error.code == .later { return false }
      throw error
    }
  }

  /// The remote at a prefix.
  func remote(_ prefix: String, bucket: String = "lists", secret: String = "secret") throws -> S3Remote {
    S3Remote(
      try S3Address("s3://\(bucket)/\(prefix)", endpoint: "http://127.0.0.1:\(port)"),
      credentials: { S3Credentials(accessKey: "key", secretKey: secret) }, transport: URLSessionTransport())
  }
}
