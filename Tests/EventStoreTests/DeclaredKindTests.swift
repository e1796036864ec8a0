import EventStore
import OperationFormat
import StoreTesting
import Testing

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
