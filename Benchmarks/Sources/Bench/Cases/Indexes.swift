import EventStore
import GRDB
import Models
import Stores

/// Queries that indexes serve, over ten times as many records, with the same indexes in SQLite.
extension Case {
  private static func createIndexes(_ database: Database) throws {
    for (name, fields) in Engine.indexes {
      try database.execute(sql: "CREATE INDEX \"\(name)\" ON item (\(fields.joined(separator: ", ")))")
    }
  }

  static var indexed: Case {
    Case(title: "with 4 indexes") { place, sizes in
      var sizes = sizes
      sizes.records *= 10
      let bases = try Bases(place, sizes)
      let dataset = bases.dataset
      let indexed = Bases(
        dataset: dataset, engine: try place.copy(bases.engine, as: "engine-indexed"),
        sqlite: try place.copy(bases.sqlite, as: "sqlite-indexed"))
      do {
        let (engine, sqlite) = (try Engine(indexed.engine, dataset), try SQLite(indexed.sqlite, dataset))
        try engine.index()
        engine.store.close()
        try await sqlite.pool.write { try createIndexes($0) }
        try sqlite.close()
      }
      // The queries come last: their stores stay open, and a store that is open is not copied.
      return [try build(bases, place), try commits(indexed, place, sizes)]
        + (try queries(
          Engine(try place.copy(indexed.engine, as: "engine-read"), dataset),
          SQLite(try place.copy(indexed.sqlite, as: "sqlite-read"), dataset), sizes))
    }
  }

  // MARK: Building

  private static func build(_ bases: Bases, _ place: Place) throws -> Comparison {
    var engine: Engine?
    var sqlite: SQLite?
    let ours = Participant(
      name: .tributary, prepare: { engine = try bases.openEngine(in: place) },
      turn: {
        try engine!.store.declareIndexesBlockingThisThread([Engine.indexDefinitions[0]])
        try engine!.store.buildIndexesBlockingThisThread()
      },
      finish: {
        engine = nil
        return [:]
      })
    let grdb = Participant(
      name: .sqlite, prepare: { sqlite = try bases.openSQLite(in: place) },
      turn: { try await sqlite!.pool.write { try $0.execute(sql: "CREATE INDEX first ON item (field0)") } },
      finish: {
        try sqlite!.close()
        sqlite = nil
        return [:]
      })
    return Comparison(
      title: "building an index", unit: "records", aims: [Comparison.Aim(than: .sqlite, ratio: 0.5)],
      count: bases.dataset.names.count, participants: [ours, grdb])
  }

  // MARK: Queries

  private static func queries(_ engine: Engine, _ sqlite: SQLite, _ sizes: Sizes) -> [Comparison] {
    var random = Random(seed: 21)
    let starts = (0..<sizes.count(20_000)).map { _ in random.text(3) }
    let ranges = (0..<sizes.count(50)).map { _ in random.text(1) }
    return [
      comparison(
        "queries of 20 rows by an index", count: starts.count, engine, sqlite,
        ours: { tx in
          var sum: UInt64 = 0
          for start in starts {
            let query = Item.where { $0.field0 >= start }.sorted(by: \.field0).limit(20)
            for row in try tx.fetch(query) { sum &+= Item.weight(row) }
          }
          return sum
        },
        theirs: { database in
          var sum: UInt64 = 0
          for start in starts {
            let statement = try database.cachedStatement(
              sql: "SELECT * FROM item WHERE field0 >= ? ORDER BY field0, id LIMIT 20")
            for item in try ItemStruct.fetchAll(statement, arguments: [start]) { sum &+= item.weight }
          }
          return sum
        }),
      comparison(
        "counts of a 64th of the records by an index", count: ranges.count, engine, sqlite,
        ours: { tx in
          var sum: UInt64 = 0
          for start in ranges { sum &+= UInt64(try tx.count(Item.where { $0.field0.hasPrefix(start) })) }
          return sum
        },
        theirs: { database in
          var sum: UInt64 = 0
          for start in ranges {
            let statement = try database.cachedStatement(
              sql: "SELECT count(*) FROM item WHERE field0 >= ? AND field0 < ?")
            sum &+= UInt64(try Int.fetchOne(statement, arguments: [start, start + "\u{7f}"]) ?? 0)
          }
          return sum
        }),
    ]
  }

  private static func comparison(
    _ title: String, count: Int, _ engine: Engine, _ sqlite: SQLite,
    ours: @escaping (borrowing ReadTransaction) throws -> UInt64,
    theirs: @escaping @Sendable (Database) throws -> UInt64
  ) -> Comparison {
    var (sum, rowSum): (UInt64, UInt64) = (0, 0)
    return Comparison(
      title: title, unit: "queries", aims: [Comparison.Aim(than: .sqlite, ratio: 1)], count: count,
      participants: [
        Participant(
          name: .tributary, prepare: {}, turn: { sum = try engine.store.read(ours) }, finish: { [.read: sum] }
        ),
        Participant(
          name: .sqlite, prepare: {}, turn: { rowSum = try await sqlite.pool.read(theirs) },
          finish: { [.read: rowSum] }),
      ])
  }

  // MARK: Commits

  private static func commits(_ bases: Bases, _ place: Place, _ sizes: Sizes) throws -> Comparison {
    let count = sizes.count(10_000)
    let changes = bases.dataset.changes(count, seed: 22)
    let (steps, rows) = (Engine.steps(changes, bases.dataset), SQLite.steps(changes, bases.dataset))
    return Comparison(
      title: "commits of one change with 4 indexes", unit: "commits",
      aims: [Comparison.Aim(than: .sqlite, ratio: 1)], count: count,
      participants: [
        .engine(open: { try bases.openEngine(in: place) }, turn: { try $0.commit(steps[...], each: 1) }),
        .sqlite(open: { try bases.openSQLite(in: place) }, turn: { try $0.commit(rows[...], each: 1) }),
      ])
  }
}
