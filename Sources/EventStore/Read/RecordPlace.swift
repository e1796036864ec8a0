public import OperationFormat

/// Where a record is, by the moves that a store knows of.
public enum RecordPlace: Hashable, Sendable {
  /// It exists there: reads find it.
  case here(RecordID)
  /// It is there as far as the store knows, which does not have it: not that zone, or not yet that copy.
  case elsewhere(RecordID)
  /// It does not exist. Where it was last: there it was deleted, or a cascade hides it, or it was never made.
  case nowhere(RecordID)

  /// The record as that place names it.
  public var record: RecordID {
    switch self {
    case .here(let record), .elsewhere(let record), .nowhere(let record): record
    }
  }
}
