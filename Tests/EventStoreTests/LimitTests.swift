import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Input at its limits")
struct LimitTests {
  let directory = TemporaryDirectory()

  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("first"), type: "note", fields: ["title": "Hello"])
    }
    return store
  }

  /// Expects a write to fail with a code, or with nil to succeed; a failed write must change nothing.
  private func expect(
    _ expected: StoreError.Code?, _ store: LocalStore, _ comment: Comment,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) async throws {
    let before = try store.readView()
    let found = await awaitedCode { try await store.write(body) }
    #expect(found == expected, comment, sourceLocation: sourceLocation)
    guard expected != nil else { return }
    let after = try store.readView()
    #expect(after == before, comment, sourceLocation: sourceLocation)
  }

  private static func text(_ count: Int) -> Name { Name(String(repeating: "x", count: count)) }

  @Test("names of zones, owners, types and fields have 1 to 128 bytes")
  func shortNames() async throws {
    let store = try await makeStore()
    for (count, isValid) in [(0, false), (1, true), (128, true), (129, false), (255, false), (10_000, false)]
    {
      let name = Self.text(count)
      let expected: StoreError.Code? = isValid ? nil : .nameInvalid
      try await expect(expected, store, "zone of \(count)") { try $0.createZone(ZoneID(name: name)) }
      try await expect(count == 0 ? nil : expected, store, "owner of \(count)") {
        try $0.createZone(ZoneID(owner: name, name: "z"))
      }
      try await expect(expected, store, "type of \(count)") {
        try $0.create(note("typed\(count)"), type: name)
      }
      try await expect(expected, store, "field of \(count)") { try $0.set(name, of: note("first"), to: 1) }
      let policy = await awaitedCode { try await store.setExistencePolicy(.updateWins, of: name) }
      #expect(policy == expected)
      let read = code { try store.read { _ = try $0.existencePolicy(of: name) } }
      #expect(read == nil)
      let value = try store.value(name, note("first"))
      #expect(value == (isValid ? 1 : nil))
    }
    try await checkSound(store)
  }

  @Test("names of records have 1 to 255 bytes")
  func recordNames() async throws {
    let store = try await makeStore()
    for (count, isValid) in [(0, false), (1, true), (255, true), (256, false), (261, false), (10_000, false)]
    {
      let id = RecordID(zone: noteZone, name: Self.text(count))
      try await expect(isValid ? nil : .nameInvalid, store, "create \(count)") {
        try $0.create(id, type: "note")
      }
      try await expect(isValid ? nil : .recordUnknown, store, "set \(count)") {
        try $0.set("f", of: id, to: 1)
      }
      try await expect(isValid ? nil : .recordUnknown, store, "delete \(count)") { try $0.delete(id) }
      try await expect(nil, store, "read \(count)") { tx in
        let isThere = try tx.contains(id)
        let value = try tx.value(of: "f", in: id)
        #expect(!isThere && value == nil)
      }
      let found = try store.read { try $0.record(id) }
      #expect(found == nil)
    }
    try await checkSound(store)
  }

  @Test("unknown zones, records and positions are named as such")
  func unknown() async throws {
    let store = try await makeStore()
    for name in ["absent", String(repeating: "z", count: 300)] {
      let zone = ZoneID(name: Name(name))
      let owned = ZoneID(owner: Name(name), name: "z")
      for zone in [zone, owned] {
        let record = RecordID(zone: zone, name: "r")
        try await expect(.zoneUnknown, store, "create") { try $0.create(record, type: "t") }
        try await expect(.zoneUnknown, store, "set") { try $0.set("f", of: record, to: 1) }
        try await expect(.zoneUnknown, store, "delete") { try $0.delete(record) }
        try await expect(.zoneUnknown, store, "contains") { _ = try $0.contains(record) }
        let codes = [
          code { _ = try store.read { try $0.record(record) } },
          code { _ = try store.read { try $0.records(in: zone) } },
          code { _ = try store.read { try $0.digest(of: zone) } },
          code { _ = try store.read { try $0.pendingCount(in: zone) } },
          code { _ = try store.read { try $0.token(of: zone) } },
          code { try store.read { try $0.history(zone: zone) { _ in true } } },
        ]
        #expect(codes == Array(repeating: .zoneUnknown, count: codes.count))
      }
    }
    try await expect(.recordUnknown, store, "clear") { try $0.clear("f", of: note("absent")) }
    try await expect(.recordExists, store, "create twice") { try $0.create(note("first"), type: "note") }
    for raw in [0, 2, UInt64.max] {
      let position = Position(rawValue: raw)
      let entry = code { _ = try store.read { try $0.entry(at: position) } }
      #expect(entry == .positionUnknown)
      let past = code { _ = try store.snapshotBlockingThisThread(at: position) }
      #expect(past == (raw == 0 ? nil : .positionUnknown))
      try store.read { tx in
        var count = 0
        try tx.history(after: position) { _ in
          count += 1
          return true
        }
        #expect(count == (raw == 0 ? 1 : 0))
      }
    }
    let loser = OperationID(
      transaction: TransactionID(replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 1), index: 0)
    try await expect(.conflictUnknown, store, "restore") {
      try $0.restore(loser, in: "title", of: note("first"))
    }
  }

  @Test("canonically equal names are different names")
  func unicode() async throws {
    let store = try await makeStore()
    let names = ["\u{e9}", "e\u{301}"]
    for (number, name) in names.enumerated() {
      try await store.write { tx in
        let zone = ZoneID(name: Name(name))
        try tx.createZone(zone)
        try tx.create(RecordID(zone: zone, name: "r"), type: "t")
        try tx.create(note(name), type: Name(name), fields: [Name(name): .int(Int64(number))])
      }
    }
    let zones = try store.read { try $0.zones() }
    #expect(zones.count == 3)
    for (number, name) in names.enumerated() {
      let record = try store.read { try $0.record(note(name)) }
      #expect(record?.fields == [Name(name): .int(Int64(number))])
      #expect(record?.type == Name(name))
      let other = try store.value(Name(names[1 - number]), note(name))
      #expect(other == nil)
    }
    try await checkSound(store)
  }

  @Test("values are at most 32 deep and 1 MiB large")
  func values() async throws {
    let store = try await makeStore()
    func nested(_ depth: Int) -> Value {
      var value = Value.int(1)
      for _ in 1..<depth { value = .array([value]) }
      return value
    }
    for (depth, expected) in [(32, nil), (33, StoreError.Code.valueInvalid), (5000, .valueInvalid)] {
      let value = nested(depth)
      try await expect(expected, store, "depth \(depth)") { try $0.set("deep", of: note("first"), to: value) }
    }
    // A tag and a length of three bytes precede the bytes.
    let most = (1 << 20) - 4
    for (count, expected) in [
      (most, nil), (most + 1, StoreError.Code.valueInvalid), (most + 2, .valueInvalid),
    ] {
      let value = Value.bytes([UInt8](repeating: 3, count: count))
      try await expect(expected, store, "\(count) bytes") {
        try $0.set("large", of: note("first"), to: value)
      }
    }
    let large = try store.value("large", note("first"))
    #expect(large == .bytes([UInt8](repeating: 3, count: most)))
    try await checkSound(store)
  }

  @Test("an author has at most 255 bytes, a label 1,024")
  func texts() async throws {
    let store = try await makeStore()
    for (count, expected) in [(255, nil), (256, StoreError.Code.valueInvalid)] {
      try await expect(expected, store, "author of \(count)") { tx in
        tx.author = String(repeating: "a", count: count)
        try tx.set("f", of: note("first"), to: 1)
      }
    }
    for (count, expected) in [(1024, nil), (1025, StoreError.Code.valueInvalid)] {
      try await expect(expected, store, "label of \(count)") { tx in
        tx.label = String(repeating: "a", count: count)
        try tx.set("f", of: note("first"), to: 1)
      }
    }
    try checkContiguous(store)
  }

  @Test("a transaction has at most 49,152 steps of work, two for each set; each zone is counted separately")
  func operations() async throws {
    let store = try await makeStore()
    let other = RecordID(zone: ZoneID(name: "other"), name: "r")
    try await expect(nil, store, "24,576 and one in another zone") { tx in
      try tx.createZone(other.zone)
      try tx.create(other, type: "t")
      for number in 0..<24_576 { try tx.set("f", of: note("first"), to: .int(Int64(number))) }
      let more = code { try tx.set("f", of: note("first"), to: 0) }
      #expect(more == .transactionTooLarge)
      let another = code { try tx.delete(note("first")) }
      #expect(another == .transactionTooLarge)
    }
    let count = try store.entries().last?.transaction.operations.count
    #expect(count == 24_576)
    let value = try store.value("f", note("first"))
    #expect(value == 24_575)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("a transaction creates one record again at most 11 times: each time visits all fields")
  func makingAgain() async throws {
    let store = try await makeStore()
    try await expect(.transactionTooLarge, store, "12 times") { tx in
      for _ in 0...12 {
        try tx.create(note("again"), type: "t")
        try tx.delete(note("again"))
      }
    }
    try await expect(nil, store, "11 times") { tx in
      for _ in 0...11 {
        try tx.create(note("again"), type: "t")
        try tx.delete(note("again"))
      }
    }
    try checkContiguous(store)
  }

  @Test("a transaction has at most 8 MiB")
  func bytes() async throws {
    let store = try await makeStore()
    let value = Value.bytes([UInt8](repeating: 5, count: (1 << 20) - 4))
    try await expect(.transactionTooLarge, store, "over 8 MiB") { tx in
      for number in 0..<8 { try tx.set(Name("f\(number)"), of: note("first"), to: value) }
    }
    // As much as is left for the last value.
    try await expect(nil, store, "just below") { tx in
      for number in 0..<7 { try tx.set(Name("f\(number)"), of: note("first"), to: value) }
      try tx.set("f7", of: note("first"), to: .bytes([UInt8](repeating: 5, count: (1 << 20) - 4096)))
    }
    let bytes = try store.read { try $0.bytes(at: try $0.lastPosition()).count }
    #expect(bytes <= Limits.transactionBytesMax && bytes > Limits.transactionBytesMax - 8192)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("prints how many bytes one set takes")
  func prints() async throws {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      let fields: [Name: Value] = ["title": "Groceries", "done": false, "count": 3, "body": .bytes([])]
      try tx.create(note("first"), type: "note", fields: fields)
    }
    try await store.write {
      try $0.set("body", of: note("first"), to: .bytes([UInt8](repeating: 1, count: 32)))
    }
    let log = try store.rows(\.log).last!
    let record = try store.rows(\.records).last!
    let sequence = try store.rows(\.sequences).last!
    print(
      "bytes: a record of 4 fields and a set of 32 bytes in it: log row \(log.key.count) + \(log.value.count), "
        + "record row \(record.key.count) + \(record.value.count), "
        + "sequence row \(sequence.key.count) + \(sequence.value.count) (key + value)")
    #expect(log.value.count < 160)
    #expect(record.value.count < 256)
  }
}
