import EventStore
import GRDB
import Models
import Stores

/// The same records by their model, and as Codable structs of GRDB, over ten times as many records.
extension Case {
  struct ItemStruct: Codable, FetchableRecord {
    var id: String
    var field0: String
    var field1: String
    var field2: String
    var field3: String

    var weight: UInt64 {
      Dataset.weight(field0) &+ Dataset.weight(field1) &+ Dataset.weight(field2) &+ Dataset.weight(field3)
    }
  }

  static var models: [Case] {
    [
      model("point fetches of a row of a model", unit: "rows", aim: 2) { dataset, sizes in
        let fetches = dataset.changes(sizes.count(100_000), seed: 15).map { change in
          let name = dataset.freshName(change.record)
          return (ref: Ref<Item>(in: Dataset.zone, Name(name)), name: name)
        }
        return ModelReads(
          count: fetches.count,
          ours: { tx in
            var sum: UInt64 = 0
            for one in fetches { sum &+= try tx.fetch(one.ref).map(Item.weight) ?? 0 }
            return sum
          },
          theirs: { database in
            var sum: UInt64 = 0
            for one in fetches {
              let statement = try database.cachedStatement(sql: "SELECT * FROM item WHERE id = ?")
              sum &+= try ItemStruct.fetchOne(statement, arguments: [one.name])?.weight ?? 0
            }
            return sum
          })
      },
      model("a query with two conditions and no index", unit: "records passed", aim: 1.5) { dataset, _ in
        let query = Item.where { $0.field0 > "m" && $0.field1.hasPrefix("b") }
        return ModelReads(
          count: dataset.names.count,
          ours: { tx in try tx.fetch(query).reduce(0) { $0 &+ Item.weight($1) } },
          theirs: { database in
            let statement = try database.cachedStatement(
              sql: "SELECT * FROM item WHERE field0 > ? AND field1 GLOB ? ORDER BY id")
            return try ItemStruct.fetchAll(statement, arguments: ["m", "b*"]).reduce(0) { $0 &+ $1.weight }
          })
      },
    ]
  }

  /// The same reads in both, each with the sum of what was read.
  private struct ModelReads {
    let count: Int
    let ours: (borrowing ReadTransaction) throws -> UInt64
    let theirs: @Sendable (Database) throws -> UInt64
  }

  private static func model(
    _ title: String, unit: String, aim: Double, _ reads: @escaping (Dataset, Sizes) -> ModelReads
  ) -> Case {
    Case(title: title, unit: unit, aims: [Comparison.Aim(than: .sqlite, ratio: aim)]) { place, sizes in
      var sizes = sizes
      sizes.records *= 10
      let bases = try Bases(place, sizes)
      let (engine, sqlite) = (
        try Engine(bases.engine, bases.dataset), try SQLite(bases.sqlite, bases.dataset)
      )
      let reads = reads(bases.dataset, sizes)
      var (sum, rowSum): (UInt64, UInt64) = (0, 0)
      let ours = Participant(
        name: .tributary, prepare: {}, turn: { sum = try engine.store.read(reads.ours) },
        finish: { [.read: sum] })
      let grdb = Participant(
        name: .sqlite, prepare: {}, turn: { rowSum = try await sqlite.pool.read(reads.theirs) },
        finish: { [.read: rowSum] })
      return (reads.count, [ours, grdb])
    }
  }
}
