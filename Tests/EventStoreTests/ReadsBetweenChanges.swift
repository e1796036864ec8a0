import StoreTesting
import Testing

@testable import EventStore

@Suite("Reads of a write between its changes")
struct ReadsBetweenChanges {
  private let directory = TemporaryDirectory()

  @Test("share what they found of the store until the next change")
  func shareTheView() async throws {
    let store = try await directory.noteStore()
    defer { store.close() }
    try await store.write { tx in
      try tx.create(note("a"), type: "note")
      let first = ObjectIdentifier(try tx.reader.view)
      _ = try tx.contains(note("a"))
      #expect(try ObjectIdentifier(tx.reader.view) == first)
      let view = try tx.reader.view
      try tx.set("title", of: note("a"), to: "b")
      let isSame = try tx.reader.view === view
      #expect(!isSame)
    }
  }

  @Test("throw an error of the store if a row is damaged, already in the closure")
  func damagedRows() async throws {
    let store = try await directory.noteStore()
    defer { store.close() }
    try await store.write { tx in
      try tx.create(note("a"), type: "note")
      try tx.insertText(String(repeating: "abc ", count: 500), at: 0, in: "body", of: note("a"))
    }
    for row in try store.rows(\.runs) { try store.overwrite(row.key, [0xFF], in: \.runs) }
    await #expect(throws: StoreError.self) {
      try await store.write { tx in
        for change in [
          { (tx: inout WriteTransaction) in try tx.insertText("x", at: 900, in: "body", of: note("a")) },
          { (tx: inout WriteTransaction) in try tx.removeText(3..<1500, from: "body", of: note("a")) },
          { (tx: inout WriteTransaction) in _ = try tx.text(in: 3..<1500, of: "body", in: note("a")) },
        ] {
          do {
            try change(&tx)
            Issue.record("no error")
          } catch let error as StoreError {
            #expect(error.code == .damaged)
          }
        }
      }
    }
  }

  @Test("see each change at once, also of what a cascade hides, of types and of zones")
  func seeChanges() async throws {
    let store = try await directory.noteStore()
    defer { store.close() }
    let (parent, child) = (note("parent"), note("child"))
    try await store.write { tx in
      try tx.create(parent, type: "note")
      #expect(try !tx.contains(child))
      try tx.create(child, type: "note")
      #expect(try tx.contains(child) && tx.value(of: "of", in: child) == nil)
      try tx.set("of", of: child, to: .reference(Reference(record: parent.name, rule: .cascade)))
      #expect(try tx.contains(child))
      try tx.delete(parent)
      #expect(try !tx.contains(child) && !tx.contains(parent))
      try tx.create(parent, type: "note")
      #expect(try tx.contains(child))
      let other = RecordID(zone: ZoneID(name: "other"), name: "x")
      #expect(throws: StoreError.self) { _ = try tx.contains(other) }
      try tx.createZone(other.zone)
      #expect(try !tx.contains(other))
      try tx.create(other, type: "note")
      #expect(try tx.contains(other))
      try tx.deleteZone(other.zone)
      #expect(throws: StoreError.self) { _ = try tx.contains(other) }
    }
    #expect(try store.read { try $0.contains(child) })
    // A write that fails leaves nothing that the next one sees.
    struct Failure: Error {}
    await #expect(throws: Failure.self) {
      try await store.write { tx in
        try tx.delete(parent)
        #expect(try !tx.contains(child))
        throw Failure()
      }
    }
    let isThere = try await store.write { tx in try tx.contains(child) }
    #expect(isThere)
  }
}
