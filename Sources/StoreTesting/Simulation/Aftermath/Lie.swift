import EventStore
import OperationFormat
import Replicator

/// What a lying peer writes that no replica would.
enum Lie: CaseIterable {
  /// A parent where none may be: it would change what earlier transactions had seen.
  case lateParent
  /// A parent that nobody has: the victim would count its own pending transactions as seen, and nobody else.
  case absentParent
  /// Sequences that do not begin at 1.
  case hole
  /// It has seen what is not there.
  case base
  /// It has seen the log, and then nothing of it.
  case baseGoesBack
  /// It continues a lane that has seen the log, and has seen nothing of it itself.
  case lessThanParent
  /// More lanes than a lineage may have, each of which continues the one before.
  case longLineage
  /// Next sequences of the victim's, with other content.
  case victimsNext
  /// Later sequences of the victim's, which close its lane.
  case victimsHole
  /// Kinds of operations that nobody has, and one of the next version.
  case inventedKinds
}

extension Lie {
  /// The segments that the peer ships, one after the other.
  ///
  /// - Parameters:
  ///   - victim: an identity of another device.
  ///   - next: the victim's next sequence.
  ///   - token: where the log ends.
  ///   - seed: determines the peer's identity.
  func segments(
    against victim: StoreIdentity, next: UInt64, _ token: ChangeToken, seed: UInt64
  ) throws -> [PackedSegment] {
    var random = SeededRandom(seed: seed)
    let liar = ReplicaID(rawValue: UInt128(random.next()) << 64 | 0xBAD)
    func transaction(
      _ sequence: UInt64, of replica: ReplicaID? = nil, epoch: UInt32 = 0, parent: UInt64? = nil,
      base: UInt64? = nil, continuing identity: StoreIdentity? = nil, _ operations: [LogOperation]? = nil
    ) -> LogTransaction {
      LogTransaction(
        replica: replica ?? liar, epoch: epoch, sequence: sequence, zone: token.zone,
        base: base.map { Base(incarnation: token.incarnation, offset: $0) },
        parent: parent.map {
          let identity = identity ?? victim
          return TransactionID(replica: identity.replica, epoch: identity.epoch, sequence: $0)
        },
        timestamp: Timestamp(milliseconds: 1000 + sequence, counter: 0),
        operations: operations ?? [
          .set(record: "lie", type: "aftermath", field: "value", value: .string("lie \(sequence)"))
        ])
    }
    switch self {
    case .lateParent:
      let (first, hash) = try pack([transaction(1)], token)
      let later = LogOperation.set(record: "lie", type: "aftermath", field: "late", value: .string("lie"))
      let second = transaction(2, parent: next - 1 + (random.next() & 1), [later])
      return [first, try pack([second], token, hash).0]
    case .absentParent: return [try pack([transaction(1, parent: next)], token).0]
    case .hole: return [try pack([transaction(5)], token).0, try pack([transaction(6)], token).0]
    case .base: return [try pack([transaction(1, base: token.offset + 7)], token).0]
    case .baseGoesBack:
      let (first, hash) = try pack([transaction(1, base: token.offset)], token)
      return [first, try pack([transaction(2)], token, hash).0]
    case .lessThanParent:
      let first = try pack([transaction(1, base: token.offset)], token).0
      let parent = StoreIdentity(replica: liar, epoch: 0)
      return [first, try pack([transaction(1, epoch: 1, parent: 1, continuing: parent)], token).0]
    case .longLineage:
      return try (0..<UInt32(Limits.lineageMax) + 2).map { epoch in
        let before = epoch == 0 ? nil : StoreIdentity(replica: liar, epoch: epoch - 1)
        return try pack(
          [transaction(1, epoch: epoch, parent: before.map { _ in 1 }, continuing: before)], token
        ).0
      }
    case .victimsNext:
      return [try pack([transaction(next, of: victim.replica, epoch: victim.epoch)], token).0]
    case .victimsHole:
      return [try pack([transaction(next + 5, of: victim.replica, epoch: victim.epoch)], token).0]
    case .inventedKinds:
      let kinds = (1000..<1300).map { LogOperation.unknown(kind: $0, payload: []) }
      let nextKind = LogOperation.unknown(kind: OperationKind.lastKnown.next.rawValue, payload: [0])
      let (first, hash) = try pack([transaction(1, kinds)], token)
      return [first, try pack([transaction(2, [nextKind])], token, hash).0]
    }
  }

  private func pack(
    _ transactions: [LogTransaction], _ token: ChangeToken, _ previous: ContentHash = .zero
  ) throws -> (PackedSegment, ContentHash) {
    let bytes = try transactions.map { try $0.encoded() }
    let header = try SegmentHeader.describing(
      bytes, incarnation: token.incarnation, baseProof: { _ in token.chain!.hash }, previousHash: previous)
    let cut = SegmentCut(header: header, isStored: false, transactions: bytes)
    return (try SegmentPacker.pack(cut), header.contentHash)
  }
}

extension OperationKind {
  /// The kind that a next version would take.
  var next: OperationKind { OperationKind(rawValue: rawValue + 1) }
}
