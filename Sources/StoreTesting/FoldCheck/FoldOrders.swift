import EventStore
import OperationFormat

/// Folds a finished history again, in other orders that causality allows, and compares the results.
struct FoldOrders {
  private let history: FoldHistory
  private let knowledge: FoldKnowledge
  private var comparison: FoldComparison
  private let floors: [OracleFloor]
  /// The part of the log that each transaction is in: it is folded behind the floors before it.
  private let parts: [Int]
  /// The rows that the first order led to.
  private var first: FoldRows?

  init(_ history: FoldHistory, received: [Int64], _ comparison: FoldComparison) {
    self.history = history
    self.comparison = comparison
    knowledge = FoldKnowledge(history, FoldNumbering(turn: 0))
    knowledge.places = history.transactions.indices.map(history.oracle.place)
    knowledge.received = received
    knowledge.placedThrough = history.segments.count
    let floors = history.oracle.floors(through: history.segments.count)
    self.floors = floors
    parts = history.transactions.indices.map { history.oracle.part(of: $0, floors) }
  }

  // MARK: Random orders

  /// Folds in random orders. The next transaction is any one that has seen only transactions that were
  /// folded, and comes behind no floor that was not taken. Between two the job compacts some records, or not.
  mutating func foldRandomOrders(count: Int, seed: UInt64) throws {
    var random = SeededRandom(seed: seed).stream(2)
    for _ in 0..<count {
      let driver = FoldDriver(knowledge)
      var order: [Int] = []
      while driver.folded != history.all {
        let next = pick(after: driver.folded, &random)
        order.append(next)
        try driver.fold(next, effective: effective(next))
        if random.chance(25) { try driver.restart() }
        try takeFloors(driver)
        if driver.floor != nil, random.chance(25) { try driver.compact(next: random.next(in: 1...2)) }
      }
      try driver.compact(next: .max)
      try driver.flush()
      history.coverage.ordersFolded += 1
      try check(driver, "in the order \(order)")
    }
  }

  private func pick(after folded: TransactionSet, _ random: inout SeededRandom) -> Int {
    var free: UInt64 = 0
    for number in history.transactions.indices where isFree(number, after: folded) {
      free |= 1 << UInt64(number)
    }
    for _ in 0..<random.next(below: free.nonzeroBitCount) { free &= free - 1 }
    return free.trailingZeroBitCount
  }

  private func isFree(_ number: Int, after folded: TransactionSet) -> Bool {
    !folded.contains(number) && folded.isSuperset(of: history.oracle.seen(by: number))
      && parts[number] <= floorCount(folded)
  }

  /// How many floors come behind what was folded.
  private func floorCount(_ folded: TransactionSet) -> Int {
    parts.indices.map { folded.contains($0) ? floors.count : parts[$0] }.min() ?? 0
  }

  private func takeFloors(_ driver: FoldDriver) throws {
    for floor in floors[driver.floors.count..<floorCount(driver.folded)] { try driver.take(floor) }
  }

  private func effective(_ number: Int) -> Timestamp {
    let received = knowledge.received[number]
    return HybridClock.effective(
      history.transactions[number].timestamp, receivedMilliseconds: received == .max ? nil : received)
  }

  // MARK: All orders

  /// Covers every order. An order passes through sets of transactions: first the empty set, then one more
  /// transaction in each step. Every way to the same set must lead to the same rows. So it is enough to fold
  /// each step from each set once, and that is far less than to fold each order. Which floors were taken follows from
  /// the set, and so does which records have changed since, and were compacted before.
  mutating func coverAllOrders() throws {
    let count = history.transactions.count
    var rows = [FoldRows?](repeating: nil, count: 1 << count)
    var ways = [Int](repeating: 0, count: 1 << count)
    let driver = FoldDriver(knowledge)
    rows[0] = try FoldRows(driver)
    ways[0] = 1
    for set in 0..<(1 << count) {
      guard let here = rows[set] else { continue }
      let folded = TransactionSet(bits: UInt64(set))
      for next in 0..<count where isFree(next, after: folded) {
        driver.replace(here.contents, folded: folded, floors: Array(floors[..<floorCount(folded)]))
        try driver.fold(next, effective: effective(next))
        try takeFloors(driver)
        try driver.flush()
        let reached = set | 1 << next
        let found = try FoldRows(driver)
        if let known = rows[reached], known != found {
          throw FoldMismatch(
            place: "the transactions \(Self.list(reached)) in two orders, one of which ends in \(next)",
            expected: ["the same rows"], found: ["other rows"])
        }
        rows[reached] = found
        ways[reached] += ways[set]
      }
      rows[set] = nil
    }
    try driver.compact(next: .max)
    try check(driver, "in every order")
    history.coverage.ordersCovered += ways[ways.count - 1]
    history.coverage.exhaustive += 1
  }

  private static func list(_ set: Int) -> [Int] { (0..<64).filter { set & 1 << $0 != 0 } }

  // MARK: Helpers

  private mutating func check(_ driver: FoldDriver, _ order: @autoclosure () -> String) throws {
    let rows = try FoldRows(driver)
    if let first {
      guard first != rows else { return }
      try comparison.compare(driver, .max, at: order())
      throw FoldMismatch(place: order(), expected: ["the rows of the first order"], found: ["other rows"])
    }
    first = rows
    try comparison.compare(driver, .max, at: order())
  }
}
