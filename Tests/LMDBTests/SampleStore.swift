import LMDB

/// A small store with every structure of a data file: inner pages, long values, free pages, several tables.
struct SampleStore {
  /// The contents of each table.
  var tables: [String: [Pair]] = [:]

  /// Creates the store in a directory, and closes it.
  init(in directory: String, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let environment = try Environment(directory: directory, options: .test())
    for (name, rows, valueBytes) in [
      ("short", 300, 20), ("wide", 40, 700), ("long", 6, 9000), ("empty", 0, 0),
    ] {
      let table = try environment.table(name)
      var oracle = Oracle()
      // Twice, so that the first round's pages become free, and a third of the rows is deleted again.
      for round in 0..<2 {
        try environment.write { transaction in
          for row in 0..<rows {
            let key: Bytes = [UInt8(row >> 8), UInt8(row & 0xFF), 0x55]
            let value = Bytes(
              repeating: UInt8.random(in: 0...255, using: &random), count: valueBytes + row % 7)
            try transaction.put(value, key, table)
            oracle.put(value, key)
            if round == 1 && row % 3 == 0 {
              _ = try transaction.delete(key, table)
              _ = oracle.delete(key)
            }
          }
        }
      }
      tables[name] = oracle.pairs
    }
    environment.close()
  }

  /// Whether an environment has exactly these contents.
  func isIn(_ environment: Environment) throws -> Bool {
    try environment.read { transaction in
      for (name, pairs) in tables {
        let table = try transaction.openTable(name, create: false)
        let entries = try transaction.entries(table)
        if entries != pairs { return false }
      }
      return true
    }
  }
}
