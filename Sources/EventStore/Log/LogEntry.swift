public import OperationFormat

/// A transaction in this store's log.
public struct LogEntry: Hashable, Sendable {
  /// Where it is in the log.
  public let position: Position
  /// When this store appended it, in milliseconds since 1970.
  public let arrivedMilliseconds: Int64
  /// The transaction, decoded.
  public let transaction: LogTransaction

  package init(position: Position, arrivedMilliseconds: Int64, transaction: LogTransaction) {
    self.position = position
    self.arrivedMilliseconds = arrivedMilliseconds
    self.transaction = transaction
  }
}

extension LogOperation {
  /// The record that the operation changes; nil for one that changes none, and of an unknown kind.
  public var record: Name? {
    switch self {
    case .create(let record, _), .delete(let record), .moveAway(let record, _), .moveHere(let record, _, _),
      .update(let record, _, _, _):
      record
    case .compact, .unknown: nil
    }
  }
}
