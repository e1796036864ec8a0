public import OperationFormat

extension WriteTransaction {
  /// Lets one of a conflict's losers win: gives a field, a key of its map or an element of its list the value of the loser; or
  /// has the record be there, be deleted or be moved, as the loser says.
  ///
  /// ```swift
  /// for conflict in conflicts {
  ///   try tx.restore(conflict.losers[0].operation, in: conflict.field, of: conflict.record)
  /// }
  /// ```
  ///
  /// A record that was deleted comes back whole: with all its fields, and with the conflicts of those. Restoring the winner
  /// keeps what shows, and ends the conflict too.
  ///
  /// - Parameters:
  ///   - loser: the operation that lost, from ``Conflict/losers``.
  ///   - field: the field in conflict; nil for the record's existence.
  ///   - record: the record.
  /// - Throws: ``StoreError`` `conflictUnknown` if the cell has no such value any more; `recordUnknown` for a field of a record
  ///   that is deleted; and as ``set(_:of:to:)``.
  public mutating func restore(
    _ loser: OperationID, in field: Name? = nil, of record: RecordID
  ) throws {
    guard let field else { return try restoreExistence(loser, of: record) }
    let readView = try readView()
    for kind in [FieldKind.register, .map, .list] {
      for head in try readView.heads(of: field, kind, record) where head.operation == loser {
        guard try isAlive(record) else { throw StoreError.deleted(record) }
        switch head.content {
        case .value(let value): return try set(field, of: record, to: value)
        case .entry(let key, let value): return try change(field, of: record, .put(key: key, value))
        case .item(let unit, let value): return try change(field, of: record, .replaceElement(unit, value))
        default: continue
        }
      }
    }
    throw StoreError.unknown(loser, "field “\(field)” of \(record)")
  }

  private mutating func restoreExistence(_ loser: OperationID, of record: RecordID) throws {
    let draft = try batch.draft(for: record.zone)
    guard
      let head = try readView().heads(of: .existence, record).first(where: { $0.operation == loser })
    else { throw StoreError.unknown(loser, "the existence of \(record)") }
    try Self.withBytes(of: record.name) { name in
      switch head.content {
      case .alive(let type): try batch.revive(name, type: type, in: draft)
      case .moved(let place):
        var bytes = ByteWriter()
        try place.encodeOtherPlace(into: &bytes)
        try batch.delete(name, movedTo: bytes.span, in: draft)
      default: try batch.delete(name, in: draft)
      }
    }
  }

  private func isAlive(_ record: RecordID) throws -> Bool {
    let draft = try batch.draft(for: record.zone)
    return try Self.withBytes(of: record.name) { try batch.aliveType(of: $0, in: draft) != nil }
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
