import OperationFormat

/// Conflicts of records of models: see `Conflict`.
extension RecordReading where Self: ~Copyable {
  /// What devices wrote to a record without having seen each other; also of one that a deletion hides.
  ///
  /// What one device wrote to a field under its name and another under a former one is a conflict of the field.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func conflicts<M: Model>(of ref: Ref<M>) throws -> [Conflict] {
    try emptyIfThereIsNoZone {
      let found = try conflicts(of: ref.record)
      let renamed = ModelSchema.of(M.self).renamed
      if renamed.isEmpty { return found }
      let names = Set(renamed.flatMap(\.names))
      let others = found.filter { conflict in conflict.field.map { !names.contains($0) } ?? true }
      guard try existence(of: ref.record).contains(where: \.content.isAlive) else { return others }
      return try others + renamed.compactMap { try conflict(betweenNamesOf: $0, in: ref.record) }
    } ?? []
  }

  /// The conflict of a register with former names; nil if the write that shows had seen all others.
  private func conflict(betweenNamesOf field: FieldDefinition, in record: RecordID) throws -> Conflict? {
    let all = try field.names.flatMap { try heads(of: $0, in: record) }.sorted {
      ($0.timestamp, $0.operation) > ($1.timestamp, $1.operation)
    }
    guard let winner = all.first else { return nil }
    let losers = try all.dropFirst().filter { loser in
      try !reader.hasSeen(loser.operation, by: winner.operation, in: record.zone)
        && !reader.hasSeen(winner.operation, by: loser.operation, in: record.zone)
    }
    return losers.isEmpty
      ? nil : Conflict(record: record, field: field.name, winner: winner, losers: Array(losers))
  }
}

extension CellHead.Content {
  /// Whether it says of a record's existence that the record is there.
  var isAlive: Bool { if case .alive = self { true } else { false } }
}
