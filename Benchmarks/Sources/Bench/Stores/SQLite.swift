import Foundation
import GRDB
import Stores

/// SQLite through GRDB, with the same data as a Swift developer would keep it: a row for each record, and by
/// trigger a row for each change in a log, with the record, the field, the new value and a time.
final class SQLite {
  let pool: DatabasePool
  let dataset: Dataset

  init(_ directory: String, _ dataset: Dataset, isDurable: Bool = true) throws {
    // A pool opens with the write-ahead log and `synchronous` NORMAL: a power failure may lose the last
    // commits.
    pool = try DatabasePool(path: directory + "/db.sqlite")
    self.dataset = dataset
    guard isDurable else { return }
    let level = try pool.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA synchronous = FULL")
      return try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }
    guard level == 2 else { throw Disagreement(description: "SQLite does not sync each commit") }
  }

  static func make(_ directory: String, _ dataset: Dataset) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let sqlite = try SQLite(directory, dataset, isDurable: false)
    try sqlite.pool.write { database in
      try database.execute(
        sql: """
          CREATE TABLE item (
            id TEXT NOT NULL PRIMARY KEY,
            field0 TEXT, field1 TEXT, field2 TEXT, field3 TEXT
          ) WITHOUT ROWID;
          CREATE TABLE change (
            sequence INTEGER PRIMARY KEY, record TEXT NOT NULL, field TEXT NOT NULL, value TEXT, time REAL NOT NULL
          );
          """)
      for field in Dataset.fieldNames {
        try database.execute(
          sql: """
            CREATE TRIGGER update_\(field) AFTER UPDATE OF \(field) ON item BEGIN
              INSERT INTO change (record, field, value, time)
              VALUES (NEW.id, '\(field)', NEW.\(field), julianday('now'));
            END;
            """)
      }
      let inserted = Dataset.fieldNames.map { "(NEW.id, '\($0)', NEW.\($0), julianday('now'))" }
      try database.execute(
        sql: """
          CREATE TRIGGER insert_item AFTER INSERT ON item BEGIN
            INSERT INTO change (record, field, value, time) VALUES \(inserted.joined(separator: ", "));
          END;
          """)
    }
    for start in stride(from: 0, to: dataset.names.count, by: 500) {
      try sqlite.pool.write { database in
        for record in start..<min(start + 500, dataset.names.count) {
          try insert(dataset.names[record], dataset.values(of: record), database)
        }
      }
    }
    try sqlite.close()
  }

  /// A change with its statement, prepared before the timing starts.
  struct Step: Sendable {
    var id: String
    var field: Int
    var value: String
  }

  static func steps(_ changes: [Dataset.Change], _ dataset: Dataset) -> [Step] {
    changes.map { Step(id: dataset.freshName($0.record), field: $0.field, value: $0.value) }
  }

  /// An upsert of one field.
  static let upserts = Dataset.fieldNames.map { field in
    "INSERT INTO item (id, \(field)) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET \(field) = excluded.\(field)"
  }

  static func set(_ step: Step, _ database: Database) throws {
    let statement = try database.cachedStatement(sql: upserts[step.field])
    try statement.execute(arguments: [step.id, step.value])
  }

  static func insert(_ id: String, _ values: [String], _ database: Database) throws {
    let statement = try database.cachedStatement(
      sql: "INSERT INTO item (id, field0, field1, field2, field3) VALUES (?, ?, ?, ?, ?)")
    try statement.execute(arguments: [id, values[0], values[1], values[2], values[3]])
  }

  func commit(_ steps: ArraySlice<Step>, each: Int) throws {
    var start = steps.startIndex
    while start < steps.endIndex {
      let part = steps[start..<min(start + each, steps.endIndex)]
      try pool.write { database in
        for step in part { try Self.set(step, database) }
      }
      start += each
    }
  }

  func digest() throws -> UInt64 {
    try pool.read { database in
      var digest = TextDigest()
      let rows = try Row.fetchCursor(database, sql: "SELECT * FROM item ORDER BY id")
      while let row = try rows.next() {
        for column in 0..<5 {
          guard let text: String = row[column] else { continue }
          digest.add(text)
        }
      }
      return digest.value
    }
  }

  func changeCount() throws -> Int {
    try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM change") ?? 0 }
  }

  func close() throws { try pool.close() }

  /// A number that can only be computed by reading the row.
  static func weight(_ row: Row) -> UInt64 {
    (0..<5).reduce(0) { sum, column in
      guard let text: String = row[column] else { return sum }
      return sum &+ Dataset.weight(text)
    }
  }
}
