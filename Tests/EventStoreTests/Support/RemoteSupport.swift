import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

let testIncarnation = IncarnationID(rawValue: 0xABC)

/// A zone's remote log in memory, for any number of stores.
struct TestRemote {
  var zone = noteZone
  var incarnation = testIncarnation
  private(set) var segments: [RemoteSegment] = []

  var last: UInt64 { UInt64(segments.count) }

  /// Appends a segment, and returns the remote's description of it.
  ///
  /// - Parameter isAsWritten: whether it has the hash that a store gives it.
  mutating func append(
    _ transactions: [LogTransaction], receivedMilliseconds: UInt64? = nil, limit: UInt64? = nil,
    isAsWritten: Bool = false
  ) throws -> RemoteSegment {
    let bytes = try transactions.map { try $0.encoded() }
    var hasher = ContentHasher()
    for transaction in bytes { hasher.update(transaction.span.bytes) }
    var segment = RemoteSegment(
      zone: zone, incarnation: incarnation, offset: last + 1,
      hash: isAsWritten ? SegmentHeader.contentHash(of: bytes) : hasher.finish(),
      receivedMilliseconds: receivedMilliseconds, transactions: bytes)
    segment.limit = limit
    segments.append(segment)
    return segment
  }

  /// Sends the first pending transactions of a store; returns the acknowledgement, or nil if nothing is
  /// pending.
  mutating func ship(
    _ store: LocalStore, limit: Int = .max, receivedMilliseconds: UInt64? = nil
  ) throws -> Acknowledgement? {
    let zone = zone
    let pending = try store.read { try $0.pending(in: zone).map(\.transaction) }
    // A segment has only one lane.
    let transactions = pending.filter { $0.replica == pending[0].replica && $0.epoch == pending[0].epoch }
      .prefix(limit).map { $0 }
    guard let first = transactions.first, let last = transactions.last else { return nil }
    let segment = try append(transactions, receivedMilliseconds: receivedMilliseconds)
    return Acknowledgement(
      zone: zone, incarnation: incarnation, offset: segment.offset, hash: segment.hash,
      receivedMilliseconds: receivedMilliseconds, sequences: first.sequence...last.sequence,
      writer: StoreIdentity(replica: first.replica, epoch: first.epoch))
  }

  /// Sends the next cut of a store, as a replicator does; returns the acknowledgement, or nil if nothing is
  /// pending.
  mutating func shipCut(
    _ store: LocalStore, receivedMilliseconds: UInt64? = nil
  ) async throws -> Acknowledgement? {
    guard let cut = try store.nextCut(of: zone) else { return nil }
    let header = try await store.storeCut(cut.header)
    segments.append(
      RemoteSegment(
        zone: zone, incarnation: incarnation, offset: last + 1, hash: header.contentHash,
        receivedMilliseconds: receivedMilliseconds, base: header.base, baseProof: header.baseProof,
        previousHash: header.previousHash, transactions: cut.transactions))
    return Acknowledgement(
      zone: zone, incarnation: incarnation, offset: last, hash: header.contentHash,
      receivedMilliseconds: receivedMilliseconds, sequences: header.sequences,
      writer: StoreIdentity(replica: header.replica, epoch: header.epoch))
  }

  /// The segments that the store has not folded yet, at most `limit`.
  func news(for store: LocalStore, limit: Int = .max) throws -> [RemoteSegment] {
    let zone = zone
    let token = try store.read { try $0.token(of: zone) }?.offset ?? 0
    return Array(segments.dropFirst(Int(token)).prefix(limit))
  }
}

/// A transaction of a replica that is not a store of this test.
func transaction(
  _ replica: UInt128, _ sequence: UInt64, base offset: UInt64? = nil, at milliseconds: UInt64 = 1_000_000,
  zone: ZoneID = noteZone, _ operations: [LogOperation]
) -> LogTransaction {
  LogTransaction(
    replica: ReplicaID(rawValue: replica), epoch: 0, sequence: sequence, zone: zone,
    base: offset.map { Base(incarnation: testIncarnation, offset: $0) },
    timestamp: Timestamp(milliseconds: milliseconds, counter: 0), operations: operations)
}

func create(_ record: Name, type: Name = "note") -> LogOperation { .create(record: record, type: type) }

func set(_ record: Name, _ field: Name, _ value: Value, type: Name = "note") -> LogOperation {
  .set(record: record, type: type, field: field, value: value)
}

extension LocalStore {
  func heads(_ field: Name, _ record: RecordID) throws -> [Value] {
    try read { tx in
      try tx.heads(of: field, in: record).map { head in
        guard case .value(let value) = head.content else { return .null }
        return value
      }
    }
  }

  /// Creates a zone that is synced with the incarnation of the tests.
  func makeAttachedZone(_ zone: ZoneID = noteZone, _ incarnation: IncarnationID = testIncarnation)
    async throws
  {
    try await write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    try await adopt(zone, incarnation)
  }

  /// The store's sync state of a zone; nil if it has no such zone.
  func sync(_ zone: ZoneID = noteZone) throws -> ZoneSyncState? {
    try syncState().zones.first { $0.zone == zone }
  }

  func makeZone(_ zone: ZoneID = noteZone) async throws {
    try await write { _ = try $0.createZone(zone) }
  }
}

extension LocalStore {
  /// Stores a cut of a zone of this store's user: the header names no owner.
  func storeCut(_ header: SegmentHeader) async throws -> SegmentHeader {
    try await storeCut(header, of: header.zone)
  }
}
