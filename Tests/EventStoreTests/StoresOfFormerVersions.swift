import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Stores of an earlier version")
struct StoresOfFormerVersions {
  let directory = TemporaryDirectory()

  private static let reference = Value.reference(Reference(record: "b", rule: .cascade))

  /// A store as it was before the table existed.
  private func makeOldStore(without table: String) async throws {
    let store = try directory.store("new")
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("a"), type: "note")
      try tx.set("title", of: note("a"), to: .string("old"))
      if table == "references" { try tx.set("of", of: note("a"), to: Self.reference) }
    }
    store.close()
    let new = try Environment(directory: directory.path + "/new", options: Environment.Options(sync: .none))
    defer { new.close() }
    try SystemEnvironment.makeDirectory(directory.path + "/store")
    let old = try Environment(directory: directory.path + "/store", options: Environment.Options(sync: .none))
    defer { old.close() }
    let source = try new.beginRead()
    let target = try old.beginWrite()
    for name in Tables.names where name != table {
      let copy = try target.openTable(name, create: true)
      var cursor = try source.openCursor(try source.openTable(name, create: false))
      while try cursor.next() {
        try cursor.withEntry { key, row in
          var row = row.bytes
          // Records had no flag for references.
          if name == "records" {
            row = try unpackedRow(row)
            row[1] = 0
          }
          try target.put(row.span.bytes, for: key, in: copy)
        }
      }
    }
    try target.commit()
  }

  @Test("are folded again to get the index of references")
  func getReferences() async throws {
    try await makeOldStore(without: "references")
    let store = try directory.store()
    #expect(try store.rows(\.references).count == 3)
    let isThere = try store.read { try $0.contains(note("a")) }
    #expect(!isThere)
    let report = try store.verify()
    #expect(report.problems == [])
    store.close()
    let again = try directory.store { $0.isReadOnly = true }
    let holders = try again.read { try ($0.hiddenRecords(in: noteZone).count, $0.holders(of: note("b"))) }
    #expect(holders.0 == 1 && holders.1 == [])
  }

  @Test("do not know who created a record, until they are rebuilt")
  func getCreations() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      for number in 0..<3 {
        try tx.create(note("r\(number)"), type: "note")
        try tx.set("title", of: note("r\(number)"), to: .string("title"))
      }
    }
    func created() throws -> [SystemFields.Change?] {
      try store.read { tx in
        try (0..<3).map { number in try tx.withRecord(note("r\(number)")) { try $0.system.created } ?? nil }
      }
    }
    let expected = try created()
    #expect(!expected.contains(nil))
    for row in try store.rows(\.records) {
      var former = try unpackedRow(row.value)
      former.removeSubrange(try RecordRow.place(of: .creation, in: former.span.bytes).entry)
      try store.overwrite(row.key, packedRow(former), in: \.records)
    }
    #expect(try created() == [nil, nil, nil])
    #expect(try store.verify().problems == [])
    // A change of the shortcut, and one of the general way.
    try await store.write { tx in
      try tx.set("title", of: note("r0"), to: .string("other"))
      try tx.insert(1, into: "set", of: note("r1"))
    }
    // What creates a record again is not what created it first.
    try await store.write { try $0.delete(note("r2")) }
    try await store.write { try $0.create(note("r2"), type: "note") }
    #expect(try created() == [nil, nil, nil])
    #expect(try store.verify().problems == [])
    _ = try await store.rebuild()
    #expect(try created() == expected)
    #expect(try store.verify().problems == [])
  }

  @Test("get their missing tables when they are opened for writing")
  func getTables() async throws {
    try await makeOldStore(without: "runs")
    let error = #expect(throws: StoreError.self) { try directory.store { $0.isReadOnly = true } }
    #expect(error?.code == .readOnly)
    let store = try directory.store()
    let title = try store.read { try $0.value(of: "title", in: note("a")) }
    #expect(title == "old")
    let information = try store.information()
    #expect(information.tables.contains { $0.name == "runs" })
    let report = try store.verify()
    #expect(report.problems == [])
    store.close()
    let again = try directory.store { $0.isReadOnly = true }
    let same = try again.read { try $0.value(of: "title", in: note("a")) }
    #expect(same == "old")
  }

  @Test(
    "are distinguished from one with a table that lost its name: that is damage, and no new table is created")
  func renamedTable() async throws {
    try await makeOldStore(without: "zones")
    do {
      let environment = try Environment(directory: directory.path + "/store", options: .init(sync: .none))
      defer { environment.close() }
      let transaction = try environment.beginWrite()
      _ = try transaction.openTable("yones", create: true)
      try transaction.commit()
    }
    for isReadOnly in [true, false] {
      let error = #expect(throws: StoreError.self) { try directory.store { $0.isReadOnly = isReadOnly } }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("yones") == true)
    }
  }
}
