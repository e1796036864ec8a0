import OperationFormat

/// Settling conflicts.
extension WriteTransaction {
  /// Makes what lost a conflict what shows, and ends the conflict. The winner too may be kept. Of records that
  /// should be one, the others are deleted.
  ///
  /// ```swift
  /// for conflict in try tx.conflicts(of: post) { try tx.keep(conflict.losers[0], of: conflict) }
  /// ```
  ///
  /// - Throws: `StoreError` `conflictUnknown` if it is settled already; `recordUnknown` for a field of a record that
  ///   is deleted.
  public mutating func keep(_ head: CellHead, of conflict: Conflict) throws {
    if conflict.index != nil { return try keepOne(head, of: conflict) }
    let record = conflict.record
    guard let field = conflict.field, let value = head.content.value,
      try !heads(of: field, in: record).contains(where: { $0.operation == head.operation }),
      try fields(of: record).contains(where: { name in
        try heads(of: name, in: record).contains { $0.operation == head.operation }
      })
    else { return try restore(head.operation, in: conflict.field, of: record) }
    // It was written under a former name.
    try set(field, of: record, to: value)
  }

  private mutating func keepOne(_ head: CellHead, of conflict: Conflict) throws {
    let heads = [conflict.winner] + conflict.losers
    let areAsListed = try zip(conflict.records, heads).allSatisfy { record, head in
      try contains(record) && existence(of: record).first?.operation == head.operation
    }
    guard areAsListed, let place = heads.firstIndex(where: { $0.operation == head.operation }) else {
      throw StoreError(
        .conflictUnknown, "the records in conflict are not as they were: one was changed or deleted since",
        hint: "list the conflicts again")
    }
    do {
      for (other, record) in conflict.records.enumerated() where other != place { try delete(record) }
    } catch let error as StoreError where error.code == .transactionTooLarge {
      throw StoreError(
        .transactionTooLarge, "\(conflict.records.count) records are in conflict, too many for one write",
        hint: "delete records that are not wanted in several writes, then list the conflicts again",
        underlying: error)
    }
    // Where another device keeps another one, each is deleted by one and kept by the other: one of them stays.
    try restore(head.operation, of: conflict.records[place])
  }

  /// Takes back a deletion that won over a change which had not seen it: the record is there again, with its fields
  /// as they were. Nothing happens if the record is there.
  ///
  /// - Throws: `StoreError` `conflictUnknown` if nothing but the deletion is known of the record's existence.
  public mutating func revive<M: Model>(_ ref: Ref<M>) throws {
    if try contains(ref.record) { return }
    let alive = try existence(of: ref.record).first(where: \.content.isAlive)
    guard let alive else {
      throw StoreError(
        .conflictUnknown, "the deletion of \(ref) had seen all that was written to it",
        hint: "create the record again; a new one starts without its fields")
    }
    try restore(alive.operation, of: ref.record)
  }
}
