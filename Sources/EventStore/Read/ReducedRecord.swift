import LMDB
import OperationFormat

/// What a ``ContributionReducer`` keeps of one record: the order of the contributions that it has reduced, the result, and
/// results from before to go on from where a late one falls in.
struct ReducedRecord<Result: Sendable>: Sendable {
  /// The result of the first so many contributions.
  private struct Checkpoint: Sendable {
    var count: Int
    var result: Result
  }

  /// The id of the transaction whose snapshot it is of.
  var transactionID: UInt64
  /// See ``StateRow/retimings``.
  private let retimings: UInt64
  /// In their order.
  private var keys: [ContributionKey] = []
  /// What their order follows.
  private var ground = ContributionOrder<ReadViewSight>.Ground.heads
  /// Incarnations of which a base claims to have seen more than there is, each with the last offset that there is: with
  /// those that come, some may have seen others that they had not seen before. It takes an import for that, or a forger.
  private var unsettled: [IncarnationNumber: UInt64] = [:]
  private static var unsettledMax: Int { 16 }
  /// The last known place of each lane.
  private var lanes: [ContributionLane: LanePlace] = [:]
  /// Of all contributions; nil only while it is made.
  private(set) var result: Result?
  /// Ascending.
  private var checkpoints: [Checkpoint] = []

  init(_ cell: ContributionCell<ReadView>, initial: Result) throws {
    transactionID = cell.rows.transaction.id
    retimings = try cell.rows.stateRow(cell.state).retimings
    result = initial
    checkpoints = [Checkpoint(count: 0, result: initial)]
  }

  /// Takes in what was contributed since.
  ///
  /// - Returns: false if something that was reduced is no more, or has another timestamp: then all is to be reduced anew.
  /// - Throws: what the reducer throws; then this is of no more use.
  mutating func update(
    _ cell: ContributionCell<ReadView>, _ reduce: (inout Result, Contribution) throws -> Void
  ) throws -> Bool {
    guard try retimings == cell.rows.stateRow(cell.state).retimings, try isSettled(cell.sight) else {
      return false
    }
    let news = try keys.isEmpty ? cell.keys() : cell.keys(after: lanes)
    guard keys.count + news.count == cell.total else { return false }
    transactionID = cell.rows.transaction.id
    if news.isEmpty { return true }
    // Among claims that contradict each other a free one may come before any.
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

  /// Whether what the contributions have seen of each other is what it was.
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

  // MARK: Where they fall in

  /// A place in the order up to which nothing changes when contributions are added, which nothing here has seen: the last
  /// such place, unless that takes long to find.
  ///
  /// - Complexity: for each lane that has new ones, linear in what is behind the last one that its first has seen, or, if the
  ///   order is that of the heads, behind where the least of them belongs.
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
    // What a lane's first one has seen comes before all of them.
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
    while place > start, try !sight.hasSeen(first, keys[place - 1].head.id) { place -= 1 }
    stepsLeft -= keys.count - place
    while place < keys.count, try sight.isGreater(least, keys[place].head) { place += 1 }
    return place
  }

  // MARK: Reducing

  /// Reduces what comes from a place on.
  ///
  /// - Parameter reduced: how many contributions the result is of.
  private mutating func reduce(
    from place: Int, after reduced: Int, _ cell: ContributionCell<ReadView>,
    _ reduce: (inout Result, Contribution) throws -> Void
  ) throws {
    // A value that is held once is changed in place: no other copy of the result stays meanwhile.
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
      try reduce(&value, try cell.contribution(keys[done]))
      done += 1
      if wanted.contains(done) { checkpoints.append(Checkpoint(count: done, result: value)) }
    }
    result = value
  }

  /// After how many of all contributions a result is kept: of each 2^k from 64 on the two last odd multiples. So there is
  /// one at most 4 d + 64 before the end for all that fall in d before it, and those that are wanted later were wanted before.
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
