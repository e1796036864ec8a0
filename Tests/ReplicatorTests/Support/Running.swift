import Synchronization

@testable import Replicator
@testable import StoreTesting

/// A running replicator, and its reports.
struct Running {
  let task: Task<Void, Never>
  /// The reports of each round. There is one reader.
  let reports: AsyncStream<SyncReport>

  init(_ device: Device, _ remote: any RemoteLog, _ time: TestTime) {
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    configuration.commitPollMilliseconds = TestTime.commitPoll
    configuration.sleep = { try await time.sleep($0) }
    let replicator = LogReplicator(store: device.store, remote: remote, configuration: configuration)
    let (reports, feed) = AsyncStream.makeStream(of: SyncReport.self)
    self.reports = reports
    task = Task {
      await replicator.run { feed.yield($0) }
      feed.finish()
    }
  }

  /// Waits for a round after which a condition holds.
  ///
  /// - Returns: nil if the replicator ended before.
  @discardableResult
  func report(where holds: (SyncReport) async throws -> Bool) async rethrows -> SyncReport? {
    for await report in reports where try await holds(report) { return report }
    return nil
  }

  func end() async {
    task.cancel()
    await task.value
  }
}

/// The time of a running replicator in a test: it decides which waits end immediately, and which never.
final class TestTime: Sendable {
  /// The polling interval for other processes' commits: a number that nothing else waits for.
  static let commitPoll: Int64 = 333

  private let waits = Mutex<[Int64]>([])
  private let isOver: @Sendable (Int64) async throws -> Bool

  /// - Parameter isOver: whether a wait of this many milliseconds ends when this returns; other waits never
  ///   end.
  init(_ isOver: @escaping @Sendable (Int64) async throws -> Bool) { self.isOver = isOver }

  /// Only the delays that batch commits and the remote's notifications end: nothing polls or retries.
  static func withoutPolling() -> TestTime { TestTime { $0 == 50 || $0 == 250 } }

  /// Every wait ends immediately, except that for other processes' commits.
  static func flying() -> TestTime { TestTime { $0 != commitPoll } }

  /// The requested waits, in milliseconds.
  var asked: [Int64] { waits.withLock { $0 } }

  func sleep(_ milliseconds: Int64) async throws {
    waits.withLock { $0.append(milliseconds) }
    if try await isOver(milliseconds) {
      await Task.yield()
      return try Task.checkCancellation()
    }
    while true { try await Task.sleep(for: .seconds(3600)) }
  }
}

/// A remote that reports each call before it is made, and optionally after it.
struct TellingRemote: ForwardingRemote {
  let remote: any RemoteLog
  let tell: @Sendable () -> Void
  var tellAfter: @Sendable () -> Void = {}

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    tell()
    defer { tellAfter() }
    return try await remote.zoneEvents(after: token)
  }

  func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    tell()
    defer { tellAfter() }
    return try await remote.createZone(zone, proposing: proposed)
  }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    tell()
    defer { tellAfter() }
    try await remote.deleteZone(zone, incarnation)
  }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    tell()
    defer { tellAfter() }
    return try await remote.append(segment, after: token)
  }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    tell()
    defer { tellAfter() }
    return try await remote.segments(after: token, bytesMax: bytesMax)
  }

  func heads(of tokens: [ChangeToken], list: DatabaseToken) async throws(RemoteError) -> RemoteHeads? {
    tell()
    defer { tellAfter() }
    return try await remote.heads(of: tokens, list: list)
  }
}
