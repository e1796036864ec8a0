public import OperationFormat

/// Why a segment of a remote log is invalid for every replica.
///
/// Every replica comes to the same answer, so all reject the segment at its offset, fold nothing of it, and
/// read on. The rule is a part of the format. It depends only on the log up to the segment: never on a clock,
/// on what is pending here, or on how long something takes. The raw values are stored.
public enum SegmentRejection: UInt8, Hashable, Sendable, CaseIterable {
  /// Its sequences do not follow its writer's last one in the log.
  case hole = 1
  /// It claims to have seen an entry that is not before it, or not the one that is there; or one of its
  /// transactions has seen less of the log than the transaction before it in its lane, or than its parent.
  case base = 2
  /// A transaction names a parent that it may not name, or one that is not before it in the log; or its lane
  /// would continue more than `Limits.lineageMax` others.
  case parent = 3
  /// It follows another segment of its writer than the one in the log.
  case previous = 4
  /// Its content is not what its header says, or is not a sequence of transactions.
  case content = 5
  /// The log has other bytes for some of its sequences.
  case fork = 6
  /// An earlier segment of its writer was rejected, and that closed the writer's lane.
  case laneClosed = 7
  /// Folding it would take more steps than a segment may: see `Limits.foldStepsMax`.
  case work = 8
  /// It was written after another log than the one before it: see `LogChain`.
  case chain = 9
}

extension SegmentRejection: CustomStringConvertible {
  public var description: String {
    switch self {
    case .hole: "its sequences do not follow its writer's last one in the log"
    case .base: "it claims to have seen what is not before it, or less than what it follows had seen"
    case .parent: "it names a parent that is not before it, or continues too many lanes"
    case .previous: "it follows another segment than its writer's last one in the log"
    case .content: "its content is malformed"
    case .fork: "the log has other content under its sequences"
    case .laneClosed: "an earlier segment of its writer was rejected"
    case .work: "it is more work than a segment may be"
    case .chain: "it was written after another log than the one before it"
    }
  }
}

/// A segment that every replica rejects.
public struct RejectedSegment: Hashable, Sendable {
  /// Where it is in the zone's remote log, from 1.
  public let offset: UInt64
  /// Who wrote it, as its header says.
  public let writer: StoreIdentity
  /// The sequences of its transactions, as its header says.
  public let sequences: ClosedRange<UInt64>
  /// The hash of its content.
  public let hash: ContentHash
  /// The rule that it breaks.
  public let reason: SegmentRejection
}

extension StoreError {
  /// The error of an invalid segment. ``rejection`` reads the reason back.
  static func rejected(
    _ reason: SegmentRejection, _ code: Code, _ message: String
  ) -> StoreError {
    StoreError(
      code, message, hint: "every replica rejects the segment; its writer ships again what was in it",
      underlying: RejectionReason(reason: reason))
  }

  /// Why every replica rejects the segment; nil for an error of another kind.
  package var rejection: SegmentRejection? { (underlying as? RejectionReason)?.reason }
}

private struct RejectionReason: Error {
  var reason: SegmentRejection
}
