import EventStore
import OperationFormat

/// Runs one schedule and checks it, step by step.
struct FoldWorld {
  let history: FoldHistory
  private let schedule: FoldSchedule
  private let fault: FoldCheckFault?
  private var replicas: [FoldReplica?]
  private var comparison: FoldComparison

  init(_ schedule: FoldSchedule, fault: FoldCheckFault?) {
    history = FoldHistory(schedule)
    self.schedule = schedule
    self.fault = fault
    comparison = FoldComparison(history)
    replicas = Array(repeating: nil, count: FoldSchedule.replicasMax)
    for index in 0..<schedule.replicas {
      let lane = history.openLane(identity: index, parent: nil)
      replicas[index] = FoldReplica(history, lane: lane, turn: index, fault: fault)
    }
  }

  /// Runs the schedule until nothing moves, and folds its transactions in other orders.
  ///
  /// - Throws: ``FoldMismatch`` for the first thing that is not as it should be; what the fold throws.
  mutating func run(orders: Int, exhaustiveTransactionsMax: Int) throws {
    for (index, step) in schedule.steps.enumerated() {
      let before = fault == .apartRowsReturn ? replicas.map { $0?.driver.storage.contents } : []
      try perform(step)
      for (replica, rows) in zip(replicas, before) {
        if let rows { replica?.driver.bringBack(rows) }
      }
      try check("after step \(index + 1)")
    }
    try settle()
    try compareReplicas()
    let read = Int(schedule.seed % UInt64(schedule.replicas))
    if let driver = replicas[read]?.driver {
      try comparison.compareReading(driver, at: "replica \(read) at the end")
    }
    var others = FoldOrders(history, received: history.received, comparison)
    let isExhaustive = history.transactions.count <= exhaustiveTransactionsMax
    // Also if all orders are covered: that stops after each transaction, and a random order keeps the loaded
    // row from one transaction to the next.
    try others.foldRandomOrders(count: orders, seed: schedule.seed)
    if isExhaustive { try others.coverAllOrders() }
  }

  // MARK: Steps

  private mutating func perform(_ step: FoldStep) throws {
    switch step {
    case .write(let replica, let wall, let operations):
      let inside = operations.filter(isInside)
      try replicas[replica]?.write(inside, wallMilliseconds: wall)
    case .ship(let replica, let count, let received, let again):
      _ = replicas[replica]?.ship(count: count, receivedMilliseconds: received, again: again)
    case .acknowledge(let replica):
      _ = try replicas[replica]?.acknowledge()
    case .fetch(let replica, let segments, let wall):
      for _ in 0..<segments where replicas[replica] != nil {
        if try !replicas[replica]!.fetch(wallMilliseconds: wall) { break }
      }
    case .redeliver(let replica, let back):
      try redeliver(replica, back: back)
    case .nameFloor(let replica, let wall, let below):
      try replicas[replica]?.nameFloor(below: below, wallMilliseconds: wall)
    case .compact(let replica, let records):
      guard let compacted = try replicas[replica]?.driver.compact(next: records) else { return }
      replicas[replica]?.touched |= compacted
    case .renew(let replica, let identity):
      guard isFree(identity), history.lanes.count < 16 else { return }
      replicas[replica]?.renew(identity: identity)
    case .copy(let source, let target, let identity):
      guard isFree(identity), let copied = replicas[source], replicas[target] == nil, history.lanes.count < 16
      else { return }
      history.coverage.copies += 1
      var copy = FoldReplica(copying: copied)
      copy.renew(identity: identity)
      replicas[target] = copy
    }
  }

  /// Whether an identity may be taken: none of the replicas' first ones, and used by nobody before.
  private func isFree(_ identity: Int?) -> Bool {
    guard let identity else { return true }
    return identity >= FoldSchedule.replicasMax && identity < FoldNumbering.identitiesMax
      && !history.lanes.contains { $0.identity == identity }
  }

  private func isInside(_ operation: FoldOperation) -> Bool {
    operation.record < schedule.records && operation.field < schedule.fields
  }

  private mutating func redeliver(_ replica: Int, back: Int) throws {
    guard let before = replicas[replica]?.driver.storage.contents else { return }
    try replicas[replica]?.redeliver(back: back)
    try replicas[replica]?.driver.flush()
    guard replicas[replica]?.driver.storage.contents == before else {
      throw FoldMismatch(
        place: "replica \(replica) after it got a segment again", expected: ["the rows as they were"],
        found: ["other rows"])
    }
  }

  /// Lets all replicas ship and fetch until nothing moves. Every other one learns its places by fetching.
  private mutating func settle() throws {
    for index in replicas.indices where replicas[index] != nil {
      while replicas[index]!.ship(count: .max, receivedMilliseconds: nil, again: false) {}
      while try index.isMultiple(of: 2) && replicas[index]!.acknowledge() {}
    }
    for index in replicas.indices where replicas[index] != nil {
      while try replicas[index]!.fetch(wallMilliseconds: 0) {}
      precondition(replicas[index]!.isSettled, "replica \(index) does not come to rest")
      try replicas[index]!.driver.compact(next: .max)
      replicas[index]!.touched = .max
    }
    try check("at the end")
  }

  // MARK: Checks

  private mutating func check(_ moment: @autoclosure () -> String) throws {
    for index in replicas.indices where replicas[index] != nil && replicas[index]!.touched != 0 {
      // What is compared is compacted. The rest waits.
      try replicas[index]!.driver.compact(replicas[index]!.touched)
      try replicas[index]!.driver.flush()
      try comparison.compare(
        replicas[index]!.driver, replicas[index]!.touched, at: "replica \(index) \(moment())")
      replicas[index]!.touched = 0
    }
  }

  /// All replicas have folded the same, and know the same places and times.
  private func compareReplicas() throws {
    let received = history.received
    for (index, replica) in replicas.enumerated() {
      guard let replica else { continue }
      guard replica.driver.folded == history.all, replica.knowledge.received == received else {
        throw FoldMismatch(
          place: "replica \(index) at the end", expected: ["all transactions, and when they were received"],
          found: ["\(replica.driver.folded)"])
      }
    }
  }
}
