import OperationFormat

/// What compaction has dropped.
extension Explainer {
  /// The floor that has dropped a record which was not created since: the first one that reaches a deletion of it. Nil if
  /// the log tells of none.
  func droppedAt(_ record: RecordID) throws -> UInt64? {
    let view = read.readView
    let (zone, row) = try view.zones.visible(record.zone)
    guard let floor = try view.states.storedRow(of: row.state).floor,
      try view.withStoredRow(of: record, { row, _ in row.isUncreated }) ?? true
    else { return nil }
    let floors = try view.logFloors(of: zone, floor.incarnation, upTo: row.token?.offset ?? 0)
    var dropped: UInt64?
    try read.historyBackward(record: record) { entry in
      guard entry.transaction.operations.contains(where: { $0.record == record.name && $0.endsRecord }),
        let place = try read.placement(of: entry.transaction.id, in: record.zone)?.offset
      else { return true }
      let reaching = floors.first(covering: place) ?? floor
      if reaching.covers(place) { dropped = reaching.offset }
      return dropped == nil
    }
    return dropped
  }

  /// The cell of a dropped record that is not in its row, as the log names it; nil if the log names none.
  func droppedCell(of record: RecordID, _ field: Name?, as only: FieldKind?) throws -> ExplainedCell? {
    guard try droppedAt(record) != nil else { return nil }
    guard let field else { return ExplainedCell(field: nil, kind: .register, heads: []) }
    var kind: FieldKind?
    try read.history(record: record) { entry in
      for case .update(record.name, _, field, let change) in entry.transaction.operations {
        guard let found = FieldKind(of: change.kind), (only ?? found) == found else { continue }
        kind = found
        break
      }
      return kind == nil
    }
    return kind.map { ExplainedCell(field: field, kind: $0, heads: []) }
  }
}

extension LogOperation {
  /// Whether the record is not there from here on.
  fileprivate var endsRecord: Bool {
    switch self {
    case .delete, .moveAway: true
    case .create, .moveHere, .update, .compact, .unknown: false
    }
  }
}

extension LogFloors {
  /// The first floor that counts and reaches an offset.
  fileprivate func first(covering offset: UInt64) -> CompactionFloor? {
    var floor = next(after: nil)
    while let found = floor, !found.covers(offset) { floor = next(after: found) }
    return floor
  }
}
