import EventStore
import OperationFormat
import Replicator

extension SimulationFacts {
  /// Makes the next segment of a replica of a newer version: it has seen the whole log, and writes operations
  /// of kinds that no store here knows beside some that all know.
  func makeNewerSegment(
    for life: ZoneFacts, wall: Int64, _ choices: inout SimulationChoices
  ) throws -> PackedSegment {
    let replica = ReplicaID(rawValue: 0xfeed)
    let last = life.last(of: replica, 1)
    let incarnation = life.incarnation!
    let offset = UInt64(life.segments.count)
    let chain = life.chain
    var transactions: [[UInt8]] = []
    for index in 0..<UInt64(choices.next(in: 1...3)) {
      let made = LogTransaction(
        replica: replica, epoch: 1, sequence: last.sequence + 1 + index, zone: life.zone,
        base: offset == 0 ? nil : Base(incarnation: incarnation, offset: offset),
        timestamp: Timestamp(milliseconds: UInt64(wall), counter: UInt16(index)),
        operations: Self.newerOperations(&choices))
      let bytes = try made.encoded()
      _ = try life.add(made, bytes: bytes)
      transactions.append(bytes)
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation, baseProof: { _ in chain.hash }, previousHash: last.hash)
    return try SegmentPacker.pack(SegmentCut(header: header, isStored: false, transactions: transactions))
  }

  private static let firstUnknownKind = OperationKind.lastKnown.rawValue + 1

  private static func newerOperations(_ choices: inout SimulationChoices) -> [LogOperation] {
    (0..<choices.next(in: 1...4)).map { _ in
      if choices.next(below: 3) == 2 {
        return .set(
          record: "newer", type: "newer", field: choices.pick(["f0", "f1"]),
          value: .int(Int64(choices.next(below: 9))))
      }
      let payload = (0..<choices.next(below: 20)).map { _ in UInt8(choices.next(below: 256)) }
      return .unknown(kind: max(UInt64(choices.next(in: 4...200)), Self.firstUnknownKind), payload: payload)
    }
  }
}
