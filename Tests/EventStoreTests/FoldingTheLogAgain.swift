import EventStore
import StoreTesting
import Testing

@Suite("Folding the log again")
struct FoldingTheLogAgain {
  let directory = TemporaryDirectory()
  let zone = ZoneID(name: "notes")

  func makeStore() async throws -> LocalStore {
    let store = try LocalStore(directory: directory.path + "/store", durability: .consistent)
    for number in 0..<50 {
      let note = RecordID(zone: zone, name: Name("note-\(number % 7)"))
      try await store.write { tx in
        try tx.createZone(note.zone)
        if try !tx.contains(note) { try tx.create(note, type: "note") }
        try tx.set("title", of: note, to: .string("title \(number)"))
        try tx.set("body", of: note, to: .string(String(repeating: "x", count: number * 100)))
        if number % 11 == 10 { try tx.delete(note) }
      }
    }
    return store
  }

  @Test("a rebuild gives the same digest, and verification finds no problem before and after")
  func rebuilds() async throws {
    let store = try await makeStore()
    let before = try store.verify()
    #expect(before.problems == [])
    #expect(before.transactions == 50)
    let digest = try store.read { tx in try tx.digest(of: zone) }
    let report = try await store.rebuild()
    #expect(report.transactions == 50)
    let rebuilt = try store.read { tx in try tx.digest(of: zone) }
    #expect(rebuilt == digest)
    let after = try store.verify()
    #expect(after.problems == [])
    let information = try store.information()
    #expect(information.zones.map(\.transactions) == [50])
  }

  @Test("the past is read as it was")
  func readsThePast() async throws {
    let store = try await makeStore()
    let past = try store.snapshotBlockingThisThread(at: Position(rawValue: 10))
    let title = try past.read { tx in
      try tx.value(of: "title", in: RecordID(zone: zone, name: "note-2"))
    }
    #expect(title == "title 9")
  }
}
