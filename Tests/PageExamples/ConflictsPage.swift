import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of Conflicts.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Conflicts")
struct ConflictsPage {
  // page
  struct Contact: Model {
    static let type: Name = "contact"
    let name = Field<String>("name")
    let phone = Field<String>("phone")
    let labels = MapField<String>("labels")
    let notes = ProseField("notes")
  }

  /// What a screen shows of a conflict: the versions, the one that shows now first.
  func versions(of contact: Ref<Contact>, in store: Store) throws -> [(conflict: Conflict, texts: [String])] {
    try store.conflicts(of: contact).compactMap { conflict in
      guard conflict.field != nil else { return nil }  // existence: below
      let heads = [conflict.winner] + conflict.losers
      let texts = heads.map { $0.content.value.map { "\($0)" } ?? "" }
      return Set(texts).count > 1 ? (conflict, texts) : nil
    }
  }
  // page end

  // page
  func choose(_ version: Int, of conflict: Conflict, in store: Store) async throws {
    let head = ([conflict.winner] + conflict.losers)[version]
    do {
      try await store.write { tx in try tx.keep(head, of: conflict) }
    } catch let error as StoreError where error.code == .conflictUnknown {
      // Another device, or another window, has settled it. List the conflicts again.
    }
  }
  // page end

  // page
  /// The contacts that a deletion hides although somebody changed them at the same time.
  func deletedButChanged(in zone: ZoneID, of store: Store) throws -> [Ref<Contact>] {
    try store.read { tx in
      try tx.conflicts(in: zone).compactMap { conflict in
        guard conflict.field == nil, try !tx.contains(conflict.record) else { return nil }
        let isContact = try tx.existence(of: conflict.record).contains {
          $0.content == .alive(type: Contact.type)
        }
        return isContact ? Ref(conflict.record) : nil
      }
    }
  }

  func bringBack(_ contact: Ref<Contact>, in store: Store) async throws {
    try await store.write { tx in try tx.revive(contact) }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("are shown, settled, and gone on every device")
  func run() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    func open(_ name: String) throws -> Store {
      try Store(
        directory.path + "/" + name, .consistent, models: [Contact.self], zones: [.synced("team")],
        author: name)
    }
    let (ann, bob) = (try open("ann"), try open("bob"))
    func sync() async throws {
      for store in [ann, bob, ann] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    let (eve, zoe) = try await ann.write { tx in
      (
        try tx.create(Contact.self, in: "team") { ($0.name, $0.phone) = ("Eve", "1") },
        try tx.create(Contact.self, in: "team") { $0.name = "Zoe" }
      )
    }
    try await sync()
    try await bob.write { tx in
      (tx[eve].name, tx[eve].phone) = ("Eva", "2")
      tx[eve].labels["work"] = "yes"
      tx[eve].notes.append("Met in May.")
      tx[zoe].phone = "9"
    }
    try await ann.write { tx in
      (tx[eve].name, tx[eve].phone) = ("Evi", "2")
      tx[eve].labels["work"] = "no"
      tx[eve].notes.append("Likes tea.")
      try tx.delete(zoe)
    }
    try await sync()
    // Both wrote the same phone number: listed, and not worth showing.
    let raw = try ann.conflicts(of: eve).map(\.field)
    #expect(raw == ["labels", "name", "phone"])
    let found = try versions(of: eve, in: ann)
    #expect(found.map(\.texts) == [["\"no\"", "\"yes\""], ["\"Evi\"", "\"Eva\""]])
    #expect(found[1].conflict.key == nil && found[0].conflict.key == "work")
    try await choose(1, of: found[1].conflict, in: ann)
    try await choose(1, of: found[1].conflict, in: ann)
    #expect(try ann.fetch(eve)?.name == "Eva")
    #expect(try deletedButChanged(in: "team", of: bob) == [zoe])
    try await bringBack(zoe, in: bob)
    try await sync()
    for store in [ann, bob] {
      #expect(try store.fetch(eve)?.name == "Eva" && store.fetch(zoe)?.phone == "9")
      #expect(try store.conflicts(of: Contact.where { $0.name == "Zoe" }).isEmpty)
    }
    // Any later write that has seen all versions ends a conflict.
    try await bob.write { tx in
      tx[eve].phone = "3"
      tx[eve].labels["work"] = "no"
    }
    #expect(try bob.conflicts(of: eve).isEmpty)
  }

  struct Checklist: Model {
    static let type: Name = "checklist"
    let steps = ListField<String>("steps")
  }

  @Test("the value of one element of a list conflicts too, and its move does not")
  func elements() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    func open(_ name: String) throws -> Store {
      try Store(
        directory.path + "/" + name, .consistent, models: [Checklist.self], zones: [.synced("team")])
    }
    let (ann, bob) = (try open("ann"), try open("bob"))
    func sync() async throws {
      for store in [ann, bob, ann] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    let list = try await ann.write { tx in
      try tx.create(Checklist.self, in: "team") { $0.steps.append(contentsOf: ["one", "two"]) }
    }
    try await sync()
    let id = try #require(try ann.fetch(list)).steps[0].id
    try await ann.write { tx in tx[list].steps[id: id] = "first" }
    try await bob.write { tx in
      tx[list].steps[id: id] = "1"
      tx[list].steps.move(id: id, to: 1)
    }
    try await sync()
    let conflict = try #require(try ann.conflicts(of: list).first)
    #expect(conflict.field == "steps" && conflict.losers.count == 1)
    let other = try #require(conflict.losers[0].content.value)
    try await ann.write { tx in try tx.keep(conflict.losers[0], of: conflict) }
    try await sync()
    for store in [ann, bob] {
      #expect(try store.fetch(list)?.steps.map(\.value) == ["two", String(other, in: "team") ?? ""])
      #expect(try store.conflicts(of: list).isEmpty)
    }
  }
}
