public import OperationFormat

/// What an undo, or a redo, has done.
public struct UndoReport: Hashable, Sendable {
  /// What was left as it is.
  public struct Kept: Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable {
      /// Somebody has changed the same place since, and that stays.
      case changedSince
      /// What it did cannot be taken back: a contribution.
      case lasting
    }

    public let record: RecordID
    /// Nil for whether the record exists.
    public let field: Name?
    /// The element of a set, or the key of a map; nil for the whole field.
    public let element: Value?
    public let reason: Reason
    /// Who has changed it since, if that is known.
    public let author: String?
  }

  /// Where the transactions that were undone are in the log: one for each zone of the write.
  public let undone: [Position]
  /// Where the transactions are that take them back. None if there was nothing to take back.
  public let positions: [Position]
  public let kept: [Kept]
}
