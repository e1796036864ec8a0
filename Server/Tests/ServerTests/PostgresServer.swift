import Foundation
import PostgresIndex
import RemoteIndex
import Synchronization
import Testing

/// A server of PostgreSQL that runs on this machine as long as a test has it.
final class PostgresServer: Sendable {
  private let directory: String
  private let port: Int
  private let databases = Mutex(0)

  /// The folder of the programs of the newest version that is installed; nil if none is.
  private static let programs: String? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    return versions.compactMap { Int($0) }.max().map { "/usr/lib/postgresql/\($0)/bin" }
  }()

  static var isInstalled: Bool { programs != nil }

  init() async throws {
    directory = NSTemporaryDirectory() + "tributary-postgres-\(UInt64.random(in: 0 ... .max))"
    port = Int.random(in: 23_000..<32_000)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    if getuid() == 0 { _ = try await ServerProcess.output(of: "chown", ["postgres", directory]) }
    _ = try await run("initdb -D \(directory)/data -A trust -U postgres -N")
    try await start()
  }

  deinit {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", Self.command("pg_ctl -D \(directory)/data -m immediate stop; rm -rf \(directory)"),
    ]
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try? process.run()
    process.waitUntilExit()
  }

  /// The server that stays would keep open by what Foundation learns that the command has ended.
  private static let closing =
    "for file in /proc/$$/fd/*; do number=${file##*/}; if [ $number -gt 2 ]; then eval \"exec $number>&-\"; fi; done; "

  private static func command(_ text: String) -> String {
    let text = "PATH=\(programs ?? ""):$PATH; cd /; \(text)"
    // It does not run as root.
    return getuid() == 0 ? "su postgres -s /bin/sh -c '\(text)'" : text
  }

  private func run(_ text: String) async throws -> String {
    try await ServerProcess.output(of: "bash", ["-c", Self.closing + Self.command(text)])
  }

  func start() async throws {
    let said = try await run(
      "pg_ctl -D \(directory)/data -l \(directory)/log -w "
        + "-o \"-p \(port) -k \(directory) -c listen_addresses=127.0.0.1 -c max_connections=300\" start")
    guard said.contains("server started") else { throw ServerProcess.Failure(description: said) }
  }

  /// Stops it as a power cut would.
  func stop() async throws { _ = try await run("pg_ctl -D \(directory)/data -m immediate stop") }

  /// Stops it as a power cut would, and starts it again.
  func crash() async throws {
    try await stop()
    try await start()
  }

  func query(_ statement: String) async throws -> String {
    try await run("psql -h 127.0.0.1 -p \(port) -U postgres -Atc \"\(statement)\"")
  }

  /// The address of a new database.
  func makeDatabase() async throws -> String {
    let number = databases.withLock { number in
      number += 1
      return number
    }
    _ = try await query("create database d\(number)")
    return "postgres://postgres@127.0.0.1:\(port)/d\(number)"
  }
}

extension Trait where Self == ConditionTrait {
  static var needsPostgres: Self {
    .enabled(
      if: PostgresServer.isInstalled, "PostgreSQL is not installed; `Scripts/setup server` installs it")
  }
}
