import LMDB
import Testing

@Suite("An error's text")
struct ErrorTests {
  @Test("is one line: the message, symbol and call, the path, and what to do")
  func description() {
    let error = LMDBError(code: .mapFull, call: "mdb_put", path: "somewhere")
    #expect(
      error.description
        == "the reserved address space is full (MDB_MAP_FULL, mdb_put, somewhere). "
        + "Grow the map, then run the transaction again.")
  }

  @Test("exists for each of LMDB's codes, for each of ours, and for any other")
  func allCodes() {
    for number in Array(-30799 ... -30780) + Array(-7 ... -1) as [Int32] {
      let code = LMDBError.Code(rawValue: number)
      #expect(!code.description.hasPrefix("errno"))
      #expect(!code.explanation.isEmpty && !code.explanation.hasSuffix("."))
      #expect(!code.defaultHint.isEmpty && !code.defaultHint.hasSuffix("."))
    }
    #expect(LMDBError.Code(rawValue: 9999).description == "errno 9999")
  }

  @Test("has the sizes that LMDB refuses, not the bytes")
  func sizes() throws {
    let directory = TemporaryDirectory()
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    let transaction = try environment.beginWrite()
    for count in [0, 512] {
      do {
        try transaction.put([1, 2, 3], Bytes(repeating: 0x41, count: count), table)
        Issue.record("a key of \(count) bytes was put")
      } catch let error as LMDBError {
        #expect(error.code == .badValueSize)
        #expect(error.message.contains("key of \(count) bytes, value of 3 bytes"))
        #expect(error.path == directory.path)
      }
    }
    // A key that cannot be put does not exist; asking for it is not an error.
    #expect(try transaction.get([], table) == nil)
    #expect(try transaction.delete([], table) == false)
    #expect(try transaction.get(Bytes(repeating: 1, count: 600), table) == nil)
  }

  @Test("an append out of order is an error, an append in order is not")
  func append() throws {
    let directory = TemporaryDirectory()
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    let keys: [Bytes] = (UInt8(0)..<200).map { [$0] }
    let transaction = try environment.beginWrite()
    for key in keys { try transaction.put(key.span.bytes, for: key.span.bytes, in: table, .append) }
    let early: Bytes = [100]
    #expect(
      thrownCode { try transaction.put(early.span.bytes, for: early.span.bytes, in: table, .append) }
        == .keyExists)
    try transaction.commit()
    #expect(try environment.read { try $0.entries(table).map(\.key) } == keys)
  }
}
