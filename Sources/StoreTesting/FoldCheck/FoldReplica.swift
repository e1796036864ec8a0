import EventStore
import OperationFormat

/// A simulated replica: a fold, its knowledge of the remote log, and what it has not shipped.
struct FoldReplica {
  /// A transaction of its own that has no known place.
  private struct Pending {
    var number: Int
    var isOnItsWay: Bool
  }

  private let history: FoldHistory
  private(set) var knowledge: FoldKnowledge
  private(set) var driver: FoldDriver
  private let fault: FoldCheckFault?
  private var clock = HybridClock(last: Timestamp(rawValue: 0))
  /// A second implementation of the clock, to compare with.
  private var naiveClock = NaiveClock()
  private(set) var lane: Int
  /// The offset up to which it has folded the remote log.
  private(set) var token = 0 {
    didSet { knowledge.placedThrough = token }
  }
  /// The greatest offset that it knows of.
  private var lastPlace = 0
  private var pending: [Pending] = []
  /// Its segments that were not acknowledged: their offsets.
  private var unacknowledged: [Int] = []
  /// The transactions that it has folded, in the order in which they came.
  private var log: [Int] = []
  /// The records that were changed since the last check, one bit each.
  var touched: UInt8 = 0

  init(_ history: FoldHistory, lane: Int, turn: Int, fault: FoldCheckFault?) {
    self.history = history
    self.lane = lane
    self.fault = fault
    knowledge = FoldKnowledge(history, FoldNumbering(turn: turn))
    driver = FoldDriver(knowledge, tiesByNumber: fault == .tieBrokenByNumber)
  }

  /// A copy of a store, as a copy of its directory is.
  init(copying other: FoldReplica) {
    self = other
    knowledge = FoldKnowledge(copying: other.knowledge)
    driver = FoldDriver(knowledge, tiesByNumber: fault == .tieBrokenByNumber)
    driver.replace(other.driver.storage.contents, as: other.driver)
    for index in pending.indices { pending[index].isOnItsWay = false }
    unacknowledged = []
  }

  // MARK: Verbs

  /// Makes a transaction and folds it.
  ///
  /// - Throws: ``OracleMismatch`` if the clock must not give its timestamp; what the fold throws.
  mutating func write(_ operations: [FoldOperation], wallMilliseconds: Int64, floor: Int? = nil) throws {
    let timestamp = clock.tick(wallMilliseconds: wallMilliseconds)
    // At most five minutes ahead: a fetched timestamp of 2099 must not move this clock to 2099.
    try naiveClock.check(timestamp, wallMilliseconds: wallMilliseconds)
    let made = history.append(operations, lane: lane, base: token, timestamp: timestamp, floor: floor)
    guard let number = made else { return }
    log.append(number)
    if history.lanes[lane].parent != nil { history.coverage.lineages += 1 }
    knowledge.grow()
    pending.append(Pending(number: number, isOnItsWay: false))
    touch(number)
    // If the base is at the end of what has a place, a store looks nothing up.
    let seesAll = token > 0 && lastPlace <= token
    try driver.fold(number, effective: timestamp, seesAll: seesAll)
  }

  /// Makes a transaction that names a floor: so many offsets below the token, or above it.
  mutating func nameFloor(below: Int, wallMilliseconds: Int64) throws {
    guard token - below > 0 else { return }
    try write([], wallMilliseconds: wallMilliseconds, floor: token - below)
  }

  /// Appends pending transactions to the remote log. Returns whether there were any.
  mutating func ship(count: Int, receivedMilliseconds: Int64?, again: Bool) -> Bool {
    guard let start = pending.firstIndex(where: { again || !$0.isOnItsWay }) else { return false }
    let first = history.transactions[pending[start].number]
    var last = first.sequence - 1
    for index in pending[start...].indices.prefix(count) {
      let transaction = history.transactions[pending[index].number]
      guard transaction.lane == first.lane, transaction.sequence == last + 1 else { break }
      last = transaction.sequence
      pending[index].isOnItsWay = true
    }
    unacknowledged.append(
      history.append(
        FoldSegment(
          lane: first.lane, sequences: first.sequence...last, receivedMilliseconds: receivedMilliseconds)))
    return true
  }

