import ArgumentParser
import Dispatch
import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting

/// Measures how long a store's write lock is held while segments are folded.
@main
struct LockHolds: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lockholds",
    abstract: "Measures how long a store's write lock is held by each commit while segments are folded.")

  @Option(help: "How many segments are made.")
  var count = 10_000

  @Flag(help: "Make 100 segments.")
  var smoke = false

  @Option(help: "What the segments are made from.")
  var seed: UInt64 = 1

  @Option(help: "The most operations in one segment.")
  var operationsMax = Limits.segmentOperationsMax

  @Option(help: "Fetch this folder remote instead.")
  var remote: String?

  @Option(help: "Where the store is made, in a directory of its own.")
  var directory = "/dev/shm"

  func run() async throws {
    let place = "\(directory)/lockholds-\(getpid())"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    let now: @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    let holds: WriteLockHolds
    if let remote {
      holds = try await .fetching(
        try await FolderRemote(directory: remote), in: "\(place)/store", now: now)
    } else {
      let generator = SegmentGenerator(
        ZoneID(name: "notes"), IncarnationID(rawValue: 5), seed: seed, operationsMax: operationsMax)
      holds = try await .folding(smoke ? 100 : count, of: generator, in: "\(place)/store", now: now)
    }
    print("\(holds.holds.count) of \(remote ?? "seed \(seed)")")
    for (name, part) in [("median", 0.5), ("99th percentile", 0.99), ("longest", 1)] {
      if let hold = holds.quantile(part) { print("\(name): \(text(hold))") }
    }
    print("the longest ten:")
    for hold in holds.longest(10) { print("  \(text(hold))") }
  }

  private func text(_ hold: WriteLockHolds.Hold) -> String {
    String(format: "%.1f ms", Double(hold.nanoseconds) / 1e6) + " (\(hold.what))"
  }
}
