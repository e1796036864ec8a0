public import OperationFormat

extension WriteTransaction {
  /// Makes one of a conflict's losers the winner: sets a field, a key of its map or an element of its list to
  /// the loser's value; or lets the record exist, be deleted or be moved, as the loser says.
  ///
  /// ```swift
  /// for conflict in conflicts {
  ///   try tx.restore(conflict.losers[0].operation, in: conflict.field, of: conflict.record)
  /// }
  /// ```
  ///
  /// A deleted record comes back with all its fields and their conflicts. Restoring the winner changes no
  /// value, and ends the conflict too.
  ///
  /// - Parameters:
  ///   - loser: the operation that lost, from ``Conflict/losers``.
  ///   - field: the field in conflict; nil for the record's existence.
  ///   - record: the record.
  /// - Throws: ``StoreError`` `conflictUnknown` if the cell has no such value any more; `recordUnknown` for a
  ///   field of a record that is deleted; and as ``set(_:of:to:)``.
  public mutating func restore(
    _ loser: OperationID, in field: Name? = nil, of record: RecordID
  ) throws {
    let reader = try reader
    guard let field else {
      let found = try reader.heads(of: .existence, record).first { $0.operation == loser }
      guard let found else { throw StoreError.unknown(loser, "the existence of \(record)") }
      return try write.restoreExistence(found.content, of: record)
    }
    for kind in FieldKind.allCases where kind.with({ $0.showsGreatest }) {
      for head in try reader.heads(of: field, kind, record) where head.operation == loser {
        guard try write.isAlive(record) else { throw StoreError.deleted(record) }
        guard let restoring = kind.with({ $0.change(restoring: head.content) }) else { continue }
        return try write.takingAnyKind { try write.change(field, of: record, restoring) }
      }
    }
    throw StoreError.unknown(loser, "field “\(field)” of \(record)")
  }
}

extension StoreError {
  fileprivate static func unknown(_ loser: OperationID, _ cell: String) -> StoreError {
    StoreError(
      .conflictUnknown, "\(cell) has nothing from operation \(loser)",
      hint: "list the conflicts again: a later write may have settled this one")
  }

  fileprivate static func deleted(_ record: RecordID) -> StoreError {
    StoreError(
      .recordUnknown, "the record \(record) was deleted",
      hint: "restore its existence first, then its fields")
  }
}
