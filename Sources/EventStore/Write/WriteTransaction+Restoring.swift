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
    // What is to be compacted is so before.
    _ = try write.isAlive(record)
    let reader = try reader
    guard let field else {
      let found = try reader.heads(of: .existence, record).first { $0.operation == loser }
      guard let found else { throw StoreError.unknown(loser, "the existence of \(record)") }
      return try write.restoreExistence(found.content, of: record)
    }
    for kind in FieldKind.allCases where kind.with({ $0.showsGreatest }) {
      let heads = try reader.heads(of: field, kind, record).filter { $0.operation == loser }
      // Compacted values of one writer have one name.
      if heads.count > 1, loser.transaction.sequence == 0 {
        throw StoreError.unknown(loser, "one value of field “\(field)”")
      }
      for head in heads {
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
      hint: "list the conflicts again: a later write may have settled this one, or it was compacted")
  }

  fileprivate static func deleted(_ record: RecordID) -> StoreError {
    StoreError(
      .recordUnknown, "the record \(record) was deleted",
      hint: "restore its existence first, then its fields")
  }

  /// Of a record that compaction has dropped.
  static func compacted(_ record: RecordID) -> StoreError {
    StoreError(
      .conflictUnknown, "the record \(record) was deleted, and nothing is left of it since it was compacted",
      hint: "create it again")
  }
}
