import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("The kinds of fields")
struct DeclaredKindTests {
  let directory = TemporaryDirectory()
  private let record = RecordID(zone: "z", name: "r")

  private func store(_ kinds: [Name: [Name: Set<FieldKind>]] = [:]) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.fieldKinds = kinds
    let store = try LocalStore(
      directory: directory.path + "/store", durability: .consistent, configuration: configuration)
    try store.writeBlockingThisThread { [record] tx in
      if try tx.createZone(record.zone) { try tx.create(record, type: "note") }
    }
    return store
  }

  /// A change of a field of each kind.
  private static let changes: [FieldKind: @Sendable (inout WriteTransaction, RecordID) throws -> Void] = [
    .register: { tx, record in try tx.set("f", of: record, to: 1) },
    .counter: { tx, record in try tx.add(2, to: "f", of: record) },
    .set: { tx, record in try tx.insert(3, into: "f", of: record) },
    .map: { tx, record in try tx.put(4, at: "k", in: "f", of: record) },
    .list: { tx, record in try tx.insertElements([5], at: 0, in: "f", of: record) },
    .text: { tx, record in try tx.insertText("six", at: 0, in: "f", of: record) },
    .contributions: { tx, record in try tx.contribute(7, to: "f", of: record) },
  ]

  @Test("that are declared refuse verbs of all others", arguments: FieldKind.allCases)
  func declared(kind: FieldKind) throws {
    let store = try store(["note": ["f": [kind]], "other": ["g": [.set]]])
    for (other, change) in Self.changes {
      do {
        try store.writeBlockingThisThread { [record] in try change(&$0, record) }
        #expect(other == kind)
      } catch let error as StoreError {
        #expect(other != kind && error.code == .kindMismatch, "\(other): \(error)")
      }
    }
    // Fields and types that are not declared have any kind.
    try store.writeBlockingThisThread { [record] tx in
      try tx.set("g", of: record, to: 1)
      try tx.add(1, to: "g", of: record)
      let free = RecordID(zone: record.zone, name: tx.makeName())
      try tx.create(free, type: "free")
      for change in Self.changes.values { try change(&tx, free) }
      // A copy has whatever there was.
      try tx.createZone("elsewhere")
      _ = try tx.move(free, to: "elsewhere")
    }
  }

  @Test("do not matter where what is there is copied or cleared", arguments: FieldKind.allCases)
  func copied(kind: FieldKind) throws {
    if kind == .contributions { return }
    let undeclared = try store()
    try undeclared.writeBlockingThisThread { [record] tx in
      for change in Self.changes where change.key != .contributions { try change.value(&tx, record) }
      try tx.createZone("elsewhere")
    }
    undeclared.close()
    let store = try store(["note": ["f": [kind], "g": [kind]]])
    try store.writeBlockingThisThread { [record] tx in
      let copy = try tx.move(record, to: "elsewhere")
      try tx.clear("f", of: copy)
      for kind in [FieldKind.set, .map, .list, .text] {
        #expect(try tx.count(of: "f", in: copy, as: kind) == 0, "\(kind)")
      }
      try tx.clear("g", of: copy)
    }
    #expect(try store.verify().problems == [])
  }

  @Test("are all cleared by one verb, and refuse it where contributions stay")
  func cleared() throws {
    let store = try store()
    try store.writeBlockingThisThread { [record] tx in
      for kind in FieldKind.allCases where kind != .contributions { try Self.changes[kind]!(&tx, record) }
      try tx.clear("f", of: record)
      #expect(try tx.counter("f", of: record)?.value == 0)
      for kind in [FieldKind.set, .map, .list, .text] {
        #expect(try tx.count(of: "f", in: record, as: kind) == 0, "\(kind)")
      }
      #expect(try tx.record(record)?["f"] != 1)
      for amount in [Value.int(.min), .int(.min), .decimal(DecimalNumber("-0.5")!)] {
        try tx.add(amount, to: "n", of: record)
      }
      try tx.clear("n", of: record)
      #expect(try tx.counter("n", of: record)?.value == .decimal(.init("0")!))
    }
    #expect {
      try store.writeBlockingThisThread { [record] tx in
        try Self.changes[.contributions]!(&tx, record)
        try tx.clear("f", of: record)
      }
    } throws: {
      ($0 as? StoreError)?.code == .kindMismatch
    }
    #expect(try store.verify().problems == [])
  }
}

@Suite("The declared fields that a store keeps")
struct DeclaredFieldTests {
  let directory = TemporaryDirectory()

