import Testing

@testable import OperationFormat
@testable import StoreTesting

/// Histories with more transactions than a word has bits, whose outcome is obvious from the rule of
/// conflicts.
@Suite("Oracles of many transactions")
struct OraclesOfManyTransactions {
  /// One cell that replicas write, each in its own lane.
  private struct Cell {
    var oracle = Oracle()
    let cell: Int
    private var sequences: [Int]

    init(replicas: Int) {
      sequences = Array(repeating: 0, count: replicas)
      cell = oracle.addCell()
      for replica in 0..<replicas {
        _ = oracle.openLane(OracleLane(replica: ReplicaID(rawValue: UInt128(replica)), epoch: 1))
      }
    }

    /// Writes the transaction's own number.
    mutating func write(_ replica: Int, base: Int = 0, at milliseconds: UInt64 = 1) -> Int {
      sequences[replica] += 1
      let number = oracle.append(
        OracleTransaction(
          lane: replica, sequence: sequences[replica], base: base,
          timestamp: Timestamp(milliseconds: milliseconds, counter: 0)))
      oracle.addOperation(to: cell, index: 0, content: number)
      return number
    }

    /// Opens a new lane, which continues the first transaction of another one.
    mutating func openNext(after lane: Int) {
      sequences.append(0)
      let parent = OracleLane.Parent(lane: lane, through: 1)
      _ = oracle.openLane(
        OracleLane(replica: ReplicaID(rawValue: 0), epoch: UInt32(lane + 2), parent: parent))
    }

    func heads(_ folded: TransactionSet, received: [Int64] = []) -> [Int] {
      var heads: [OracleHead] = []
      oracle.findHeads(of: cell, folded: folded, received: received, into: &heads)
      return heads.map(\.content)
    }
  }

  @Test("of a thousand writes of one replica, the last folded one is the head")
  func oneReplica() {
    var cell = Cell(replicas: 1)
    for _ in 0..<1000 { _ = cell.write(0) }
    for count in [1, 63, 64, 65, 128, 129, 999, 1000] {
      #expect(cell.heads(TransactionSet(below: count)) == [count - 1])
    }
    #expect(cell.oracle.seen(by: 999) == TransactionSet(below: 999))
  }

  @Test(
    "two hundred concurrent ones are heads, the latest first, until one has seen the first hundred and fifty"
  )
  func manyReplicas() {
    var cell = Cell(replicas: 201)
    for replica in 0..<200 { _ = cell.write(replica, at: UInt64(1000 + replica * 7 % 200)) }
    for number in 0..<200 { cell.oracle.place(number, at: number + 1) }
    let all = TransactionSet(below: 200)
    #expect(cell.heads(all) == (0..<200).sorted { $0 * 7 % 200 > $1 * 7 % 200 })
    let last = cell.write(200, base: 150, at: 0)
    #expect(cell.oracle.seen(by: last) == TransactionSet(below: 150))
    let left = Set(cell.heads(TransactionSet(below: 201)))
    #expect(left == Set(150...200))
    // Without the one that has seen them, all are still heads.
    #expect(cell.heads(all).count == 200)
  }

  @Test("replicas that take turns, each having seen all before, leave one head, whatever their clocks show")
  func turns() {
    var cell = Cell(replicas: 3)
    for turn in 0..<300 {
      let number = cell.write(turn % 3, base: turn, at: UInt64(10_000 - turn))
      cell.oracle.place(number, at: turn + 1)
      #expect(cell.heads(TransactionSet(below: turn + 1)) == [number])
    }
  }

  @Test("the first place counts, and an own transaction is seen before it has a place")
  func places() {
    var cell = Cell(replicas: 2)
    let first = cell.write(0)
    let second = cell.write(0)
    #expect(cell.oracle.seen(by: second) == TransactionSet([first]))
    cell.oracle.place(first, at: 1)
    cell.oracle.place(second, at: 2)
    cell.oracle.place(first, at: 2)
    #expect(cell.oracle.place(of: first) == 1)
    let other = cell.write(1, base: 1)
    #expect(cell.oracle.seen(by: other) == TransactionSet([first]))
    #expect(Set(cell.heads(TransactionSet([first, second, other]))) == [second, other])
  }

  @Test("an identity has seen what its parents had, over several generations")
  func lineage() {
    var cell = Cell(replicas: 1)
    var held: [Int] = []
    for generation in 0..<30 {
      let kept = cell.write(generation)
      held.append(kept)
      // What the store had lost when it took the next identity.
      _ = cell.write(generation)
      cell.openNext(after: generation)
    }
    let last = cell.write(30)
    #expect(cell.oracle.seen(by: last) == TransactionSet(held))
  }

  @Test("each observer has its own times of receipt, and an unknown time caps nothing")
  func receipts() {
    var cell = Cell(replicas: 2)
    let early = cell.write(0, at: 500_000)
    let late = cell.write(1, at: 900_000)
    #expect(cell.heads(TransactionSet([early, late])) == [late, early])
    #expect(cell.heads(TransactionSet([early, late]), received: [.max, 200_000]) == [late, early])
    #expect(cell.heads(TransactionSet([early, late]), received: [.max, 199_999]) == [early, late])
    #expect(cell.heads(TransactionSet([early, late]), received: [0, 100_000]) == [late, early])
    #expect(Oracle.effective(Timestamp(rawValue: .max), .max - 1).milliseconds == Timestamp.millisecondsMax)
    #expect(Oracle.effective(Timestamp(milliseconds: 400_000, counter: 7), -5).description == "300000.65535")
  }
}
