import LMDB
import Testing

@Suite("A store with one writer and its readers")
struct BasicVerbTests {
  let directory = TemporaryDirectory()

  @Test("committed entries are read in order, also after the store is opened again")
  func commitAndRead() throws {
    do {
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      try environment.write { transaction in
        for text in ["b", "a", "c"] { try transaction.put(Bytes("value of " + text), Bytes(text), table) }
      }
      let value = try environment.read { try $0.get(Bytes("b"), table) }
      #expect(value == Bytes("value of b"))
    }
    let environment = try Environment(directory: directory.path, options: .test())
    let keys = try environment.read { transaction in
      try transaction.entries(transaction.openTable("t", create: false)).map(\.key)
    }
    #expect(keys == [Bytes("a"), Bytes("b"), Bytes("c")])
  }
}
