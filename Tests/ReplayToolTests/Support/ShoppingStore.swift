import EventStore
import OperationFormat
import StoreTesting

/// A small store with a history of three replicas that had not always seen each other.
///
/// ann is the store's own replica. Her first writes are at offset 1 of the remote log. Then bob, at offset 2,
/// and ann, who has not sent it, both change the title of the milk, and one of them deletes the bread. carol,
/// at offset 3, whose clock is in the year 2099, changes the amount of milk, which bob had changed too.
struct ShoppingStore {
  /// 2026-01-31T09:00:00.000Z.
  static let start: Int64 = 1_769_850_000_000
  static let zone = ZoneID(name: "shopping")
  static let milk = RecordID(zone: zone, name: "milk")
  static let bread = RecordID(zone: zone, name: "bread")
  static let incarnation = IncarnationID(rawValue: 0x77aa_0000_0000_0000_0000_0000_0000_0001)
  static let bob = ReplicaID(rawValue: 0x9c1f_03aa_0000_0000_0000_0000_0000_0002)
  static let carol = ReplicaID(rawValue: 0xca70_1000_0000_0000_0000_0000_0000_0003)

  let temporary = TemporaryDirectory()
  var path: String { temporary.path + "/store" }

  /// Makes the store, and closes it.
  init() async throws {
    let clock = TestClock(Self.start)
    let store = try Self.open(path, clock)
    defer { store.close() }
    try await store.write { tx in
      tx.author = "ann"
      tx.label = "Shopping for the weekend"
      try tx.createZone(Self.zone)
      try tx.create(Self.milk, type: "item", fields: ["title": "Milk", "amount": 1])
      try tx.create(Self.bread, type: "item", fields: ["title": "Bread"])
    }
    _ = try await store.acknowledge(
      Acknowledgement(
        zone: Self.zone, incarnation: Self.incarnation, offset: 1, hash: Self.hash(1),
        receivedMilliseconds: UInt64(Self.start + 500), sequences: 1...1))
    clock.milliseconds = Self.start + 62_100
    try await store.write { tx in
      tx.author = "ann"
      tx.label = "Rename"
      try tx.set("title", of: Self.milk, to: "Buy milk")
      try tx.delete(Self.bread)
    }
    clock.milliseconds = Self.start + 120_000
    _ = try await store.ingest([
      Self.segment(
        2,
        Self.transaction(
          Self.bob, at: Self.start + 60_000, author: "bob", base: 1,
          [
            .set(record: "milk", type: "item", field: "title", value: "Oat milk"),
            .set(record: "milk", type: "item", field: "amount", value: .decimal(DecimalNumber("1.5")!)),
            .set(record: "bread", type: "item", field: "title", value: "Rye bread"),
          ])),
      Self.segment(
        3,
        Self.transaction(
          Self.carol, at: 4_070_908_800_000, author: nil, base: 1,
          [.set(record: "milk", type: "item", field: "amount", value: 3)])),
    ])
  }

  /// Opens a store, or creates one.
  ///
  /// - Parameter bits: the source of its random bits; nil for the same bits each time.
  static func open(
    _ path: String, _ clock: TestClock = TestClock(start + 3_600_000), _ bits: SharedBits? = nil,
    noticesCopies: Bool = true
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.noticesCopies = noticesCopies
    configuration.wallMilliseconds = { clock.milliseconds }
    configuration.makeRandom = { bits?.next() ?? 0x3f2a_1b4c_0000_0001 }
    configuration.isUnsynced = true
    return try LocalStore(directory: path, durability: .consistent, configuration: configuration)
  }

  private static func transaction(
    _ replica: ReplicaID, at milliseconds: Int64, author: String?, base: UInt64, _ operations: [LogOperation]
  ) -> LogTransaction {
    LogTransaction(
      replica: replica, epoch: 0, sequence: 1, zone: zone, base: Base(incarnation: incarnation, offset: base),
      timestamp: Timestamp(milliseconds: UInt64(milliseconds), counter: 0), author: author,
      operations: operations)
  }

  private static func segment(_ offset: UInt64, _ transaction: LogTransaction) throws -> RemoteSegment {
    RemoteSegment(
      zone: zone, incarnation: incarnation, offset: offset, hash: hash(offset),
      receivedMilliseconds: UInt64(start + 100_000), transactions: [try transaction.encoded()])
  }

  private static func hash(_ offset: UInt64) -> ContentHash {
    ContentHash(of: [UInt8(offset)].span.bytes)
  }
}
