import EventStore
import OperationFormat
package import Replicator
internal import Synchronization

/// How long each commit held a store's write lock. Other writers wait for that time.
package struct WriteLockHolds: Sendable {
  /// What one segment cost.
  package struct Hold: Sendable {
    /// The segment in words, such as “counters, 65536 operations, 131072 steps”.
    package var what: String
    /// The longest of the commits that folded it.
    package var nanoseconds: UInt64
  }

  package private(set) var holds: [Hold] = []

  private init() {}

  /// Folds segments, each with a call of its own, into a new store.
  ///
  /// - Parameters:
  ///   - count: how many segments the generator makes.
  ///   - directory: where the store is made.
  ///   - now: a clock that never goes back, in nanoseconds.
  ///   - progress: called before each segment; what it throws ends the work.
  package static func folding(
    _ count: Int, of generator: SegmentGenerator, in directory: String,
    now: @escaping @Sendable () -> UInt64, progress: () throws -> Void = {}
  ) async throws -> WriteLockHolds {
    var generator = generator
    let watch = LockWatch(now)
    let store = try watch.makeStore(directory)
    defer { store.close() }
    let zone = generator.zone
    try await store.write { transaction in
      try transaction.createZone(zone)
      try transaction.attachZone(zone)
    }
    try await store.adopt(zone, generator.incarnation)
    var holds = WriteLockHolds()
    for _ in 0..<count {
      try progress()
      let segment = try generator.next()
      _ = watch.take()
      _ = try await store.ingest([segment.remote])
      holds.add(
        "\(segment.kind.rawValue), \(segment.operationCount) operations, \(segment.steps) steps", watch.take()
      )
    }
    return holds
  }

  /// Fetches all zones of a remote into a new store, one segment a page.
  package static func fetching(
    _ remote: any RemoteLog, in directory: String, now: @escaping @Sendable () -> UInt64
  ) async throws -> WriteLockHolds {
    let watch = LockWatch(now)
    let store = try watch.makeStore(directory)
    defer { store.close() }
    var configuration = ReplicatorConfiguration()
    configuration.pageBytesMax = 1
    let replicator = LogReplicator(store: store, remote: remote, configuration: configuration)
    // A round reads a limited number of pages.
    while try await replicator.syncOnce(.fetch).hasMoved {}
    var holds = WriteLockHolds()
    for (index, nanoseconds) in watch.take().enumerated() { holds.add("commit \(index + 1)", [nanoseconds]) }
    return holds
  }

  private mutating func add(_ what: String, _ nanoseconds: [UInt64]) {
    holds.append(Hold(what: what, nanoseconds: nanoseconds.max() ?? 0))
  }

  /// A quantile of the holds: 0.5 for the median, 1 for the longest; nil if there are no holds.
  package func quantile(_ part: Double) -> Hold? {
    let sorted = holds.sorted { $0.nanoseconds < $1.nanoseconds }
    guard !sorted.isEmpty else { return nil }
    return sorted[min(sorted.count - 1, Int((Double(sorted.count) * part).rounded(.down)))]
  }

  /// The longest ones, the longest first.
  package func longest(_ count: Int) -> [Hold] {
    Array(holds.sorted { $0.nanoseconds > $1.nanoseconds }.prefix(count))
  }
}

/// Notes how long a store's write lock is held.
private final class LockWatch: Sendable {
  private let state = Mutex((start: UInt64(0), holds: [UInt64]()))
  private let now: @Sendable () -> UInt64

  init(_ now: @escaping @Sendable () -> UInt64) { self.now = now }

  func makeStore(_ directory: String) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.writeLockDidChange = { isHeld in self.note(isHeld) }
    return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
  }

  /// The holds since the last call, in nanoseconds.
  func take() -> [UInt64] {
    state.withLock { state in
      defer { state.holds = [] }
      return state.holds
    }
  }

  private func note(_ isHeld: Bool) {
    let time = now()
    state.withLock { state in
      if isHeld { state.start = time } else { state.holds.append(time - state.start) }
    }
  }
}
