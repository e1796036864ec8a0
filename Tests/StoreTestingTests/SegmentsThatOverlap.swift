import EventStore
import OperationFormat
import StoreTesting
import Testing

/// Two copies of a store offer the same transactions in segments of different cuts. Each transaction then has
/// two offsets, of which the first counts. `FoldCheck` tests the fold for that; this tests the store around
/// it.
@Suite("Segments that overlap")
struct SegmentsThatOverlap {
  let directory = TemporaryDirectory()
  let zone = ZoneID(name: "notes")
  let incarnation = IncarnationID(rawValue: 1)
  var note: RecordID { RecordID(zone: zone, name: "note") }

  private func makeStore(wallMilliseconds: Int64 = 1_750_000_000_000) async throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { wallMilliseconds }
    let store = try LocalStore(
      directory: directory.path + "/store", durability: .consistent, configuration: configuration)
    try await store.write { tx in _ = try tx.createZone(zone) }
    return store
  }

  private func segment(
    _ offset: UInt64, _ transactions: [[UInt8]], receivedMilliseconds: UInt64? = nil
  ) -> RemoteSegment {
    RemoteSegment(
      zone: zone, incarnation: incarnation, offset: offset, hash: hash(offset),
      receivedMilliseconds: receivedMilliseconds, transactions: transactions)
  }

  private func hash(_ offset: UInt64) -> ContentHash {
    let bytes = [UInt8](repeating: UInt8(offset), count: ContentHash.byteCount)
    return ContentHash(bytes: bytes.span.bytes)!
  }

  /// Another replica's first transaction, which has seen the log up to an offset.
  private func transaction(base: UInt64, title: Value) throws -> [UInt8] {
    try LogTransaction(
      replica: ReplicaID(rawValue: 7), epoch: 1, sequence: 1, zone: zone,
      base: Base(incarnation: incarnation, offset: base),
      timestamp: Timestamp(milliseconds: 1, counter: 0),
      operations: [.set(record: note.name, type: "note", field: "title", value: title)]
    ).encoded()
  }

  @Test(
    "a transaction's place is its first, also if a later place was acknowledged before the first was fetched")
  func firstPlaceCounts() async throws {
    let store = try await makeStore()
    try await store.write { tx in try tx.create(note, type: "note", fields: ["title": "ours"]) }
    let ours = try store.read { tx in
      try tx.bytes(at: try tx.pending(in: zone)[0].position)
    }
    // A copy of this store had sent it at offset 1, another replica answered at offset 2, and ours is at 3.
    let answer = try transaction(base: 1, title: "answer")
    _ = try await store.acknowledge(
      Acknowledgement(
        zone: zone, incarnation: incarnation, offset: 3, hash: hash(3), receivedMilliseconds: nil,
        sequences: 1...1))
    _ = try await store.ingest([segment(1, [ours]), segment(2, [answer]), segment(3, [ours])])
    let titles = try store.read { tx in try tx.heads(of: "title", in: note).map(\.content) }
    #expect(titles == [.value("answer")])
    let place = try store.read { tx in
      try tx.placement(of: try tx.entry(at: Position(rawValue: 1)).transaction.id, in: zone)?.offset
    }
    #expect(place == 1)
    let verification = try store.verify()
    #expect(verification.problems == [])
  }

  @Test("of an acknowledged run, only transactions that were at an earlier offset move there")
  func runIsSplit() async throws {
    let store = try await makeStore()
    for number in 1...5 {
      try await store.write { tx in
        if number == 1 { try tx.create(note, type: "note") }
        try tx.set("title", of: note, to: .int(Int64(number)))
      }
    }
    let entries = try store.read { tx in try tx.pending(in: zone) }
    let bytes = try store.read { tx in try entries.map { try tx.bytes(at: $0.position) } }
    _ = try await store.acknowledge(
      Acknowledgement(
        zone: zone, incarnation: incarnation, offset: 4, hash: hash(4), receivedMilliseconds: nil,
        sequences: 1...5))
    let segments = [
      segment(1, [bytes[0]]), segment(2, [bytes[1], bytes[2]]), segment(3, Array(bytes[1...3])),
    ]
    _ = try await store.ingest(segments)
    let places = try store.read { tx in
      try entries.map { try tx.placement(of: $0.transaction.id, in: zone)?.offset }
    }
    #expect(places == [1, 2, 2, 3, 4])
    let verification = try store.verify()
    #expect(verification.problems == [])
  }

  @Test("the time of receipt at the first place counts, also if that of a later place was known before")
  func firstReceiptCounts() async throws {
    let store = try await makeStore(wallMilliseconds: 4_000_000_000_000)
    try await store.write { tx in try tx.create(note, type: "note", fields: ["title": "ours"]) }
    let ours = try store.read { tx in
      try tx.bytes(at: try tx.pending(in: zone)[0].position)
    }
    _ = try await store.acknowledge(
      Acknowledgement(
        zone: zone, incarnation: incarnation, offset: 2, hash: hash(2), receivedMilliseconds: 2_000_000,
        sequences: 1...1))
    _ = try await store.ingest([segment(1, [ours], receivedMilliseconds: 1_000_000)])
    let timestamps = try store.read { tx in
      try tx.heads(of: "title", in: note).map(\.timestamp.milliseconds)
    }
    #expect(timestamps == [1_300_000])
    let verification = try store.verify()
    #expect(verification.problems == [])
  }
}
