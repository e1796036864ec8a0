/// All schedules of three replicas that make some transactions each, of one operation at one record, with up to some
/// syncs between them. Each has a number.
///
/// What a replica writes, and what another does beside it, may come in either order and gives the same. Of all orders
/// that differ only so, one is here. A sync at which nothing moves is left out: the schedule without it is here too. After
/// its last step a schedule syncs all replicas anyway.
package struct FoldSchedules: Hashable, Sendable {
  /// The next action of a replica: it writes, or it ships and fetches everything.
  enum Act: Hashable {
    case write(Int)
    case sync(Int)
  }

  /// How many transactions each replica makes.
  package let transactions: Int
  /// The most syncs before the last write.
  package let syncs: Int
  let orders: [[Act]]

  static let replicas = 3
  /// What a transaction may do. Each sets another value.
  private static let kinds: [FoldOperation.Kind] = [.create, .set, .delete]
  /// The clock of each replica, in milliseconds: one is right, one an hour ahead, one an hour behind.
  private static let clocks: [Int64] = [3_600_001, 7_200_001, 1]

  package init(transactions: Int, syncs: Int) {
    precondition(1...3 ~= transactions && 0...4 ~= syncs, "1 to 3 transactions, and up to 4 syncs")
    self.transactions = transactions
    self.syncs = syncs
    orders = Self.orders(transactions: transactions, syncs: syncs)
  }

  /// How many there are.
  package var count: Int { orders.count * choices }

  /// How many choices of operations there are.
  private var choices: Int {
    (0..<Self.replicas * transactions).reduce(1) { count, _ in count * Self.kinds.count }
  }

  /// The schedule of a number: a record that all three have, with a value in its field, and then the actions.
  subscript(number: Int) -> FoldSchedule {
    let (acts, clocks) = (orders[number / choices], Self.clocks)
    var schedule = FoldSchedule(replicas: Self.replicas, records: 1, fields: 1, seed: UInt64(number))
    let wall: (Int) -> Int64 = { clocks[($0 + number) % clocks.count] }
    func sync(_ replica: Int) {
      schedule.steps.append(.ship(replica: replica, count: 16, receivedMilliseconds: nil, again: false))
      schedule.steps.append(.fetch(replica: replica, segments: 16, wallMilliseconds: wall(replica)))
    }
    let made = [FoldOperation(.create, record: 0), FoldOperation(.set, record: 0, value: .null)]
    schedule.steps.append(.write(replica: 0, wallMilliseconds: wall(0), operations: made))
    for replica in 0..<Self.replicas { sync(replica) }
    var (choice, value) = (number % choices, UInt8(0))
    for act in acts {
      switch act {
      case .sync(let replica): sync(replica)
      case .write(let replica):
        let kind = Self.kinds[choice % Self.kinds.count]
        choice /= Self.kinds.count
        value += 1
        let operation = FoldOperation(
          kind, record: 0, value: kind == .set ? FoldValue(rawValue: value) : .null)
        schedule.steps.append(
          .write(replica: replica, wallMilliseconds: wall(replica), operations: [operation]))
      }
    }
    return schedule
  }

  // MARK: Orders

  /// One order of each kind: before each sync its replica writes, and after the last one all write what is left.
  private static func orders(transactions: Int, syncs: Int) -> [[Act]] {
    var found: [[Act]] = []
    func extend(_ acts: [Act], _ left: [Int], _ log: SyncedLog, _ syncs: Int) {
      found.append(
        acts + left.enumerated().flatMap { Array(repeating: .write($0.offset), count: $0.element) })
      guard syncs > 0 else { return }
      for replica in left.indices {
        for writes in 0...left[replica] {
          // What comes after the last write, the end of a schedule has anyway.
          guard left.reduce(0, +) > writes else { continue }
          var (log, left) = (log, left)
          left[replica] -= writes
          guard log.sync(replica, writes: writes) else { continue }
          let own = Array(repeating: Act.write(replica), count: writes) + [.sync(replica)]
          extend(acts + own, left, log, syncs - 1)
        }
      }
    }
    extend([], Array(repeating: transactions, count: replicas), SyncedLog(), syncs)
    return found
  }

  /// How many transactions the remote's log has, and up to where each replica has read it.
  private struct SyncedLog {
    private var length = 0
    private var read = [Int](repeating: 0, count: FoldSchedules.replicas)

    /// Syncs a replica that has written so many transactions since.
    ///
    /// - Returns: whether anything moves.
    mutating func sync(_ replica: Int, writes: Int) -> Bool {
      guard writes > 0 || read[replica] < length else { return false }
      length += writes
      read[replica] = length
      return true
    }
  }
}