  /// Learns the place of the first segment that was not acknowledged. Returns whether there was one.
  mutating func acknowledge() throws -> Bool {
    guard !unacknowledged.isEmpty else { return false }
    let offset = unacknowledged.removeFirst()
    let segment = history.segments[offset - 1]
    if fault != .retimeForgotten { try learn(segment, at: offset) }
    try place(segment, at: offset)
    return true
  }

  /// Folds the next segment of the remote log. Returns whether there was one.
  mutating func fetch(wallMilliseconds: Int64) throws -> Bool {
    guard token < history.segments.count else { return false }
    try deliver(token + 1, wallMilliseconds: wallMilliseconds)
    return true
  }

  /// Gets a segment at or before its token again.
  mutating func redeliver(back: Int) throws {
    guard token > back else { return }
    try deliver(token - back, wallMilliseconds: 0)
  }

  /// Continues under another identity.
  mutating func renew(identity: Int?) {
    let current = history.lanes[lane]
    // Nobody knows an identity that made nothing. So the new identity continues the one that it continued.
    let parent =
      current.transactions.isEmpty
      ? current.parent : OracleLane.Parent(lane: lane, through: held(current))
    lane = history.openLane(identity: identity ?? current.identity, parent: parent)
  }

  /// Whether nothing is pending and everything is fetched.
  var isSettled: Bool { pending.isEmpty && token == history.segments.count }

  // MARK: Helpers

  /// The last sequence of a lane that is here.
  private func held(_ lane: FoldLane) -> Int {
    lane.transactions.count(where: driver.folded.contains)
  }

  private mutating func touch(_ number: Int) {
    for operation in history.transactions[number].operations { touched |= 1 << operation.record }
  }

  private mutating func deliver(_ offset: Int, wallMilliseconds: Int64) throws {
    knowledge.grow()
    let segment = history.segments[offset - 1]
    let last = history.number(of: segment.sequences.upperBound, in: segment.lane)
    for sequence in segment.sequences {
      let number = history.number(of: sequence, in: segment.lane)
      let transaction = history.transactions[number]
      guard !driver.folded.contains(number) else {
        history.coverage.redeliveries += 1
        if fault == .redeliveryFolded {
          try driver.fold(
            number, effective: transaction.timestamp, firstIndex: transaction.operations.count)
        }
        continue
      }
      touch(number)
      let base =
        switch fault {
        case .baseTooHigh: transaction.base + 1
        case .baseTooLow: max(transaction.base - 1, 0)
        case .baseOfSegment: history.transactions[last].base
        case .lateSeesCompacted: max(transaction.base, driver.floors.last?.offset ?? 0)
        default: transaction.base
        }
      let received = fault == .capForgotten ? nil : segment.receivedMilliseconds
      try driver.fold(
        number, effective: HybridClock.effective(transaction.timestamp, receivedMilliseconds: received),
        base: base, seesAll: fault == .everythingSeen, fault: fault)
      log.append(number)
      if let received = segment.receivedMilliseconds { knowledge.received[number] = received }
      clock.observe(transaction.timestamp, wallMilliseconds: wallMilliseconds)
      naiveClock.observe(transaction.timestamp, wallMilliseconds: wallMilliseconds)
    }
    try learn(segment, at: offset)
    try place(segment, at: offset)
  }

  /// Records a segment's time of receipt for transactions that are already here. Their first place counts.
  private mutating func learn(_ segment: FoldSegment, at offset: Int) throws {
    let received = segment.receivedMilliseconds ?? .max
    for sequence in segment.sequences {
      let number = history.number(of: sequence, in: segment.lane)
      let place = knowledge.places[number]
      guard place == 0 || offset < place else { continue }
      let before = effective(number)
      var learnt = knowledge.received
      learnt[number] = received
      let after = effective(number, learnt)
      if after != before {
        touch(number)
        try retime(number, to: after, learnt)
      }
      knowledge.received = learnt
    }
  }

  private func effective(_ number: Int, _ received: [Int64]? = nil) -> Timestamp {
    let received = (received ?? knowledge.received)[number]
    return HybridClock.effective(
      history.transactions[number].timestamp, receivedMilliseconds: received == .max ? nil : received)
  }

