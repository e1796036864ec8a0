import Testing

@testable import LMDB

@Suite("Cursors of tables that keep versions, within a prefix")
struct VersionsWithinPrefixes {
  let directory = TemporaryDirectory()

  @Test("a cursor does not look beyond the keys of interest for one that has a value")
  func prefixes() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let transaction = try environment.beginWrite()
    let table = try transaction.openTable(keepingVersions: "t", create: true)
    func put(_ key: String, _ version: UInt64) throws {
      transaction.version = version
      let (key, value) = (Array(key.utf8), [UInt8(version)])
      try transaction.put(value.span.bytes, for: key.span.bytes, in: table)
    }
    for key in ["a1", "c1", "c3"] { try put(key, 1) }
    for key in ["a2", "b1", "b2", "b3", "c0", "c2", "c4"] { try put(key, 2) }
    func found(_ prefix: String, _ move: (inout Cursor) throws -> Bool) throws -> String? {
      var cursor = try transaction.openCursor(table, within: Array(prefix.utf8))
      guard try move(&cursor) else { return nil }
      return cursor.withEntry { key, _ in key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }
    func atOrAfter(_ key: String, _ prefix: String) throws -> String? {
      let key = Array(key.utf8)
      return try found(prefix) { try $0.seek(atOrAfter: key.span.bytes) }
    }
    func before(_ key: String, _ prefix: String) throws -> String? {
      let key = Array(key.utf8)
      return try found(prefix) { try $0.seek(before: key.span.bytes) }
    }
    for version in [1, 2] as [UInt64] {
      transaction.version = version
      let isFirst = version == 1
      #expect(try atOrAfter("b", "") == (isFirst ? "c1" : "b1"))
      #expect(try atOrAfter("b", "b") == (isFirst ? nil : "b1"))
      #expect(try atOrAfter("c", "c") == (isFirst ? "c1" : "c0"))
      #expect(try atOrAfter("c4", "c") == (isFirst ? nil : "c4"))
      #expect(try before("b9", "") == (isFirst ? "a1" : "b3"))
      #expect(try before("b9", "b") == (isFirst ? nil : "b3"))
      #expect(try before("b1", "b") == (isFirst ? nil : "a2"))
      #expect(try before("c9", "c") == (isFirst ? "c3" : "c4"))
      #expect(try before("c3", "c") == (isFirst ? "c1" : "c2"))
      #expect(try before("c1", "c") == (isFirst ? nil : "c0"))
      #expect(try before("z", "") == (isFirst ? "c3" : "c4"))
    }
  }
}
