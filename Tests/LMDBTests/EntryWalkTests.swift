import LMDB
import Testing

@Suite("A walk through the entries of a table")
struct EntryWalkTests {
  let directory = TemporaryDirectory()

  @Test(
    "meets the entries that a cursor meets, from any key, in reads and in writes", arguments: UInt64(1)...4)
  func sameAsCursor(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    // Long keys make a deep tree.
    let (keyBytes, valueBytes) = seed % 2 == 0 ? (1...500, 0...40) : (1...12, 0...6000)
    let count = WideTests.choose(40, otherwise: 10)
    for _ in 0..<6 {
      let transaction = try environment.beginWrite()
      for _ in 0..<200 {
        let key = Self.bytes(keyBytes, &random)
        if Bool.random(using: &random) { _ = try transaction.delete(key.span.bytes, in: table) }
        try transaction.put(Self.bytes(valueBytes, &random), key, table)
      }
      let starts = [[]] + (0..<count).map { _ in Self.bytes(keyBytes, &random) }
      try Self.compare(transaction, table, starts)
      try transaction.commit()
      try environment.read { transaction in
        let keys = try transaction.entries(table).map(\.key)
        try Self.compare(transaction, table, starts + keys.shuffled(using: &random).prefix(count))
      }
    }
  }

  private static func bytes(_ counts: ClosedRange<Int>, _ random: inout SeededGenerator) -> Bytes {
    let count = Int.random(in: counts, using: &random)
    return (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) &* 85 }
  }

  private static func compare(
    _ transaction: borrowing Transaction, _ table: Table, _ starts: [Bytes]
  ) throws {
    for start in starts {
      var expected: [Pair] = []
      var cursor = try transaction.openCursor(table)
      var isThere = try cursor.seek(atOrAfter: start.span.bytes)
      while isThere {
        expected.append(cursor.withEntry { Pair(key: Bytes($0), value: Bytes($1)) })
        isThere = try cursor.next()
      }
      #expect(try transaction.walked(table, from: start) == expected)
      let some = try transaction.walked(table, from: start, max: 3)
      #expect(some == Array(expected.prefix(3)))
    }
  }

  @Test("through a leaf without entries, or towards a page that is none, is no crash")
  func damagedHeaders() throws {
    let store = try SampleStore(in: directory.path, seed: 1)
    let file = directory("data.mdb")
    let bytes = readFile(file)
    func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
    var options = Environment.Options.unchecked()
    options.readOnly = true
    func walked(_ name: String, from key: Bytes = []) throws -> [Pair] {
      let environment = try Environment(directory: directory.path, options: options)
      return try environment.read { transaction in
        try transaction.walked(transaction.openTable(name, create: false), from: key)
      }
    }
    // The branch page of a table of many leaves, and where its entries are.
    let first = try #require(store.tables["wide"]?.first)
    let leaves = stride(from: 2 * 4096, to: bytes.count, by: 4096).filter { bytes[$0 + 10] == 2 }
    var found = 0
    for leaf in leaves {
      patchFile(file, at: leaf + 12, [17, 0])
      defer { patchFile(file, at: leaf + 12, Bytes(bytes[leaf + 12..<leaf + 14])) }
      if thrownCode({ _ = try walked("wide") }) == .corrupted { found += 1 }
    }
    #expect(found > 5)
    for branch in stride(from: 2 * 4096, to: bytes.count, by: 4096) where bytes[branch + 10] == 1 {
      // The second child is beyond the file: the first leaf's entries are still there.
      let child = branch + number(branch + 18)
      patchFile(file, at: child, [0xff, 0xff, 0xff])
      defer { patchFile(file, at: child, Bytes(bytes[child..<child + 3])) }
      let environment = try Environment(directory: directory.path, options: options)
      let isThere = try environment.read { transaction in
        let table = try transaction.openTable("wide", create: false)
        return try transaction.walked(table, from: [], max: 1) == [first]
      }
      #expect(isThere)
    }
  }

  @Test(
    "through damaged pages ends with an error or other entries, never with the process",
    arguments: WideTests.choose(1...6, otherwise: 1...2))
  func damaged(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    _ = try SampleStore(in: directory.path, seed: seed)
    let file = directory("data.mdb")
    let bytes = readFile(file)
    var options = Environment.Options.unchecked()
    options.readOnly = true
    var (errors, sound) = (0, 0)
    for _ in 0..<600 {
      let (offset, patch) = DamagedFileTests.damage(bytes, &random)
      patchFile(file, at: offset, patch)
      defer { patchFile(file, at: offset, Bytes(bytes[offset..<offset + patch.count])) }
      do {
        // Without the pages of the table of tables, LMDB itself would end the process.
        guard try PageCheck.check(directory: directory.path, tables: []).isEmpty else { continue }
        let environment = try Environment(directory: directory.path, options: options)
        try environment.read { transaction in
          for name in ["short", "wide", "long", "empty"] {
            guard let table = try? transaction.openTable(name, create: false) else { continue }
            _ = try transaction.walked(table, from: [])
            _ = try transaction.walked(table, from: [0, 40, 0x55])
          }
        }
        sound += 1
      } catch let error as LMDBError {
        let isExpected = [.corrupted, .notAStore, .versionMismatch, .damagedPage].contains(error.code)
        #expect(isExpected, "\(offset): \(error)")
        errors += 1
      }
    }
    #expect(errors > 20)
    #expect(sound > 100)
  }
}

extension Transaction {
  /// Entries of a table from a key, by a walk.
  fileprivate borrowing func walked(_ table: Table, from key: Bytes, max: Int = .max) throws -> [Pair] {
    var pairs: [Pair] = []
    try forEachEntry(in: table, from: key.span.bytes) { key, value in
      pairs.append(Pair(key: Bytes(key), value: Bytes(value)))
      return pairs.count < max
    }
    return pairs
  }
}
