import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Problems of a store's directory")
struct DirectoryTests {
  let directory = TemporaryDirectory()

  private func makeStore() async throws {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { try $0.create(note("first"), type: "note", fields: ["title": "Hello"]) }
    store.close()
  }

  /// The error code of an open; nil if it succeeds.
  private func opening(
    _ name: String = "store", _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) -> StoreError.Code? {
    code { try directory.store(name, configure).close() }
  }

  @Test("a store that is open in this process cannot be opened again, under any path")
  func alreadyOpen() async throws {
    try await makeStore()
    let store = try directory.store()
    symlink(directory.path + "/store", directory.path + "/link")
    mkdir(directory.path + "/hard", 0o700)
    link(directory.path + "/store/data.mdb", directory.path + "/hard/data.mdb")
    for name in ["store", "link", "hard", "../\(directory.path.split(separator: "/").last!)/store"] {
      let found = opening(name)
      #expect(found == .alreadyOpen, "\(name)")
    }
    let value = try store.value("title", note("first"))
    #expect(value == "Hello")
    store.close()
    let again = opening("link")
    #expect(again == nil)
  }

  @Test(
    "a store of another format is refused, and unchanged",
    arguments: [(1, StoreError.Code.olderFormat), (8, .newerFormat)] as [(UInt8, StoreError.Code)])
  func otherFormat(_ version: UInt8, _ code: StoreError.Code) async throws {
    try await makeStore()
    let store = try directory.store()
    try store.overwrite(Array("format".utf8), [version], in: \.meta)
    store.close()
    let bytes = fileBytes(directory.path + "/store/data.mdb")
    let codes = [opening(), opening { $0.isReadOnly = true }]
    #expect(codes == [code, code])
    #expect(fileBytes(directory.path + "/store/data.mdb") == bytes)
  }

  @Test(
    "a store that has lost its identity, or whose meta rows cannot be read, is damaged",
    arguments: [("identity", nil), ("identity", [1, 2]), ("format", []), ("format", [0x80])]
      as [(String, [UInt8]?)])
  func meta(name: String, row: [UInt8]?) async throws {
    try await makeStore()
    let store = try directory.store()
    try store.overwrite(Array(name.utf8), row, in: \.meta)
    store.close()
    let found = opening()
    #expect(found == .damaged)
  }

  @Test("an unreadable clock row is damage for writers; readers continue")
  func clockRow() async throws {
    try await makeStore()
    let store = try directory.store()
    let row = try #require(try store.rows(\.meta).first { $0.key == Array("clock".utf8) })
    try store.overwrite(row.key, [1], in: \.meta)
    let found = await awaitedCode { try await store.write { try $0.set("title", of: note("first"), to: 1) } }
    #expect(found == .damaged)
    let value = try store.value("title", note("first"))
    #expect(value == "Hello")
    try store.overwrite(row.key, row.value, in: \.meta)
    try await store.write { try $0.set("title", of: note("first"), to: 1) }
  }

  @Test("a directory without a store is refused if none may be created, and one with other files always")
  func noStore() throws {
    mkdir(directory.path + "/empty", 0o700)
    mkdir(directory.path + "/other", 0o700)
    writeFile(directory.path + "/other/photo.jpg", [1, 2, 3])
    writeFile(directory.path + "/file", [1, 2, 3])
    let codes = [
      opening("empty") { $0.createsStore = false }, opening("empty") { $0.isReadOnly = true },
      opening("absent") { $0.createsStore = false }, opening("other"), opening("file"), opening("file/below"),
      opening("absent/below"),
    ]
    #expect(codes == [.notAStore, .notAStore, .notAStore, .notAStore, .notAStore, .system, .system])
    let names = [access(directory.path + "/empty/data.mdb", F_OK), access(directory.path + "/absent", F_OK)]
    #expect(names == [-1, -1])
    #expect(fileBytes(directory.path + "/file") == [1, 2, 3])
    let made = opening("empty")
    #expect(made == nil)
  }

  @Test("a data file of another program is refused, and unchanged")
  func foreignFile() throws {
    for (name, bytes) in [
      ("text", Array("hello".utf8)), ("zeros", [UInt8](repeating: 0, count: 1 << 17)),
      ("noise", (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 167) }),
    ] {
      mkdir(directory.path + "/" + name, 0o700)
      writeFile(directory.path + "/\(name)/data.mdb", bytes)
      let found = opening(name)
      let isRefused = found == .notAStore || found == .damaged
      #expect(isRefused, "\(name): \(String(describing: found))")
      #expect(fileBytes(directory.path + "/\(name)/data.mdb") == bytes)
    }
    mkdir(directory.path + "/directory", 0o700)
    mkdir(directory.path + "/directory/data.mdb", 0o700)
    let found = opening("directory")
    #expect(found != nil)
  }

  @Test("an LMDB file of another program is refused, and unchanged")
  func foreignEnvironment() throws {
    for (name, tables) in [("plain", ["settings"]), ("alike", ["meta", "log"])] {
      let path = directory.path + "/" + name
      mkdir(path, 0o700)
      let environment = try Environment(directory: path, options: Environment.Options(sync: .none))
      let transaction = try environment.beginWrite()
      for table in tables {
        let opened = try transaction.openTable(table, create: true)
        try transaction.put([1].span.bytes, for: [2].span.bytes, in: opened)
      }
      try transaction.commit()
      environment.close()
      let bytes = fileBytes(path + "/data.mdb")
      let codes = [
        opening(name) { $0.createsStore = false }, opening(name) { $0.isReadOnly = true }, opening(name),
      ]
      #expect(codes == [.notAStore, .notAStore, .notAStore], "\(name)")
      #expect(fileBytes(path + "/data.mdb") == bytes, "\(name)")
    }
  }

  @Test("an empty data file, as a crash may leave it, becomes a store; a store without a lock file opens")
  func leftovers() async throws {
    mkdir(directory.path + "/empty", 0o700)
    writeFile(directory.path + "/empty/data.mdb", [])
    let codes = [opening("empty") { $0.isReadOnly = true }, opening("empty")]
    #expect(codes == [.notAStore, nil])
    try await makeStore()
    for bytes in [nil, [], [UInt8](repeating: 0x5a, count: 100)] as [[UInt8]?] {
      unlink(directory.path + "/store/lock.mdb")
      if let bytes { writeFile(directory.path + "/store/lock.mdb", bytes) }
      let found = opening()
      let isAccepted = found == nil || found == .newerFormat || found == .notAStore || found == .system
      #expect(isAccepted, "\(String(describing: found))")
    }
    unlink(directory.path + "/store/lock.mdb")
    let store = try directory.store()
    let value = try store.value("title", note("first"))
    #expect(value == "Hello")
  }
}
