import LMDB
import Testing

/// Random work on a table and on a sorted array. The keys are few and short, so that they collide and are
/// neighbours. The values have zero bytes to several pages, so that trees split, merge and take long values.
@Suite("Random work, compared with a sorted array")
struct RandomWorkTests {
  let directory = TemporaryDirectory()

  @Test("all verbs give the same as the array", arguments: UInt64(1)...4)
  func verbs(seed: UInt64) throws {
    print("random work: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var environment = try Environment(directory: directory.path, options: .test())
    var table = try environment.table("t")
    var committed = Oracle()
    for _ in 0..<12 {
      let transaction = try environment.beginWrite()
      var oracle = committed
      for _ in 0..<120 { try Self.step(&oracle, transaction, table, &random) }
      #expect(try transaction.entries(table) == oracle.pairs)
      if Bool.random(using: &random) {
        try transaction.commit()
        committed = oracle
      } else {
        transaction.abort()
      }
      let statistics = try environment.read { transaction in
        #expect(try transaction.entries(table) == committed.pairs)
        return try transaction.statistics(of: table)
      }
      #expect(statistics.entries == committed.pairs.count)
      if Int.random(in: 0..<4, using: &random) == 0 {
        environment.close()
        environment = try Environment(directory: directory.path, options: .test())
        table = try environment.read { try $0.openTable("t", create: false) }
      }
    }
    #expect(try PageCheck.check(directory: directory.path) == [])
  }

  @Test(
    "a table that keeps versions gives at each version what the array had",
    arguments: WideTests.choose(1...4, otherwise: 1...2))
  func versions(seed: UInt64) throws {
    print("random work: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let environment = try Environment(directory: directory.path, options: .test())
    let opening = try environment.beginWrite()
    let table = try opening.openTable(keepingVersions: "t", create: true)
    try opening.commit()
    var former: [(version: UInt64, oracle: Oracle)] = [(0, Oracle())]
    for round in 1...12 {
      let transaction = try environment.beginWrite()
      var oracle = former.last!.oracle
      // Some transactions make several versions.
      var made: [(UInt64, Oracle)] = []
      for part in 0..<UInt64.random(in: 1...3, using: &random) {
        transaction.version = UInt64(round) * 10 + part
        for _ in 0..<60 { try Self.step(&oracle, transaction, table, &random) }
        #expect(try transaction.entries(table) == oracle.pairs)
        made.append((transaction.version, oracle))
      }
      guard Int.random(in: 0..<4, using: &random) > 0 else {
        transaction.abort()
        continue
      }
      try transaction.commit()
      former += made
      let reader = try environment.beginRead()
      for (version, oracle) in former {
        reader.version = version
        #expect(try reader.entries(table) == oracle.pairs, "version \(version)")
        for _ in 0..<20 {
          let key = Self.key(&random)
          #expect(try reader.get(key, table) == oracle.value(of: key), "version \(version)")
        }
      }
    }
    // Branches of each version, in any order.
    var branches: [(version: UInt64, branch: UInt64, oracle: Oracle)] = []
    let branching = try environment.beginWrite()
    for (place, (version, oracle)) in former.shuffled(using: &random).enumerated() {
      (branching.version, branching.branch) = (version, UInt64(place + 1))
      var oracle = oracle
      for _ in 0..<40 { try Self.step(&oracle, branching, table, &random) }
      branches.append((version, branching.branch, oracle))
    }
    try branching.commit()
    let reader = try environment.beginRead()
    for (version, branch, oracle) in branches + former.map({ ($0, 0, $1) }) {
      (reader.version, reader.branch) = (version, branch)
      #expect(try reader.entries(table) == oracle.pairs, "version \(version), branch \(branch)")
    }
    let transaction = try environment.beginWrite()
    try transaction.removeBranches(in: table)
    for (version, branch, _) in branches {
      (transaction.version, transaction.branch) = (version, branch)
      #expect(try transaction.entries(table) == former.first { $0.version == version }!.oracle.pairs)
    }
    try transaction.removeAll(in: table)
    for (version, _) in former {
      transaction.version = version
      #expect(try transaction.entries(table).isEmpty)
    }
    try transaction.commit()
    #expect(try PageCheck.check(directory: directory.path) == [])
  }

  private static func step(
    _ oracle: inout Oracle, _ transaction: borrowing Transaction, _ table: Table,
    _ random: inout SeededGenerator
  ) throws {
    let key = Self.key(&random)
    switch Int.random(in: 0..<19, using: &random) {
    case 0..<11:
      let value = Self.value(&random)
      try transaction.put(value, key, table)
      oracle.put(value, key)
    case 11..<15:
      #expect(try transaction.delete(key, table) == oracle.delete(key))
    case 15, 16:
      #expect(try transaction.get(key, table) == oracle.value(of: key))
      #expect(try transaction.contains(key.span.bytes, in: table) == (oracle.value(of: key) != nil))
    default:
      try Self.walk(&oracle, transaction, table, &random)
    }
  }

  /// Moves a cursor at random, and sometimes deletes through it and puts beside it.
  private static func walk(
    _ oracle: inout Oracle, _ transaction: borrowing Transaction, _ table: Table,
    _ random: inout SeededGenerator
  ) throws {
    var cursor = try transaction.openCursor(table)
    var place = OracleCursor()
    for _ in 0..<30 {
      let key = Self.key(&random)
      let found: Bool
      let expected: Bool
      switch Int.random(in: 0..<10, using: &random) {
      case 0: (found, expected) = (try cursor.first(), place.first(oracle))
      case 1: (found, expected) = (try cursor.last(), place.last(oracle))
      case 2, 3: (found, expected) = (try cursor.next(), place.next(oracle))
      case 4, 5: (found, expected) = (try cursor.previous(), place.previous(oracle))
      case 6:
        (found, expected) = (try cursor.seek(atOrAfter: key.span.bytes), place.seek(atOrAfter: key, oracle))
      case 7:
        let isBefore = Bool.random(using: &random)
        found = try isBefore ? cursor.seek(before: key.span.bytes) : cursor.seek(to: key.span.bytes)
        expected = isBefore ? place.seek(before: key, oracle) : place.seek(to: key, oracle)
      case 8:
        guard place.entry(oracle) != nil else { continue }
        try cursor.deleteCurrent()
        place.deleteCurrent(&oracle)
        continue
      default:
        let value = Self.value(&random)
        try transaction.put(value, key, table)
        oracle.put(value, key)
        // A cursor on an entry stays on it. One whose entry was deleted must be moved before it goes on.
        let stays = place.entry(oracle) != nil
        found = try stays || cursor.seek(to: key.span.bytes)
        expected = stays || place.seek(to: key, oracle)
      }
      #expect(found == expected)
      guard found, expected else { continue }
      let pair = cursor.withEntry { Pair(key: Bytes($0), value: Bytes($1)) }
      #expect(pair == place.entry(oracle))
    }
  }

  private static func key(_ random: inout SeededGenerator) -> Bytes {
    let count = [1, 1, 2, 2, 3, 40, 511].randomElement(using: &random)!
    return (0..<count).map { _ in [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)! }
  }

  private static func value(_ random: inout SeededGenerator) -> Bytes {
    let count = [0, 1, 8, 100, 900, 2000, 2100, 4080, 4081, 13_000].randomElement(using: &random)!
    return Bytes(repeating: UInt8.random(in: 0...255, using: &random), count: count)
  }
}
