import EventStore
import OperationFormat
import StoreTesting
import Testing

@Suite("Writing and reading")
struct WritingAndReading {
  let directory = TemporaryDirectory()
  let zone = ZoneID(name: "notes")

  func open() throws -> LocalStore {
    try LocalStore(directory: directory.path + "/store", durability: .consistent)
  }

  @Test("writes are read, also after the store was closed and opened")
  func readsWhatWasWritten() async throws {
    let note = RecordID(zone: zone, name: "first")
    do {
      let store = try open()
      try await store.write { tx in
        tx.author = "ann"
        tx.label = "start"
        try tx.createZone(note.zone)
        try tx.create(note, type: "note", fields: ["title": "Hello", "count": 3])
        let title = try tx.value(of: "title", in: note)
        #expect(title == "Hello")
      }
      try await store.write { tx in
        try tx.set("title", of: note, to: "Hello again")
        try tx.clear("count", of: note)
      }
      store.close()
      await #expect(throws: StoreError.self) { try await store.write { _ in } }
    }
    let store = try open()
    let record = try store.read { tx in try tx.record(note) }
    #expect(record == Record(id: note, type: "note", fields: ["title": "Hello again"]))
    var entries: [LogEntry] = []
    try store.read { tx in
      try tx.history {
        entries.append($0)
        return true
      }
      let pending = try tx.pendingCount(in: zone)
      #expect(pending == 2)
    }
    #expect(entries.map(\.position.rawValue) == [1, 2])
    #expect(entries.map(\.transaction.author) == ["ann", nil])
    #expect(entries[0].transaction.operations.count == 3)
  }

  @Test("records are found by zone and by type, from any name on, until the reader ends it")
  func enumerates() async throws {
    let store = try open()
    let other = ZoneID(name: "other")
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.createZone(other)
      for name in ["b", "a", "c"] as [Name] {
        try tx.create(RecordID(zone: zone, name: name), type: name == "c" ? "task" : "note")
        try tx.create(RecordID(zone: other, name: name), type: "note")
      }
      try tx.delete(RecordID(zone: other, name: "b"))
    }
    func names(_ read: (borrowing ReadTransaction, (Record) -> Bool) throws -> Void) throws -> [String] {
      var found: [String] = []
      try store.read { tx in
        try read(tx) { record in
          found.append("\(record.id)")
          return found.count < 3
        }
      }
      return found
    }
    let all = try names { try $0.forEachRecord(in: zone, $1) }
    #expect(all == ["notes:a", "notes:b", "notes:c"])
    let tasks = try names { try $0.forEachRecord(in: zone, type: "task", $1) }
    #expect(tasks == ["notes:c"])
    let rest = try names { try $0.forEachRecord(in: zone, after: "a", $1) }
    #expect(rest == ["notes:b", "notes:c"])
    let notes = try names { try $0.forEachRecord(ofType: "note", $1) }
    #expect(notes == ["notes:a", "notes:b", "other:a"])
    let none = try names { try $0.forEachRecord(ofType: "unknown", $1) }
    #expect(none == [])
  }

  @Test("a write that throws changes nothing")
  func throwingWriteLeavesNothing() async throws {
    struct Stop: Error {}
    let store = try open()
    let note = RecordID(zone: zone, name: "first")
    await #expect(throws: Stop.self) {
      try await store.write { tx in
        try tx.createZone(note.zone)
        try tx.create(note, type: "note")
        throw Stop()
      }
    }
    let zones = try store.read { tx in try tx.zones() }
    let last = try store.read { tx in try tx.lastPosition() }
    #expect(zones.isEmpty)
    #expect(last == .start)
  }
}
