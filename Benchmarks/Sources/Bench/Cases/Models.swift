import EventStore
import GRDB
import Models
import Stores

/// The same records by their model, and as Codable structs of GRDB.
extension Case {
  private struct ItemStruct: Codable, FetchableRecord {
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
      Case(
        title: "point fetches of a row of a model", unit: "rows",
        aims: [Comparison.Aim(than: .sqlite, ratio: 2)]
      ) { place, sizes in
        let bases = try Bases(place, sizes)
        let dataset = bases.dataset
        let fetches = dataset.changes(sizes.count(100_000), seed: 15).map { change in
          let name = dataset.freshName(change.record)
          return (ref: Ref<Item>(in: Dataset.zone, Name(name)), name: name)
        }
        let engine = try Engine(bases.engine, dataset)
        var sum: UInt64 = 0
        let ours = Participant(
          name: .tributary, prepare: {},
          turn: {
            sum = 0
            try engine.store.read { tx in
              for one in fetches { sum &+= try tx.fetch(one.ref).map(Item.weight) ?? 0 }
            }
          }, finish: { [.read: sum] })
        let sqlite = try SQLite(bases.sqlite, dataset)
        var rowSum: UInt64 = 0
        let grdb = Participant(
          name: .sqlite, prepare: {},
          turn: {
            rowSum = try await sqlite.pool.read { database in
              var sum: UInt64 = 0
              for one in fetches {
                let statement = try database.cachedStatement(sql: "SELECT * FROM item WHERE id = ?")
                sum &+= try ItemStruct.fetchOne(statement, arguments: [one.name])?.weight ?? 0
              }
              return sum
            }
          }, finish: { [.read: rowSum] })
        return (fetches.count, [ours, grdb])
      },
      Case(
        title: "a query with two conditions and no index", unit: "records passed",
        aims: [Comparison.Aim(than: .sqlite, ratio: 1.5)]
      ) { place, sizes in
        let bases = try Bases(place, sizes)
        let dataset = bases.dataset
        let engine = try Engine(bases.engine, dataset)
        let query = Item.where { $0.field0 > "m" && $0.field1.hasPrefix("b") }
        var sum: UInt64 = 0
        let ours = Participant(
          name: .tributary, prepare: {},
          turn: {
            sum = try engine.store.read { tx in try tx.fetch(query).reduce(0) { $0 &+ Item.weight($1) } }
          }, finish: { [.read: sum] })
        let sqlite = try SQLite(bases.sqlite, dataset)
        var rowSum: UInt64 = 0
        let grdb = Participant(
          name: .sqlite, prepare: {},
          turn: {
            rowSum = try await sqlite.pool.read { database in
              let statement = try database.cachedStatement(
                sql: "SELECT * FROM item WHERE field0 > ? AND field1 GLOB ? ORDER BY id")
              return try ItemStruct.fetchAll(statement, arguments: ["m", "b*"]).reduce(0) { $0 &+ $1.weight }
            }
          }, finish: { [.read: rowSum] })
        return (dataset.names.count, [ours, grdb])
      },
    ]
  }
}
