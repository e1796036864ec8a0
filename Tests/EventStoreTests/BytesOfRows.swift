import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Bytes of records' rows")
struct BytesOfRows {
  let directory = TemporaryDirectory()

  /// A name of 32 bytes, and numbers as in a store that has grown.
  private func record(_ name: String) -> RecordID {
    note(name + String(repeating: "-", count: 32 - name.utf8.count))
  }

  private let value = Value.string(String(repeating: "x", count: 32))

  /// A store whose next transaction has a sequence of two bytes.
  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { tx in
      try create("first", &tx)
    }
    for _ in 0..<130 { try await store.write { try $0.set("a", of: record("first"), to: value) } }
    return store
  }

  /// The bytes of a record's key and row; of the row with a large record number and sequence.
  private func bytes(_ store: LocalStore, _ name: String) throws -> (before: Int, after: Int) {
    let key = Array(record(name).name.rawValue.utf8)
    let row = try #require(try store.rows(\.records).first { Array($0.key.dropFirst(4)) == key })
    #expect(row.key.count == 36)
    var unpacked = try unpackedRow(row.value)
    // The greatest number of three bytes, as of a hundred thousand records.
    unpacked.replaceSubrange(2..<6, with: [0xff, 0xff, 0x1f, 0])
    return (36 + unpacked.count, 36 + (packedRow(unpacked) ?? unpacked).count)
  }

  private let fields: [Name] = ["a", "b", "c", "d"]

  /// Creates a record, and sets all of its fields.
  private func create(
    _ name: String, type: Name = "note", fields: [Name]? = nil, _ tx: inout WriteTransaction
  ) throws {
    try tx.create(record(name), type: type)
    for field in fields ?? self.fields { try tx.set(field, of: record(name), to: value) }
  }

  @Test("four fields of 32 bytes by one transaction: at most 190 with the key")
  func oneTransaction() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try create("one", &tx)
    }
    // Many records by one transaction.
    try await store.write { tx in
      for number in 0..<300 {
        try create("many\(number)", &tx)
      }
    }
    let (one, many) = try (bytes(store, "one"), bytes(store, "many299"))
    print("bytes of a record: \(one) by a transaction, \(many) with others by one")
    #expect(one.after <= 187 && many.after <= 188)
  }

  @Test("fields that another type has first, and fields that are set in another order")
  func otherOrders() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try create("one", &tx)
      try create("task", type: "task", &tx)
      try create("back", fields: fields.reversed(), &tx)
    }
    let (task, back) = try (bytes(store, "task"), bytes(store, "back"))
    print("bytes of a record: \(task) of a second type, \(back) set in reverse")
    #expect(task.after <= 190 && back.after <= 195)
  }

  @Test("fields by four transactions, contested fields, a counter and a list")
  func others() async throws {
    let store = try await makeStore()
    try await store.write { try $0.create(record("four"), type: "note") }
    for field in fields { try await store.write { try $0.set(field, of: record("four"), to: value) } }
    try await store.write { tx in
      try tx.create(record("counter"), type: "note")
      try tx.add(5, to: "count", of: record("counter"))
      try tx.create(record("list"), type: "note")
      try tx.insertElements([1, 2, 3], at: 0, in: "list", of: record("list"))
    }
    let found = try ["four", "counter", "list"].map { try bytes(store, $0) }
    print("bytes of a record: \(found[0]) by four transactions, \(found[1]) a counter, \(found[2]) a list")
    // One of them is the number of the stamp that created the record.
    #expect(found[0].after <= 213)
    #expect(found[1].after <= 60)
    #expect(found[2].after <= 80)
    #expect(found.allSatisfy { $0.after < $0.before })
  }
}
