import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Records of very many fields, in a store")
struct WideRecords {
  let directory = TemporaryDirectory()

  private func field(_ number: Int) -> Name { Name("field\(number)") }

  @Test("are read field by field and whole, verified, rebuilt, and damage of their parts is told")
  func readAndVerified() async throws {
    let store = try directory.store()
    try await store.makeZone()
    let wide = note("wide")
    let count = 1500
    try await store.write { tx in
      try tx.create(wide, type: "note")
      for number in 0..<count { try tx.set(field(number), of: wide, to: .int(Int64(number))) }
      try tx.add(5, to: field(3), of: wide)
      try tx.insert(.int(1), into: "tags", of: wide)
      try tx.insertText("text", at: 0, in: "body", of: wide)
    }
    try await store.write { tx in
      try tx.set(field(700), of: wide, to: .string("changed"))
      try tx.add(2, to: field(3), of: wide)
    }
    #expect(try store.rows(\.elements).filter { $0.key.count == 17 && $0.key[12] == 9 }.count > 10)
    func check() throws {
      let read = try store.read { tx in
        (
          values: try [0, 700, count - 1, count].map { try tx.value(of: field($0), in: wide) },
          counter: try tx.counter(field(3), of: wide)?.value,
          tags: try tx.elements(of: "tags", in: wide), heads: try tx.heads(of: field(9), in: wide).count,
          fields: try tx.record(wide)?.fields.count
        )
      }
      #expect(read.values == [.int(0), .string("changed"), .int(Int64(count - 1)), nil])
      #expect(read.counter == .int(7))
      #expect(read.tags == [.int(1)])
      #expect(read.heads == 1)
      #expect(read.fields == count + 2)
    }
    try check()
    let digest = try store.digest()
    #expect(try store.verify().problems.isEmpty)
    _ = try await store.rebuild()
    try check()
    #expect(try store.digest() == digest)
    #expect(try store.verify().problems.isEmpty)
    let block = try #require(try store.rows(\.elements).last { $0.key.count == 17 && $0.key[12] == 9 })
    var damaged = block.value
    damaged[damaged.count - 1] ^= 1
    try store.overwrite(block.key, damaged, in: \.elements)
    #expect(try !store.verify().problems.isEmpty)
    try store.overwrite(block.key, nil, in: \.elements)
    #expect(try !store.verify().problems.isEmpty)
  }
}
