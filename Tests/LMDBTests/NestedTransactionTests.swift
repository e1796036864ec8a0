import LMDB
import Testing

@Suite("Transactions within a transaction")
struct NestedTransactionTests {
  let directory = TemporaryDirectory()

  @Test(
    "committed inner changes exist, aborted ones do not, at any depth",
    arguments: WideTests.choose(1...6, otherwise: 1...2))
  func random(seed: UInt64) throws {
    print("nested transactions: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    var oracle = Oracle()
    for _ in 0..<5 {
      let transaction = try environment.beginWrite()
      var inside = oracle
      try Self.work(transaction, table, &inside, &random, depth: 0)
      if Bool.random(using: &random) {
        try transaction.commit()
        oracle = inside
      } else {
        transaction.abort()
      }
      #expect(try environment.read { try $0.entries(table) } == oracle.pairs)
    }
    environment.close()
    #expect(try PageCheck.check(directory: directory.path) == [])
  }

  @Test(
    "LMDB begins one at its first change or cursor: until then it reads through its parent")
  func deferred() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    try environment.write { parent in
      try parent.put([1], [1], table)
      for commits in [true, false] {
        let child = parent.beginNested()
        #expect(try child.get([1], table) == [1])
        let grandchild = child.beginNested()
        #expect(try grandchild.get([1], table) == [1])
        let isUntouched1 = grandchild.isUntouched
        #expect(isUntouched1)
        grandchild.abort()
        let isUntouched2 = child.isUntouched
        #expect(isUntouched2)
        if commits { try child.commit() } else { child.abort() }
      }
      let isUntouched3 = parent.isUntouched
      #expect(!isUntouched3)
      let reading = parent.beginNested()
      #expect(try reading.entries(table).count == 1)
      let isUntouched4 = reading.isUntouched
      #expect(!isUntouched4)
      reading.abort()
      let child = parent.beginNested()
      let grandchild = child.beginNested()
      try grandchild.put([2], [1], table)
      let isUntouched5 = grandchild.isUntouched
      #expect(!isUntouched5)
      try grandchild.commit()
      let isUntouched6 = child.isUntouched
      #expect(!isUntouched6)
      child.abort()
      #expect(try parent.get([1], table) == [1])
    }
    #expect(try environment.read { try $0.entries(table) } == [Pair(key: [1], value: [1])])
  }

  private static func work(
    _ transaction: borrowing Transaction, _ table: Table, _ oracle: inout Oracle,
    _ random: inout SeededGenerator, depth: Int
  ) throws {
    for _ in 0..<10 {
      if depth < 3, Int.random(in: 0..<3, using: &random) == 0 {
        let child = transaction.beginNested()
        var inside = oracle
        try work(child, table, &inside, &random, depth: depth + 1)
        if Bool.random(using: &random) {
          try child.commit()
          oracle = inside
        } else {
          child.abort()
        }
      } else {
        let key: Bytes = [UInt8.random(in: 0..<40, using: &random)]
        if Bool.random(using: &random) {
          let value = Bytes(repeating: 1, count: Int.random(in: 0..<3000, using: &random))
          try transaction.put(value, key, table)
          oracle.put(value, key)
        } else {
          #expect(try transaction.delete(key, table) == oracle.delete(key))
        }
      }
      #expect(try transaction.entries(table) == oracle.pairs)
    }
  }
}
