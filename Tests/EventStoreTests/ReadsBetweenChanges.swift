import EventStore
import StoreTesting
import Testing

@Suite("Reads of a write between its changes")
struct ReadsBetweenChanges {
  private let directory = TemporaryDirectory()

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
