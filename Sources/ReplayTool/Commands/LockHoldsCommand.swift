import ArgumentParser
import Dispatch
import EventStore
import Foundation
import OperationFormat
import StoreTesting

/// `replay lockholds`: measures how long folding segments holds a store's write lock.
struct LockHoldsCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "lockholds",
    abstract: "Measures how long each commit holds the write lock when segments are folded.",
    discussion: """
      Folds segments into a new store, each in one commit or several. The segments are generated and have every allowed kind \
      of operation, or they come from a remote. Other writers of a store wait as long as the lock is held.

      Example: replay lockholds --count 10000 --seed 7
      Example: replay lockholds --remote folder:/tmp/remote
      """)

  @Option(help: "How many segments to generate.")
  var count = 1000

  @Option(help: "The seed of the segments.")
  var seed: UInt64 = 1

  @Option(help: "The most operations in one segment.")
  var operationsMax = Limits.segmentOperationsMax

  @Option(
    help: ArgumentHelp(
      "Fold the segments of this remote instead: folder:DIR, s3://BUCKET/PREFIX or http://HOST:PORT.",
      valueName: "remote"))
  var remote: String?

  @Option(help: "How many of the longest holds to print.")
  var longest = 10

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }

  func validate() throws {
    guard count > 0, longest > 0, 1...Limits.segmentOperationsMax ~= operationsMax else {
      throw ValidationError(
        "--count and --longest are at least 1, --operations-max from 1 to \(Limits.segmentOperationsMax).")
    }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let scratch = TemporaryDirectory()
    defer { withExtendedLifetime(scratch) {} }
    let store = scratch.path + "/store"
    let now: @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    let holds: WriteLockHolds
    if let remote {
      let opened = try await RemoteAddress(remote).open(creates: false, console)
      holds = try await .fetching(opened, in: store, now: now)
    } else {
      let generator = SegmentGenerator(
        ZoneID(name: "notes"), IncarnationID(rawValue: 5), seed: seed, operationsMax: operationsMax)
      holds = try await .folding(count, of: generator, in: store, now: now) {
        if console.isInterrupted() { throw Interrupted() }
      }
    }
    try show(holds, console)
    return nil
  }

  private func show(_ holds: WriteLockHolds, _ console: Console) throws {
    if json {
      return try console.output.line(
        .members([
          "count": .number(holds.holds.count), "median": holds.quantile(0.5).map(Self.json),
          "percentile99": holds.quantile(0.99).map(Self.json), "longest": holds.quantile(1).map(Self.json),
        ]))
    }
    try console.output.line("\(holds.holds.count) commits or segments of \(remote ?? "seed \(seed)")")
    for (name, part) in [("median", 0.5), ("99th percentile", 0.99), ("longest", 1)] {
      guard let hold = holds.quantile(part) else { continue }
      try console.output.line("\(name): \(Self.text(hold))")
    }
    try console.output.line("the longest:")
    for hold in holds.longest(longest) { try console.output.line("  \(Self.text(hold))") }
  }

  private static func text(_ hold: WriteLockHolds.Hold) -> String {
    String(format: "%.1f ms", Double(hold.nanoseconds) / 1e6) + " (\(hold.what))"
  }

  private static func json(_ hold: WriteLockHolds.Hold) -> JSON {
    .object(["nanoseconds": .number(hold.nanoseconds), "what": .text(hold.what)])
  }
}
