import StoreTesting
import Testing
import Tributary

private struct Contact: Model {
  static let type: Name = "contact"
  let email = Field<String>("email")
  let phone = Field<String>("phone")
  let tags = SetField<String>("tags")

  static let indexes: [Index] = [
    Index("email", isUnique: true) { [$0.email] }, Index("phone", isUnique: true) { [$0.phone] },
  ]
}

@Suite("Random histories of records that should be one")
struct DuplicatesAtRandom {
  private let directory = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
  private let clock = TickingClock()

  private func store(_ name: String) throws -> Store {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { [clock] in clock.tick() }
    return try Store(
      "\(directory.path)/\(name)", .consistent, models: [Contact.self], zones: [.synced("z")],
      configuration: configuration)
  }

  private func sync(_ store: Store) async throws {
    let report = try await LogReplicator(store: store, remote: remote).syncOnce()
    #expect(report.isInSync, "\(report)")
  }

  /// The records of each value that more than one has, found by looking at all of them.
  private func groups(_ store: Store, _ value: (Row<Contact>) -> String) throws -> Set<Set<Ref<Contact>>> {
    let rows = try store.fetch(Contact.all).filter { !value($0).isEmpty }
    return Set(
      Dictionary(grouping: rows, by: value).values.filter { $0.count > 1 }.map { Set($0.map(\.id)) })
  }

  private func listed(_ store: Store, _ index: Name) throws -> Set<Set<Ref<Contact>>> {
    Set(try store.read { try $0.duplicates(in: index) }.map { Set($0.map { Ref<Contact>($0) }) })
  }

  /// The index lists what a look at all records finds.
  private func check(_ store: Store, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let found = try (listed(store, "email"), listed(store, "phone"))
    let expected = try (groups(store) { $0.email }, groups(store) { $0.phone })
    #expect(found == expected, sourceLocation: sourceLocation)
  }

  @Test(
    "every device lists the same, keeps one of each, and loses nothing that was written",
    arguments: WideTests.choose(1...200, otherwise: 1...1))
  func random(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let stores = try (0..<3).map { try store("\($0)") }
    var made = 0
    var most = 0
    for _ in 0..<80 {
      let store = stores[random.next(below: 3)]
      let (choice, key) = (random.next(below: 10), "\(random.next(below: 4))")
      let rows = try store.fetch(Contact.all)
      let row = rows.isEmpty ? nil : rows[random.next(below: rows.count)].id
      switch choice {
      case 0..<4:
        made += 1
        let name = Name("n\(made)")
        try await store.write { tx in
          try tx.create(Contact.self, in: "z", named: name) {
            if choice != 3 { $0.email = key }
            if choice > 1 { $0.phone = key }
          }
        }
      case 4: if let row { try await store.write { tx in tx[row].email = key } }
      case 5: if let row { try await store.write { tx in tx[row].phone = key } }
      case 6: if let row { try await store.write { tx in tx[row].tags.insert(key) } }
      case 7: if let row, random.next(below: 3) == 0 { try await store.write { tx in try tx.delete(row) } }
      default:
        try await sync(store)
      }
      try check(store)
      most = max(most, try listed(store, "email").count)
    }
    #expect(most > 1)
    try await settle(stores)
    let before = try stores.map { try $0.fetch(Contact.all).map(\.id) }
    #expect(before[0] == before[1] && before[1] == before[2])

    // Each device settles what it lists, before it knows of the others.
    for (place, store) in stores.enumerated() {
      while let conflict = try store.conflicts(of: Contact.all).first(where: { $0.index != nil }) {
        let heads = [conflict.winner] + conflict.losers
        try await store.write { tx in try tx.keep(heads[place % heads.count], of: conflict) }
      }
      try check(store)
      #expect(try listed(store, "email").isEmpty && listed(store, "phone").isEmpty)
    }
    try await settle(stores)
    let after = try stores.map { try $0.fetch(Contact.all).map(\.id) }
    #expect(after[0] == after[1] && after[1] == after[2])
    #expect(try listed(stores[0], "email").isEmpty && listed(stores[0], "phone").isEmpty)
    for store in stores {
      // What was not kept is deleted, and its history stays.
      for number in 1...made {
        let record = RecordID(zone: "z", name: Name("n\(number)"))
        #expect(try store.history(of: Ref<Contact>(record), limit: 100).count > 0)
      }
      #expect(try store.local.verify().problems == [])
      store.close()
    }
  }

  private func settle(_ stores: [Store]) async throws {
    for _ in 0..<2 { for store in stores { try await sync(store) } }
    let digests = try stores.map { store in try store.read { try $0.digest(of: "z") } }
    #expect(Set(digests).count == 1)
    let listed = try stores.map { store in
      try ["email", "phone"].map { try self.listed(store, $0) }
    }
    #expect(listed[0] == listed[1] && listed[1] == listed[2])
    let conflicts = try stores.map { try $0.conflicts(of: Contact.all) }
    #expect(conflicts[0] == conflicts[1] && conflicts[1] == conflicts[2])
    for store in stores { try check(store) }
  }
}
