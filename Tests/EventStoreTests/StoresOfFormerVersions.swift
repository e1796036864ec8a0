import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Stores of a former version")
struct StoresOfFormerVersions {
  let directory = TemporaryDirectory()

  /// A store as it was before there were sequences.
  private func makeOldStore() async throws {
    let store = try directory.store("new")
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("a"), type: "note")
      try tx.set("title", of: note("a"), to: .string("old"))
    }
    store.close()
    let new = try Environment(directory: directory.path + "/new", options: Environment.Options(sync: .none))
    defer { new.close() }
    try SystemEnvironment.makeDirectory(directory.path + "/store")
    let old = try Environment(directory: directory.path + "/store", options: Environment.Options(sync: .none))
    defer { old.close() }
    let source = try new.beginRead()
    let target = try old.beginWrite()
    for name in Tables.names where name != "runs" {
      let copy = try target.openTable(name, create: true)
      var cursor = try source.openCursor(try source.openTable(name, create: false))
      while try cursor.next() {
        try cursor.withEntry { key, row in try target.put(row, for: key, in: copy) }
      }
    }
    try target.commit()
  }

  @Test("get the tables that they lack when they are opened for writing")
  func getTables() async throws {
    try await makeOldStore()
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
}
