import LMDB
import OperationFormat

/// What a ``ContributionReducer`` caches of one record: the order of the reduced contributions, the result,
/// and earlier results to continue from when a late contribution arrives.
struct ReducedRecord<Result: Sendable>: Sendable {
  /// The result of the first `count` contributions.
  private struct Checkpoint: Sendable {
    var count: Int
    var result: Result
  }

  /// The id of the LMDB transaction that it was read in.
  var transactionID: UInt64
  /// See ``StateRow/retimings``.
  private let retimings: UInt64
  /// In their order.
  private var keys: [ContributionKey] = []
  /// What their order is based on.
  private var ground = ContributionOrder<ReadViewSight>.Ground.heads
  /// Incarnations of which a base claims to have seen more than the store has, each with its last offset.
  /// When more of the log arrives, contributions may turn out to have seen others. Only an import or a
  /// dishonest peer causes that.
  private var unsettled: [IncarnationNumber: UInt64] = [:]
  private static var unsettledMax: Int { 16 }
  /// The last known contribution of each lane.
  private var lanes: [ContributionLane: LanePlace] = [:]
  /// The result of all contributions; nil only while it is computed.
  private(set) var result: Result?
  /// Ascending.
  private var checkpoints: [Checkpoint] = []

  init(_ cell: ContributionCell<ReadView>, initial: Result) throws {
    transactionID = cell.rows.transaction.id
    retimings = try cell.rows.states.storedRow(of: cell.state).retimings
    result = initial
    checkpoints = [Checkpoint(count: 0, result: initial)]
  }

  /// Reduces what was contributed since the last update.
  ///
  /// - Returns: false if a reduced contribution is gone or has another timestamp. Then all must be reduced
  ///   again.
  /// - Throws: what the reducer throws. Then the value must not be used any more.
  mutating func update(
    _ cell: ContributionCell<ReadView>, _ reduce: (inout Result, Contribution) throws -> Void
  ) throws -> Bool {
    guard try retimings == cell.rows.states.storedRow(of: cell.state).retimings, try isSettled(cell.sight)
    else {
      return false
    }
    let news = try StoreError.translating { try keys.isEmpty ? cell.keys() : cell.keys(after: lanes) }
    guard keys.count + news.count == cell.total else { return false }
    transactionID = cell.rows.transaction.id
    if news.isEmpty { return true }
    // If claims contradict each other, a new contribution may come before any other.
    if ground == .contradictions { return false }
    try note(news, cell.sight)
    let (place, reduced) = (try place(of: news, cell.sight), keys.count)
    var tail = Array(keys[place...])
    tail += news
    keys.removeSubrange(place...)
    let former = keys.isEmpty ? .heads : ground
    ground = try cell.order.sort(&tail)
    if ground == .heads, let last = keys.last, let first = tail.first {
      ground = try former == .heads && cell.sight.isGreater(first.head, last.head) ? .heads : .sight
    }
    keys += tail
    for key in news {
      let last = lanes[key.lane] ?? LanePlace(key.head.id)
      lanes[key.lane] = max(last, LanePlace(key.head.id))
    }
    try self.reduce(from: place, after: reduced, cell, reduce)
    return true
  }

  /// Whether the contributions have seen of each other what they had seen at the last update.
  private func isSettled(_ sight: ReadViewSight) throws -> Bool {
    if unsettled.count > Self.unsettledMax { return false }
    return try unsettled.allSatisfy { try sight.lastOffset(in: $0.key) == $0.value }
  }

  private mutating func note(_ news: [ContributionKey], _ sight: ReadViewSight) throws {
    for key in news where key.incarnation != .none && unsettled.count <= Self.unsettledMax {
      let last = try sight.lastOffset(in: key.incarnation)
      if key.baseOffset > last { unsettled[key.incarnation] = last }
    }
  }

  // MARK: Where new contributions come in the order

  /// A place in the order before which new contributions change nothing: the last such place, unless that
  /// takes long to find. None of the known contributions has seen a new one.
  ///
  /// - Complexity: for each lane with new ones, linear in what comes after the last one that its first has
  ///   seen, or, if the order is that of the heads, after the place of its least.
  private func place(of news: [ContributionKey], _ sight: ReadViewSight) throws -> Int {
    var byLane: [ContributionLane: (first: ContributionKey, least: Head)] = [:]
    for key in news {
      guard var lane = byLane[key.lane] else {
        byLane[key.lane] = (key, key.head)
        continue
      }
      if LanePlace(key.head.id) < LanePlace(lane.first.head.id) { lane.first = key }
      if try sight.isGreater(lane.least, key.head) { lane.least = key.head }
      byLane[key.lane] = lane
    }
    var least = keys.count
    var stepsLeft = 4 * keys.count + 1024
    // What a lane's first new one has seen comes before all new ones of the lane.
    for (_, lane) in byLane.sorted(by: { $0.key < $1.key }) {
      least = min(least, try place(of: lane.first, lane.least, sight, &stepsLeft))
    }
    return least
  }

  private func place(
    of first: ContributionKey, _ least: Head, _ sight: ReadViewSight, _ stepsLeft: inout Int
  ) throws -> Int {
    let start = ground == .heads ? try keys.prefixCount { try sight.isGreater(least, $0.head) } : 0
    if stepsLeft <= 0 { return start }
    var place = keys.count
    while place > start, try !sight.hasSeen(first, keys[place - 1]) { place -= 1 }
    stepsLeft -= keys.count - place
    while place < keys.count, try sight.isGreater(least, keys[place].head) { place += 1 }
    return place
  }

  // MARK: Reducing

  /// Reduces the contributions from a place to the end.
  ///
  /// - Parameter reduced: how many contributions the result has.
  private mutating func reduce(
    from place: Int, after reduced: Int, _ cell: ContributionCell<ReadView>,
    _ reduce: (inout Result, Contribution) throws -> Void
  ) throws {
    // The only copy of a value changes in place, so no other copy may exist here.
    var value: Result
    var done = reduced
    if place == reduced, let whole = result.take() {
      value = whole
    } else {
      result = nil
      checkpoints.removeAll { $0.count > place }
      guard let last = checkpoints.last else { preconditionFailure("no checkpoint of nothing") }
      value = last.result
      done = last.count
    }
    let wanted = Self.checkpointCounts(of: keys.count)
    checkpoints.removeAll { $0.count > 0 && !wanted.contains($0.count) }
    while done < keys.count {
      let contribution = try StoreError.translating { try cell.contribution(keys[done]) }
      try reduce(&value, contribution)
      done += 1
      if wanted.contains(done) { checkpoints.append(Checkpoint(count: done, result: value)) }
    }
    result = value
  }

  /// After how many contributions there is a checkpoint: for each 2^k from 64 on, at its two last odd
  /// multiples. So for a contribution that comes d before the end there is a checkpoint at most 4 d + 64
  /// before the end, and every checkpoint that a later count needs was one before.
  static func checkpointCounts(of count: Int) -> Set<Int> {
    var counts: Set<Int> = []
    var shift = 6
    while count >> shift > 0 {
      let multiple = count >> shift
      let odd = multiple % 2 == 1 ? multiple : multiple - 1
      counts.insert(odd << shift)
      if odd > 2 { counts.insert((odd - 2) << shift) }
      shift += 1
    }
    return counts
  }
}
