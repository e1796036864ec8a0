import Foundation
import HTTPRemote
import Replicator
import Synchronization
import URLSessionTransport

/// A server that runs as a process.
final class ServerProcess: Sendable {
  struct Failure: Error, CustomStringConvertible { var description: String }

  private struct State {
    var lines: [String] = []
    var rest = Data()
    var port: Int?
  }

  private let process: Process
  private let state: Mutex<State>
  private let scheme: String

  /// Starts a server at a port that the system chooses, and waits until it serves.
  init(_ arguments: [String], environment: [String: String] = [:], port: Int = 0) async throws {
    process = Process()
    state = Mutex(State())
    scheme = arguments.contains("--tls-certificate") ? "https" : "http"
    process.executableURL = Self.executable
    process.arguments = ["--listen", "127.0.0.1:\(port)"] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    (process.standardError, process.standardOutput) = (pipe, FileHandle.nullDevice)
    pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      self?.take(data)
    }
    try process.run()
    for _ in 0..<2000 {
      if self.state.withLock({ $0.port }) != nil { return }
      if !process.isRunning { throw Failure(description: "it ended: \(log)") }
      try await Task.sleep(for: .milliseconds(5))
    }
    throw Failure(description: "it does not serve: \(log)")
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  /// Beside the tests.
  static let executable: URL = {
    var directory = Bundle.main.bundleURL
    #if os(macOS)
      directory.deleteLastPathComponent()
    #else
      directory = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    #endif
    return directory.appendingPathComponent("tributary-server")
  }()

  private func take(_ data: Data) {
    state.withLock { state in
      state.rest += data
      while let end = state.rest.firstIndex(of: 0x0A) {
        let line = String(decoding: state.rest[..<end], as: UTF8.self)
        state.rest = Data(state.rest[(end + 1)...])
        state.lines.append(line)
        guard let fields = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
        else { continue }
        if fields["message"] == "serving" { state.port = fields["port"].flatMap { Int($0) } }
      }
    }
  }

  var log: String { state.withLock { $0.lines.joined(separator: "\n") } }
  var port: Int { state.withLock { $0.port ?? 0 } }
  var address: String { "\(scheme)://127.0.0.1:\(port)" }

  func client(secret: String? = nil, patience: Duration = .seconds(20)) throws(RemoteError) -> HTTPRemote {
    try HTTPRemote(address, secret: secret, patience: patience, transport: URLSessionTransport())
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Waits until it has ended.
  ///
  /// - Returns: its exit code; that of the signal, negative, if one ended it.
  func end() async throws -> Int32 {
    for _ in 0..<3000 where process.isRunning { try await Task.sleep(for: .milliseconds(10)) }
    guard !process.isRunning else { throw Failure(description: "it does not end: \(log)") }
    return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
  }

  /// Whether a program can be run.
  static func has(_ program: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
  }

  /// Runs another program, and returns what it prints.
  static func output(of program: String, _ arguments: [String]) async throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    try process.run()
    // On a thread of its own: the few of the tests have other things to do meanwhile.
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        continuation.resume(returning: String(decoding: data, as: UTF8.self))
      }
    }
  }
}
