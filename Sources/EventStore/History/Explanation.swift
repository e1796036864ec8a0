public import OperationFormat

/// Why a cell shows what it shows.
public struct Explanation: Hashable, Sendable {
  /// One head of the cell, with the transaction that made it.
  public struct ExplainedHead: Hashable, Sendable {
    /// The head.
    public let head: CellHead
    /// The transaction that made it, in this store's log; nil if the log does not have it any more: the zone's history up
    /// to there was retired.
    public let entry: LogEntry?
    /// The transaction's base: the offset up to which its replica had folded the zone. Nil if it had folded
    /// nothing.
    public let base: Base?
    /// The place of the transaction in the remote log; nil while it is pending.
    public let placement: Placement?
    /// Which transaction it was before this store issued it again, because the remote log did not take that, or has
    /// another one of its name; nil if it did not.
    public let formerly: TransactionID?
  }

  /// Why one head is greater than another, if neither has seen the other.
  public enum Reason: Hashable, Sendable {
    /// Its timestamp is later, by so many milliseconds.
    case laterTimestamp(milliseconds: UInt64)
    /// The timestamps are equal to the millisecond: its counter is greater.
    case laterCounter
    /// The timestamps are equal: its replica's identity is greater.
    case greaterReplica
    /// They are of one replica, in different epochs or transactions that have not seen each other.
    case laterSequence
  }

  /// An operation on the cell that a later one has seen and has replaced or removed.
  public struct Replaced: Hashable, Sendable {
    /// The operation.
    public let operation: OperationID
    /// Its transaction, in this store's log.
    public let entry: LogEntry
    /// What it had left in the cell.
    public let content: CellHead.Content
    /// The first operation in the log that replaced it.
    public let replacedBy: OperationID
    /// The position of that operation's transaction.
    public let replacedAt: Position
    /// Whether that operation only removed it.
    public let isRemoved: Bool
  }

  /// An operation that removed, replaced or moved a part of a list or a text.
  public struct Edit: Hashable, Sendable {
    /// What it did to units: elements of a list, Unicode scalars of a text.
    public enum Kind: Hashable, Sendable {
      /// It removed so many.
      case removed(units: UInt64)
      /// It gave an element another value.
      case replaced
      /// It moved an element.
      case moved
      /// The record was created again, which removed all that the operation had seen.
      case cleared
    }

    /// The operation.
    public let operation: OperationID
    /// Its transaction, in this store's log.
    public let entry: LogEntry
    /// What it did.
    public let kind: Kind
  }

  /// The record.
  public let record: RecordID
  /// The field; nil for the record's existence.
  public let field: Name?
  /// The kind of the field's cell; for existence, a register.
  public let kind: FieldKind
  /// The element of a set, the key of a map or the unit of a list, as a text; nil for all.
  public let element: Value?
  /// The sum of a counter, whose heads are its addends.
  public let counter: Counter?
  /// For existence: how the record's type decides between concurrent deletions and updates.
  public let policy: ExistencePolicy?
  /// Whether the record exists.
  public let isVisible: Bool
  /// The record that does not exist, and whose absence hides this one through cascades; nil if nothing hides
  /// it.
  public let missingTarget: RecordID?
  /// The heads, greatest first: the winner, then the losers; of a set or a map by element; contributions in
  /// their order. An empty cell and a removed element have none.
  public let heads: [ExplainedHead]
  /// For each loser in turn, why the winner is greater. Empty if nothing loses: for example, if all heads of
  /// a record's existence agree.
  public let reasons: [Reason]
  /// The replaced and removed operations, in the order of the log. Lists and texts have ``edits`` instead.
  public let replaced: [Replaced]
  /// The operations that removed, replaced or moved parts of a list or a text, in the order of the log.
  public let edits: [Edit]
  /// Where the record is now, if it was moved away and does not exist here; else nil.
  public let movedTo: RecordPlace?
  /// The place that the record was moved from, where its history continues; nil if it was created here.
  public let movedFrom: RecordID?
  /// The last position of the log of which the zone's history was retired: ``replaced``, ``edits`` and ``movedFrom``
  /// have nothing from up to there. Nil if the store has all of it.
  public let retiredThrough: Position?
  /// Up to which offset of its remote log the zone is compacted: heads whose transactions have the sequence 0 are of
  /// before, and by which transaction they were made, and what they replaced, is not known any more. Nil for none.
  public let compactedThrough: UInt64?
  /// The floor that has dropped the record, which was not created since: an offset of the zone's remote log. Up to there
  /// nothing said that the record was there. ``heads`` has what came later, and where the record moved to. Nil if the
  /// record was not dropped, or the log does not tell of it any more.
  public let droppedAt: UInt64?
}

extension Explanation {
  /// The head that another head has lost to, and why.
  package struct Loss {
    package let winner: ExplainedHead
    package let reason: Reason
  }

  /// For each head, its loss to the greatest head of its key or element; nil for heads that show.
  ///
  /// - Complexity: linear in the heads.
  package var losses: [Loss?] {
    guard kind.with({ $0.showsGreatest }), !agrees else { return heads.map { _ in nil } }
    // The heads of one key or element are together, greatest first.
    var winner: ExplainedHead?
    return heads.map { one in
      guard let found = winner, found.head.content.element == one.head.content.element else {
        winner = one
        return nil
      }
      return Loss(winner: found, reason: Self.reason(found.head, one.head))
    }
  }

  /// Whether this is a record's existence with several heads that agree: then there is no conflict.
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