  /// Gives a transaction's heads another timestamp, and checks whether the fold reports the right winners.
  private mutating func retime(_ number: Int, to timestamp: Timestamp, _ learnt: [Int64]) throws {
    let before = winners(of: number, knowledge.received)
    let after = winners(of: number, learnt)
    let isChanged = try driver.retime(number, to: timestamp)
    guard isChanged == (before != after), fault == nil else {
      if fault != nil { return }
      throw FoldMismatch(
        place: "whether a winner changed when transaction \(number) got another timestamp",
        expected: ["\(before != after)"], found: ["\(isChanged)"])
    }
  }

  /// The winners of the cells that a transaction worked on.
  private struct Winners: Equatable {
    var heads: [OracleHead?] = []
    /// By list and element: the operation that last placed it, and the one that gave it its value.
    var items: [Int: [UnitReference: [OperationID?]]] = [:]
  }

  private func winners(of number: Int, _ received: [Int64]) -> Winners {
    var view = driver.view
    view.received = received
    var heads: [OracleHead] = []
    var winners = Winners()
    for operation in history.transactions[number].operations {
      let name = FoldSequence(operation)
      if name?.hasItems ?? false, let place = history.sequences.firstIndex(where: { $0.name == name }) {
        for part in history.parts(at: place, view) {
          for item in part.items {
            let element = UnitReference(maker: part.first.maker, number: item.number)
            winners.items[place, default: [:]][element] =
              [item.places, item.values].map(\.first?.operation)
          }
        }
      }
      let changed = history.cells.cell(of: operation)
      if let changed, history.cells.traits(of: changed).contains(.isOrdered) {
        // Any other timestamp may change the order.
        history.findHeads(of: changed, in: Int(operation.record), view, into: &heads)
        winners.heads += heads
      }
      for cell in [-1, changed].compactMap(\.self)
      where history.cells.traits(of: cell).contains(.hasWinner) {
        history.findHeads(of: cell, in: Int(operation.record), view, into: &heads)
        winners.heads.append(
          heads.first.map { head in
            var head = head
            head.timestamp = Timestamp(rawValue: 0)
            return head
          })
      }
    }
    return winners
  }

  private mutating func place(_ segment: FoldSegment, at offset: Int) throws {
    lastPlace = max(lastPlace, offset)
    for sequence in segment.sequences {
      let number = history.number(of: sequence, in: segment.lane)
      let known = knowledge.places[number]
      let isKept = known > 0 && (fault == .lastPlaceCounts ? known > offset : known < offset)
      if !isKept { knowledge.places[number] = offset }
    }
    pending.removeAll { knowledge.places[$0.number] > 0 }
    guard offset == token + 1 else { return }
    token = offset
    try takeFloor(of: segment)
  }

  // MARK: Floors

  /// Takes the floor that the segment at the token names, if it counts.
  private mutating func takeFloor(of segment: FoldSegment) throws {
    let floors = history.oracle.floors(through: token)
    guard let floor = floors.last, floor.place == token else { return try ignoreFloor(of: segment) }
    let isSettled = log.allSatisfy { 1...token ~= knowledge.places[$0] }
    if isSettled || fault == .compactsUnsettled { return try driver.take(floor) }
    history.coverage.foldedAgain += 1
    driver.replace(MemoryFoldStorage.Contents(), folded: TransactionSet(), floors: [])
    for part in 0...floors.count {
      for number in log where history.oracle.part(of: number, floors) == part {
        try driver.fold(number, effective: effective(number))
      }
      if part < floors.count { try driver.take(floors[part]) }
    }
    touched = .max
  }

  /// Takes no floor, unless a planted fault lets one count that does not.
  private func ignoreFloor(of segment: FoldSegment) throws {
    for sequence in segment.sequences {
      guard let floor = history.transactions[history.number(of: sequence, in: segment.lane)].made.floor else {
        continue
      }
      history.coverage.floorsIgnored += 1
      if fault == .floorAboveBase, floor > driver.floors.last?.offset ?? 0 {
        try driver.take(OracleFloor(offset: floor, place: token), counts: false)
      }
    }
  }
}
