@testable import EventStore
@testable import Replicator

let zone = ZoneID(name: "notes")
let incarnation = IncarnationID(rawValue: 0xA)

func token(_ offset: UInt64, zone: ZoneID = zone) -> ChangeToken {
  ChangeToken(zone: zone, incarnation: incarnation, offset: offset, hash: hash(offset))
}

func hash(_ offset: UInt64) -> ContentHash {
  guard offset > 0 else { return .zero }
  let bytes: [1 of UInt64] = [offset]
  return ContentHash(of: bytes.span.bytes)
}

func zoneState(
  _ attachment: ZoneAttachment = .attached, zone: ZoneID = zone, at offset: UInt64? = 0, pending: UInt64 = 0
) -> ZoneSyncState {
  ZoneSyncState(
    zone: zone, attachment: attachment, token: offset.map { token($0, zone: zone) }, pending: pending)
}

/// A segment whose bytes no test reads.
func packed(_ sequences: ClosedRange<UInt64>, zone: ZoneID = zone) -> PackedSegment {
  PackedSegment(
    header: SegmentHeader(
      zone: zone, incarnation: incarnation, replica: ReplicaID(rawValue: 1), epoch: 0, sequences: sequences,
      base: 0, baseProof: .zero, operationCount: UInt64(sequences.count),
      timestamps: Timestamp(rawValue: 1)...Timestamp(rawValue: 2), unpackedBytes: 10, packedBytes: 10,
      contentHash: hash(sequences.upperBound), previousHash: .zero),
    bytes: [UInt8](repeating: 0, count: 100))
}

func stored(_ offset: UInt64) -> StoredSegment {
  StoredSegment(offset: offset, receivedMilliseconds: nil, bytes: [1, 2, 3])
}

func folded(
  to offset: UInt64, _ transactions: Int = 1, problem: SyncFailure? = nil, zone: ZoneID = zone
) -> ZoneResult {
  var outcome = FoldOutcome(token: token(offset, zone: zone))
  outcome.report.folded = transactions
  outcome.segments = 1
  outcome.bytes = 3
  outcome.problem = problem
  return .folded(outcome)
}

func acknowledged(to offset: UInt64?, zone: ZoneID = zone) -> ZoneResult {
  var report = IngestReport()
  report.token = offset.map { token($0, zone: zone) }
  return .acknowledged(report)
}

func failure(_ code: RemoteError.Code, retryAfterMilliseconds: Int64? = nil) -> SyncFailure {
  SyncFailure(
    RemoteError(
      code, "planned", hint: "none", retryAfterMilliseconds: retryAfterMilliseconds))
}

func page(_ remote: UInt128 = 1, at offset: UInt64, events: [ZoneEvent] = [], hasMore: Bool = false)
  -> ZoneEventPage
{
  ZoneEventPage(
    events: events,
    token: DatabaseToken(remote: RemoteID(rawValue: remote), offset: offset, hash: hash(offset)),
    hasMore: hasMore)
}
