import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("The greatest numbers in a segment")
struct NumbersFromOutside {
  /// Makes a segment of transactions with these sequences.
  private func segment(
    _ incarnation: IncarnationID, _ replica: ReplicaID, _ sequences: ClosedRange<UInt64>, epoch: UInt32 = 0,
    base: Base? = nil, parent: TransactionID? = nil
  ) throws -> PackedSegment {
    let transactions = try sequences.map { sequence in
      try LogTransaction(
        replica: replica, epoch: epoch, sequence: sequence, zone: zone, base: base, parent: parent,
        timestamp: Timestamp(rawValue: 1_700_000_000_000 << 16),
        operations: [.set(record: "record", type: "note", field: "title", value: 1)]
      ).encoded()
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation, baseProof: { _ in ContentHash(of: [1].span.bytes) },
      previousHash: .zero)
    return try SegmentPacker.pack(SegmentCut(header: header, isStored: false, transactions: transactions))
  }

  @Test(
    "Every replica rejects such a segment, the audit reports it, and all continue",
    arguments: [UInt64.max, UInt64.max - 1, 1 << 63, UInt64(Int64.max)] as [UInt64])
  func greatest(last: UInt64) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "record", to: "first")
    try await settle(devices, remote)
    let state = try devices[0].store.syncState()
    let incarnation = try #require(state.zones.first?.token).incarnation
    let other = IncarnationID(rawValue: 1234)
    func replica(_ number: UInt128) -> ReplicaID { ReplicaID(rawValue: number) }
    let segments = [
      try segment(incarnation, replica(70), last...last),
      try segment(incarnation, replica(70), 1...1),
      try segment(incarnation, replica(71), last - 2...last),
      try segment(incarnation, replica(72), 1...1, base: Base(incarnation: incarnation, offset: last)),
      try segment(incarnation, replica(73), 1...1, base: Base(incarnation: other, offset: last)),
      try segment(
        incarnation, replica(74), 1...1,
        parent: TransactionID(replica: state.identity.replica, epoch: 0, sequence: last)),
      try segment(incarnation, state.identity.replica, last...last),
      try segment(incarnation, replica(75), last...last, epoch: .max),
    ]
    var offset: UInt64 = 1
    for segment in segments {
      guard case .appended(let place) = try await remote.append(segment, after: offset) else {
        Issue.record("not appended")
        return
      }
      offset = place.offset
    }
    let audit = try await RemoteAudit(of: remote, objects: try await remote.objects.list())
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    let left = [2, 3, 4, 5, 7, 8, 9] as [UInt64]
    let leftOut = audit.logs[0].consequences.map(\.place)
    #expect(leftOut == left.map { "\(ObjectName.entry(of: incarnation, $0))" })
    for device in devices {
      let report = try await device.sync(remote)
      #expect(report.isInSync && report.rejectedSegments == 7, "\(report)")
      try await device.set("title", of: "record", to: "later")
      try await device.sync(remote)
    }
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await settle(devices + [new], remote)
    let rejected = try new.store.read { try $0.rejectedSegments(in: zone) }
    #expect(rejected.map(\.offset) == left)
    for device in devices + [new] {
      #expect(try device.digests() == new.digests() && device.pending() == 0)
      #expect(try device.store.read { try $0.rejectedSegments(in: zone) } == rejected)
      #expect(try device.store.verify().isSound)
      device.store.close()
    }
  }
}
