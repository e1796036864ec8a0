public import OperationFormat

/// Why a cell shows what it shows.
public struct Explanation: Hashable, Sendable {
  /// One head of the cell, with the transaction that made it.
  public struct ExplainedHead: Hashable, Sendable {
    public let head: CellHead
    public let entry: LogEntry
    /// What the transaction had seen: the offset up to which its replica had folded the zone. Nil for nothing.
    public let base: Base?
    /// Where the transaction lies in the remote log, nil while it is pending.
    public let placement: Placement?
  }

  /// Why one head is greater than another, neither of which had seen the other.
  public enum Reason: Hashable, Sendable {
    /// Its timestamp is later, by as many milliseconds.
    case laterTimestamp(milliseconds: UInt64)
    /// The timestamps are equal to the millisecond: its counter is greater.
    case laterCounter
    /// The timestamps are equal: its replica's identity is greater.
    case greaterReplica
    /// They are of one replica, in different epochs or transactions that have not seen each other.
    case laterSequence
  }

  /// An operation on the cell that a later one, which had seen it, has replaced or removed.
  public struct Replaced: Hashable, Sendable {
    public let operation: OperationID
    public let entry: LogEntry
    public let content: CellHead.Content
    /// The first operation in the log that replaced it.
    public let replacedBy: OperationID
    /// The position of that operation's transaction.
    public let replacedAt: Position
    /// Whether that operation removed it, and put nothing in its place.
    public let isRemoved: Bool
  }

  /// An operation that removed, replaced or moved some of what a list or a text had.
  public struct Edit: Hashable, Sendable {
    /// What it did to units: elements of a list, Unicode scalars of a text.
    public enum Kind: Hashable, Sendable {
      case removed(units: UInt64)
      case replaced
      case moved
      /// The record was made anew: all that this had seen went.
      case cleared
    }

    public let operation: OperationID
    public let entry: LogEntry
    public let kind: Kind
  }

  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// Which of the field's cells; of a record's existence a register.
  public let kind: FieldKind
  /// Which element of a set, key of a map or unit of a list, as a text; nil for all.
  public let element: Value?
  /// What a counter reads; its heads are what was added.
  public let counter: Counter?
  /// For existence: how the record's type decides between concurrent deletions and updates.
  public let policy: ExistencePolicy?
  /// Whether the record is there.
  public let isVisible: Bool
  /// The record that is not alive, to which cascades lead from one that is alive, and so hide it.
  public let missingTarget: RecordID?
  /// The heads, greatest first: the winner, then the losers; of a set or a map by element; contributions in their order. None of
  /// what is empty, and of an element that is not there.
  public let heads: [ExplainedHead]
  /// For each loser in turn, why the winner is greater; none where nothing loses. Nothing does where all heads of a record's
  /// existence say the same.
  public let reasons: [Reason]
  /// What was there before, in the order of the log; not told of lists and texts.
  public let replaced: [Replaced]
  /// What removed, replaced or moved some of a list or a text, in the order of the log.
  public let edits: [Edit]
  /// Where the record was before it was moved here, and its history goes on; nil if it was made here.
  public let movedFrom: RecordID?
}

extension Explanation {
  /// What a head has lost to.
  package struct Loss {
    package let winner: ExplainedHead
    package let reason: Reason
  }

  /// For each head the greatest of its own key or element, to which it has lost; nil for those that show.
  ///
  /// - Complexity: linear in the heads.
  package var losses: [Loss?] {
    guard kind.with({ $0.showsGreatest }), !agrees else { return heads.map { _ in nil } }
    // Those of one key or element are together, greatest first.
    var winner: ExplainedHead?
    return heads.map { one in
      guard let found = winner, found.head.content.element == one.head.content.element else {
        winner = one
        return nil
      }
      return Loss(winner: found, reason: Self.reason(found.head, one.head))
    }
  }

  /// Whether this is the existence of a record of which more than one change says the same: that is no conflict.
  package var agrees: Bool { field == nil && Self.agree(heads.map(\.head)) }

  static func agree(_ existence: [CellHead]) -> Bool {
    existence.count > 1 && existence.allSatisfy { $0.content == existence[0].content }
  }

  static func reason(_ winner: CellHead, _ loser: CellHead) -> Reason {
    let (a, b) = (winner.timestamp, loser.timestamp)
    if a.milliseconds != b.milliseconds {
      return .laterTimestamp(milliseconds: a.milliseconds - b.milliseconds)
    }
    if a != b { return .laterCounter }
    return winner.operation.transaction.replica == loser.operation.transaction.replica
      ? .laterSequence : .greaterReplica
  }
}
