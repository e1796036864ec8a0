import EventStore
import Foundation
import GRDB
import Stores

/// A text typed from its first letter to its last, including what was removed again.
extension Case {
  /// An edit of one letter.
  struct Edit: Sendable {
    var place: Int
    var removes: Bool
    var letter: String
  }

  /// Edits as a person types them: mostly one after the other, now and then elsewhere; three of ten remove a
  /// letter.
  static func edits(_ count: Int) -> [Edit] {
    var random = SplitMix(state: 260)
    var (length, place) = (0, 0)
    return (0..<count).map { number in
      if random.next() % 50 == 0 { place = Int(random.next() % UInt64(length + 1)) }
      let removes = place > 0 && random.next() % 1000 < 308
      place += removes ? -1 : 0
      defer {
        length += removes ? -1 : 1
        place += removes ? 0 : 1
      }
      return Edit(place: place, removes: removes, letter: String(UnicodeScalar(UInt8(97 + number % 26))))
    }
  }

  private static let record = RecordID(zone: Dataset.zone, name: "text")

  static var texts: Case {
    Case(title: "260,000 edits of one letter each, in commits of 100") { place, sizes in
      let count = sizes.count(260_000)
      let edits = edits(count)
      return [
        Comparison(
          title: "260,000 edits of one letter each, in commits of 100", unit: "edits", count: count,
          participants: [writesOurs(edits, place), writesSQLite(edits, place)])
      ]
    }
  }

  private static func writesOurs(_ edits: [Edit], _ place: Place) -> Participant {
    var opened: LocalStore?
    return Participant(
      name: .tributary,
      prepare: {
        let store = try LocalStore(directory: place.inner().path, durability: .consistent)
        try await store.write { tx in
          try tx.createZone(Dataset.zone)
          try tx.create(record, type: "text")
        }
        opened = store
      },
      turn: {
        guard let store = opened else { return }
        for start in stride(from: 0, to: edits.count, by: 100) {
          let part = edits[start..<min(edits.count, start + 100)]
          try store.writeBlockingThisThread { tx in
            for edit in part {
              if edit.removes {
                try tx.removeText(edit.place..<edit.place + 1, from: "body", of: record)
              } else {
                try tx.insertText(edit.letter, at: edit.place, in: "body", of: record)
              }
            }
          }
        }
      },
      finish: {
        var digest = TextDigest()
        digest.add(try opened?.read { try $0.text(of: "body", in: record) } ?? "")
        opened?.close()
        opened = nil
        return [.records: digest.value]
      })
  }

  /// A text in a column, which each edit rewrites, and a row for each edit in a log.
  private static func writesSQLite(_ edits: [Edit], _ place: Place) -> Participant {
    var opened: DatabasePool?
    return Participant(
      name: .sqlite,
      prepare: {
        let pool = try DatabasePool(path: place.inner().path + "/db.sqlite")
        try await pool.write { database in
          try database.execute(
            sql: """
              CREATE TABLE document (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
              CREATE TABLE change (sequence INTEGER PRIMARY KEY, place INTEGER NOT NULL, letter TEXT, time REAL);
              INSERT INTO document VALUES (1, '');
              """)
        }
        opened = pool
      },
      turn: {
        guard let pool = opened else { return }
        for start in stride(from: 0, to: edits.count, by: 100) {
          let part = edits[start..<min(edits.count, start + 100)]
          try pool.write { database in
            for edit in part { try write(edit, database) }
          }
        }
      },
      finish: {
        var digest = TextDigest()
        let body = try opened?.read { try String.fetchOne($0, sql: "SELECT body FROM document") }
        digest.add(body ?? "")
        try opened?.close()
        opened = nil
        return [.records: digest.value]
      })
  }

  private static func write(_ edit: Edit, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql: "UPDATE document SET body = substr(body, 1, ?) || ? || substr(body, ?)")
    let log = try database.cachedStatement(
      sql: "INSERT INTO change (place, letter, time) VALUES (?, ?, julianday('now'))")
    let letter = edit.removes ? "" : edit.letter
    try update.execute(arguments: [edit.place, letter, edit.place + (edit.removes ? 2 : 1)])
    try log.execute(arguments: [edit.place, letter])
  }
}
