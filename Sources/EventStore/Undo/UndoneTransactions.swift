import OperationFormat

/// What an undo must know of the transactions of a zone.
final class UndoneTransactions {
  /// What is taken back, or brought back, and where it is.
  let root: LogTransaction
  let position: Position
  /// Whether it is taken back.
  let undoes: Bool
  /// Those that are to have no effect.
  private let ineffective: Set<TransactionID>
  /// Those that have taken others back or brought them back.
  let made: [TransactionID: LogTransaction]
  /// The records that others of these have moved here.
  private let movedHere: Set<Name>
  private let find: (TransactionID) throws -> (position: Position, author: String?)?
  private var found: [TransactionID: (position: Position, author: String?)?] = [:]

  /// - Parameter find: where a transaction is, and who has made it.
  init(
    _ root: LogEntry, undoes: Bool, ineffective: [LogTransaction], made: [LogTransaction],
    find: @escaping (TransactionID) throws -> (position: Position, author: String?)?
  ) {
    (self.root, position, self.undoes, self.find) = (root.transaction, root.position, undoes, find)
    self.ineffective = Set(ineffective.map(\.id))
    let others = ineffective.filter { $0.id != root.transaction.id }
    movedHere = Set(
      others.flatMap(\.operations).compactMap { operation in
        if case .moveHere(let record, _, _) = operation { record } else { nil }
      })
    self.made = Dictionary(made.map { ($0.id, $0) }) { first, _ in first }
  }

  /// Whether an operation counts in what there would be.
  func isEffective(_ operation: TransactionID) -> Bool { !ineffective.contains(operation) }

  /// Whether a record came here by a move that is taken back already.
  func hasMovedHere(_ record: RecordID) -> Bool { movedHere.contains(record.name) }

  /// Whether it was written after what is taken back, or beside it.
  func isLater(_ operation: OperationID) throws -> Bool {
    try place(of: operation.transaction).map { $0.position > position } ?? false
  }

  func author(of operation: OperationID) throws -> String? { try place(of: operation.transaction)?.author }

  private func place(of transaction: TransactionID) throws -> (position: Position, author: String?)? {
    if let known = found[transaction] { return known }
    let place = try find(transaction)
    found[transaction] = .some(place)
    return place
  }

  /// A unit of the root's as others name it.
  func named(_ unit: UnitReference) -> UnitReference { unit.named(by: root) }

  func named(_ span: UnitSpan) -> UnitSpan { UnitSpan(first: named(span.first), count: span.count) }
}

extension UnitReference {
  /// The unit that a transaction names so.
  func named(by transaction: LogTransaction) -> UnitReference {
    maker == nil
      ? UnitReference(
        maker: UnitMaker(replica: transaction.replica, epoch: transaction.epoch), number: number)
      : self
  }
}