  private func open(
    _ kinds: [Name: [Name: Set<FieldKind>]], _ fields: DeclaredFields = DeclaredFields(),
    isReadOnly: Bool = false
  ) throws -> LocalStore {
    try directory.store {
      ($0.fieldKinds, $0.declaredFields, $0.isReadOnly) = (kinds, fields, isReadOnly)
    }
  }

  private func kept(by store: LocalStore) throws -> DeclaredFields {
    try store.read { try $0.declaredFields() }
  }

  private func commits(_ store: LocalStore) throws -> UInt64 { try store.core.environment.beginRead().id }

  @Test("are those of all apps that have opened it; an opening that says nothing else writes nothing")
  func keeps() throws {
    var expected = DeclaredFields()
    expected.add(QueryField(.field("f", .counter)), to: "note")
    var store = try open(["note": ["f": [.counter], "several": [.list, .map]]])
    #expect(try kept(by: store) == expected)
    let first = try commits(store)
    store.close()
    store = try open(["note": ["f": [.counter], "several": [.list, .map]]])
    #expect(try commits(store) == first)
    store.close()
    // Another app.
    var list = QueryField(.field("l", .list), formerNames: ["k"], fallback: ["x"], upcast: .values([1: 2]))
    list.mergesMembers = true
    var fields = DeclaredFields()
    fields.add(list, to: "task")
    expected.add(list, to: "task")
    store = try open([:], fields)
    #expect(try kept(by: store) == expected)
    store.close()
    for isReadOnly in [true, false] {
      store = try open(["note": ["g": [.set]]], isReadOnly: isReadOnly)
      if !isReadOnly {
        expected.replaceTypes(by: DeclaredFields(["note": ["g": [.set]]]))
      }
      #expect(try kept(by: store) == expected)
      #expect(try store.verify().problems == [])
      store.close()
    }
    store = try open([:])
    #expect(try kept(by: store) == expected)
  }

  @Test("are bounded: what is too much is left out, first what the app does not declare")
  func bounded() throws {
    func many(_ prefix: String, _ count: Int) -> [Name: [Name: Set<FieldKind>]] {
      let fields = (0..<count).map { (Name("\(prefix)\($0)"), Set([FieldKind.set])) }
      return [Name(prefix): Dictionary(uniqueKeysWithValues: fields)]
    }
    for (kinds, types) in [
      (many("a", 6000), ["a"]), (many("b", 6000), ["a", "b"]), (many("c", 6000), ["c"]),
      (many("d", 20_000), []), (many("e", 1), ["e"]),
    ] as [([Name: [Name: Set<FieldKind>]], [Name])] {
      let store = try open(kinds)
      #expect(try kept(by: store).types.keys.sorted() == types)
      let commit = try commits(store)
      store.close()
      let again = try open(kinds)
      #expect(try commits(again) == commit)
      again.close()
    }
  }

  @Test("in a damaged row are an error, which a verification finds and the app's next opening replaces")
  func damaged() throws {
    let kinds: [Name: [Name: Set<FieldKind>]] = ["note": ["f": [.counter]]]
    var store = try open(kinds)
    let row = try #require(try store.rows(\.meta).first { $0.key == Array("kinds".utf8) })
    for bit in 0..<row.value.count * 8 {
      var value = row.value
      value[bit / 8] ^= 1 << UInt8(bit % 8)
      try store.overwrite(row.key, value, in: \.meta)
      #expect {
        try kept(by: store)
      } throws: {
        ($0 as? StoreError)?.code == .damaged && "\($0)".contains("kinds")
      }
      #expect(try store.verify().problems.map(\.location) == ["meta"])
    }
    store.close()
    store = try open(kinds)
    #expect(try kept(by: store) == DeclaredFields(kinds))
    #expect(try store.verify().problems == [])
  }

  @Test("of random bytes are read or refused", arguments: 0..<20)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var store = try open(["note": ["f": [.counter], "g": [.list]]])
    let row = try #require(try store.rows(\.meta).first { $0.key == Array("kinds".utf8) })
    for _ in 0..<20 {
      var writer = ByteWriter()
      var value = row.value.dropLast(CheckedRow.checksumBytes)
      for _ in 0..<random.below(4) { value[random.below(value.count)] = UInt8(random.below(256)) }
      writer.append(Array(value))
      writer.appendChecksum(under: row.key.span.bytes)
      try store.overwrite(row.key, writer.bytes, in: \.meta)
      do {
        _ = try kept(by: store)
      } catch let error as StoreError {
        #expect(error.code == .damaged || error.code == .newerFormat)
      }
    }
    store.close()
    store = try open(["note": ["f": [.counter], "g": [.list]]])
    _ = try kept(by: store)
  }
}
