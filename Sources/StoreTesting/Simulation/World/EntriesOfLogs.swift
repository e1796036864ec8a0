import EventStore
import OperationFormat

extension ReadTransaction {
  /// The transaction at a position; nil if it is not there any more, as where its zone was removed.
  func transactionIfThere(at position: Position) throws -> LogTransaction? {
    do {
      return try entry(at: position).transaction
    } catch let error as StoreError {
      guard error.code == .positionUnknown || error.code == .retired else { throw error }
      return nil
    }
  }
}
