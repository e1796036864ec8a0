import EventStore
import GRDB
import Stores

/// Reads random records, or all records, in one transaction.
extension Case {
  enum Read { case field, record, all }

  static func read(_ read: Read, count: Int, aims: [Comparison.Aim]) -> Case {
    let title =
      switch read {
      case .field: "point reads of one field"
      case .record: "point reads of a record"
      case .all: "a scan of all records"
      }
    return Case(title: title, unit: read == .all ? "records" : "reads", aims: aims) { place, sizes in
      let bases = try Bases(place, sizes)
      let dataset = bases.dataset
      let reads = (read == .all ? [] : dataset.changes(sizes.count(count), seed: 5)).map { change in
        let name = dataset.freshName(change.record)
        return (id: RecordID(zone: Dataset.zone, name: Name(name)), name: name, field: change.field)
      }
      let engine = try Engine(bases.engine, dataset)
      var sum: UInt64 = 0

      func readAll() throws {
        sum = 0
        try engine.store.read { tx in
          switch read {
          case .field:
            for one in reads {
              guard
                case .string(let text)? = try tx.value(
                  of: Dataset.fields[one.field], in: one.id)
              else { continue }
              sum &+= Dataset.weight(text)
            }
          case .record:
            for one in reads {
              sum &+= try tx.withRecord(one.id, Engine.weight) ?? 0
            }
          case .all:
            try tx.scan(Dataset.zone) { record in
              sum &+= try Engine.weight(record)
              return true
            }
          }
        }
      }
      let ours = Participant(name: .tributary, prepare: {}, turn: readAll, finish: { [.read: sum] })

      let trace = try await Trace { try readAll() }
      let raw = try RawStore(try place.copy(bases.engine, as: "raw"))
      let lmdb = Participant(
        name: .lmdb, prepare: {}, turn: { try raw.play(trace, 0..<trace.transactions) }, finish: { [:] })

      let sqlite = try SQLite(bases.sqlite, dataset)
      var rowSum: UInt64 = 0
      let selects = Dataset.fieldNames.map { "SELECT \($0) FROM item WHERE id = ?" }
      let grdb = Participant(
        name: .sqlite, prepare: {},
        turn: {
          rowSum = try await sqlite.pool.read { database in
            var sum: UInt64 = 0
            switch read {
            case .field:
              for one in reads {
                let statement = try database.cachedStatement(sql: selects[one.field])
                guard let text = try String.fetchOne(statement, arguments: [one.name]) else {
                  continue
                }
                sum &+= Dataset.weight(text)
              }
            case .record:
              for one in reads {
                let statement = try database.cachedStatement(sql: "SELECT * FROM item WHERE id = ?")
                guard let row = try Row.fetchOne(statement, arguments: [one.name]) else {
                  continue
                }
                sum &+= SQLite.weight(row)
              }
            case .all:
              let rows = try Row.fetchCursor(database, sql: "SELECT * FROM item ORDER BY id")
              while let row = try rows.next() { sum &+= SQLite.weight(row) }
            }
            return sum
          }
        }, finish: { [.read: rowSum] })
      return (read == .all ? dataset.names.count : reads.count, [ours, lmdb, grdb])
    }
  }
}
