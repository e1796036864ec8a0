import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sets and maps")
struct SetsAndMaps {
  let directory = TemporaryDirectory()

  private func change(_ field: Name, _ change: FieldChange) -> LogOperation {
    .update(record: "r", type: "note", field: field, change)
  }

  private func tags(_ store: LocalStore) throws -> Set<Value>? {
    try store.read { try $0.elements(of: "tags", in: note("r")) }
  }

  private func prices(_ store: LocalStore) throws -> [Name: Value]? {
    try store.read { try $0.entries(of: "prices", in: note("r")) }
  }

  /// A value that is named by its hash.
  private static let long = Value.string(String(repeating: "long ", count: 500))

  @Test("a set has the elements that were inserted and not removed, in the write and after it")
  func sets() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      #expect(try tx.elements(of: "tags", in: note("r")) == nil)
      for element in ["a", "b", 1, Self.long, .null] as [Value] {
        try tx.insert(element, into: "tags", of: note("r"))
      }
      try tx.insert("a", into: "tags", of: note("r"))
      try tx.remove("b", from: "tags", of: note("r"))
      try tx.remove("never there", from: "tags", of: note("r"))
      #expect(try tx.elements(of: "tags", in: note("r")) == ["a", 1, Self.long, .null])
      #expect(try tx.contains(Self.long, in: "tags", of: note("r")))
      #expect(try !tx.contains("b", in: "tags", of: note("r")))
    }
    #expect(try tags(store) == ["a", 1, Self.long, .null])
    #expect(try store.read { try $0.contains("a", in: "tags", of: note("r")) })
    #expect(try store.read { try $0.contains("a", in: "tags", of: note("x")) } == false)
    let record = try #require(try store.read { try $0.record(note("r")) })
    guard case .array(let shown)? = record["tags"] else {
      Issue.record("the record shows \(record)")
      return
    }
    #expect(Set(shown) == ["a", 1, Self.long, .null] && shown.count == 4)
    try await store.write { tx in
      for element in shown { try tx.remove(element, from: "tags", of: note("r")) }
    }
    #expect(try tags(store) == nil)
    #expect(try store.rows(\.elements).isEmpty)
    try await checkSound(store)
  }

  @Test("a map has the last value of each key")
  func maps() async throws {
    let store = try await directory.noteStore()
    let key = Name(String(repeating: "k", count: 255))
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      try tx.put(1, at: "a", in: "prices", of: note("r"))
      try tx.put(2, at: "a", in: "prices", of: note("r"))
      try tx.put(Self.long, at: key, in: "prices", of: note("r"))
      try tx.put(.null, at: "", in: "prices", of: note("r"))
      try tx.put(3, at: "gone", in: "prices", of: note("r"))
      try tx.removeValue(at: "gone", from: "prices", of: note("r"))
      #expect(try tx.value(at: "a", of: "prices", in: note("r")) == 2)
      #expect(try tx.entries(of: "prices", in: note("r")) == ["a": 2, key: Self.long, "": .null])
    }
    #expect(try prices(store) == ["a": 2, key: Self.long, "": .null])
    #expect(try store.read { try $0.value(at: key, of: "prices", in: note("r")) } == Self.long)
    #expect(try store.read { try $0.value(at: "gone", of: "prices", in: note("r")) } == nil)
    #expect(
      try store.read { try $0.value(of: "prices", in: note("r")) }
        == .map(["a": 2, key: Self.long, "": .null]))
    let tooLong = Name(String(repeating: "k", count: 256))
    let refused = await awaitedCode {
      try await store.write { try $0.put(1, at: tooLong, in: "prices", of: note("r")) }
    }
    #expect(refused == .valueInvalid)
    try await checkSound(store)
  }

  @Test(
    "a concurrent insertion survives a removal; of two values at a key the greater wins, the other loses"
  )
  func concurrently() async throws {
    let store = try await directory.noteStore()
    let other = try await directory.noteStore("other")
    var remote = TestRemote()
    _ = try remote.append([
      transaction(
        1, 1, at: 100, [create("r"), change("tags", .insert("x")), change("prices", .put(key: "k", 1))])
    ])
    // None of these has seen the others.
    _ = try remote.append([
      transaction(2, 1, base: 1, at: 200, [change("tags", .remove("x")), change("prices", .removeKey("k"))])
    ])
    _ = try remote.append([
      transaction(
        3, 1, base: 1, at: 300, [change("tags", .insert("x")), change("prices", .put(key: "k", 2))])
    ])
    _ = try remote.append([transaction(4, 1, base: 1, at: 250, [change("prices", .put(key: "k", Self.long))])]
    )
    _ = try await store.ingest(remote.segments)
    for segment in remote.segments { _ = try await other.ingest([segment]) }
    #expect(try tags(store) == ["x"])
    #expect(try prices(store) == ["k": 2])
    #expect(try store.digest() == other.digest())
    let conflicts = try store.read { try $0.conflicts(in: noteZone) }
    #expect(conflicts.count == 1 && conflicts[0].field == "prices" && conflicts[0].key == "k")
    #expect(conflicts[0].losers.map(\.content) == [.entry(key: "k", Self.long)])
    // An operation that has seen all of them removes all of them.
    _ = try remote.append([
      transaction(2, 2, base: 4, at: 100, [change("tags", .remove("x")), change("prices", .removeKey("k"))])
    ])
    _ = try await store.ingest(remote.segments)
    #expect(try tags(store) == nil && prices(store) == nil)
    #expect(try store.rows(\.elements).isEmpty)
    try await checkSound(store)
  }

  @Test("a later create removes the elements that it has seen, and no others")
  func recreated() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), change("tags", .insert("seen"))])])
    _ = try remote.append([
      transaction(2, 1, base: 1, [change("tags", .insert("both")), change("tags", .insert("unseen"))])
    ])
    _ = try remote.append([
      transaction(3, 1, base: 1, [change("tags", .insert("both")), .delete(record: "r"), create("r")])
    ])
    _ = try await store.ingest(remote.segments)
    #expect(try tags(store) == ["both", "unseen"])
    #expect(try store.read { try $0.heads(of: "tags", in: note("r"), as: .set) }.count == 2)
    try await checkSound(store)
  }

  @Test("more heads of one element than its row may have are stored apart, and removed by what has seen them")
  func manyHeads() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r")])])
    for replica in 2..<20 as Range<UInt128> {
      _ = try remote.append([
        transaction(
          replica, 1, base: 1, at: UInt64(replica),
          [change("tags", .insert(Self.long)), change("prices", .put(key: "k", .int(Int64(replica))))])
      ])
    }
    _ = try await store.ingest(remote.segments)
    #expect(try store.read { try $0.heads(of: "tags", in: note("r"), as: .set) }.count == 18)
    #expect(try prices(store) == ["k": 19])
    // Two elements, and for each of them and for the record's existence the heads that are stored apart.
    let rows = try store.rows(\.elements).filter { !ElementKey(bytes: $0.key).isOfApartIndex }
    #expect(rows.count == 2 + 2 * 14 + 14)
    try await checkSound(store)
    try await store.write { tx in
      try tx.remove(Self.long, from: "tags", of: note("r"))
      try tx.put(0, at: "k", in: "prices", of: note("r"))
    }
    #expect(try tags(store) == nil)
    #expect(try store.rows(\.elements).count == 1)
    _ = try remote.append([
      transaction(30, 1, base: 19, [change("tags", .remove(Self.long)), change("prices", .removeKey("k"))])
    ])
    _ = try await store.ingest(remote.segments)
    try await checkSound(store)
  }

  @Test("with eight thousand elements a change touches one of their rows, and the record's row stays small")
  func many() async throws {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note") }
    for part in [0..<4000, 4000..<8000 as Range<Int64>] {
      try await store.write { tx in
        for number in part {
          try tx.insert(.int(number), into: "tags", of: note("r"))
          try tx.put(.int(number), at: Name("key \(number)"), in: "prices", of: note("r"))
        }
      }
    }
    let before = try store.rows(\.elements)
    try await store.write { tx in
      try tx.remove(500, from: "tags", of: note("r"))
      try tx.put("new", at: "key 7", in: "prices", of: note("r"))
    }
    let after = try store.rows(\.elements)
    #expect(before.count == 16_000 && after.count == 15_999)
    let changed = Dictionary(uniqueKeysWithValues: before.map { ($0.key, $0.value) })
    #expect(after.count { changed[$0.key] != $0.value } == 1)
    #expect(try store.rows(\.records)[0].value.count < 100)
    #expect(try tags(store)?.count == 7999)
    #expect(try prices(store)?["key 7"] == "new")
    try await checkSound(store)
  }

  @Test("they are explained element by element: who inserted it, and what removed another")
  func explained() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      tx.author = "ann"
      try tx.create(note("r"), type: "note")
      try tx.insert("a", into: "tags", of: note("r"))
      try tx.insert("b", into: "tags", of: note("r"))
      try tx.put(1, at: "k", in: "prices", of: note("r"))
    }
    try await store.write { tx in
      try tx.remove("a", from: "tags", of: note("r"))
      try tx.put(2, at: "k", in: "prices", of: note("r"))
    }
    let set = try #require(try store.read { try $0.explain(note("r"), field: "tags") })
    #expect(set.kind == .set && set.heads.map(\.head.content) == [.element("b")])
    #expect(set.heads[0].entry?.transaction.author == "ann")
    #expect(set.replaced.map(\.content) == [.element("a")] && set.reasons == [])
    let removed = try #require(try store.read { try $0.explain(note("r"), field: "tags", element: "a") })
    #expect(removed.heads.isEmpty && removed.replaced.map(\.isRemoved) == [true])
    #expect(try store.read { try $0.explain(note("r"), field: "tags", element: "c") } == nil)
    let key = try #require(try store.read { try $0.explain(note("r"), field: "prices", element: "k") })
    #expect(key.kind == .map && key.element == "k" && key.heads.map(\.head.content) == [.entry(key: "k", 2)])
    #expect(key.replaced.map(\.content) == [.entry(key: "k", 1)] && !key.replaced[0].isRemoved)
  }
}
