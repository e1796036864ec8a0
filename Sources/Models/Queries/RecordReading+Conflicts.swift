import OperationFormat

/// Conflicts of records of models: see `Conflict`.
extension RecordReading where Self: ~Copyable {
  /// What devices wrote to a record without having seen each other; also of one that a deletion hides. What one
  /// device wrote to a field under its name and another under a former one is a conflict of the field.
  ///
  /// If the model has a unique index, also the records that have the same values in it.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func conflicts<M: Model>(of ref: Ref<M>) throws -> [Conflict] {
    try conflictsOfCells(ref)
      + M.indexDefinitions.filter(\.isUnique).compactMap { index in
        try nonEmptyDuplicates(of: ref.record, in: index.name).flatMap {
          try conflict(of: $0, in: index.name)
        }
      }
  }

  /// The conflicts of the records of a query, in its order. Records that should be one are listed once. A record
  /// that a deletion hides is in no query: `conflicts(in:)` lists all of a zone.
  ///
  /// - Throws: `StoreError` `valueInvalid` for a query that compares with what cannot be stored; `damaged`.
  public func conflicts<M: Model>(of query: Query<M>) throws -> [Conflict] {
    let indexes = M.indexDefinitions.filter(\.isUnique).map(\.name)
    var met: [Name: Set<RecordID>] = [:]
    var found: [Conflict] = []
    let hits = try hits(query.base)
    // For many records one look at the whole index costs less than one for each, unless it has many more.
    let zones = Set(hits.map(\.record.zone)).sorted()
    let duplicates = try indexes.map { index in
      try hits.count > 64 ? allDuplicates(in: index, of: zones, readingAtMost: 64 * hits.count) : nil
    }
    for hit in hits {
      found += try conflictsOfCells(Ref<M>(hit.record))
      for (place, index) in indexes.enumerated() where met[index]?.contains(hit.record) != true {
        let records =
          try duplicates[place].map { $0[hit.record] } ?? nonEmptyDuplicates(of: hit.record, in: index)
        guard let records, let conflict = try conflict(of: records, in: index) else { continue }
        met[index, default: []].formUnion(conflict.records)
        found.append(conflict)
      }
    }
    return found
  }

  private func conflictsOfCells<M: Model>(_ ref: Ref<M>) throws -> [Conflict] {
    try emptyIfThereIsNoZone {
      let found = try conflicts(of: ref.record)
      let renamed = M.schema.renamed
      if renamed.isEmpty { return found }
      let names = Set(renamed.flatMap(\.names))
      let others = found.filter { conflict in conflict.field.map { !names.contains($0) } ?? true }
      guard try existence(of: ref.record).contains(where: \.content.isAlive) else { return others }
      return try others + renamed.compactMap { try conflict(betweenNamesOf: $0, in: ref.record) }
    } ?? []
  }

  private func nonEmptyDuplicates(of record: RecordID, in index: Name) throws -> [RecordID]? {
    let found = try emptyIfThereIsNoZone { try duplicates(of: record, in: index) } ?? []
    return found.isEmpty ? nil : found
  }

  /// The conflict of records with the same values in a unique index; nil if there is none.
  private func conflict(of records: [RecordID], in index: Name) throws -> Conflict? {
    // By what never changes, so that all devices say the same.
    let claims = try records.map { record in try withRecord(record) { try $0.system.claimedCreation } ?? nil }
    let areKnown = !claims.contains(nil)
    let sorted = zip(records, claims).sorted { one, other in
      guard areKnown, let a = one.1, let b = other.1, a != b else { return one.0.name < other.0.name }
      return (a.timestamp, a.transaction) < (b.timestamp, b.transaction)
    }.map(\.0)
    let heads = try sorted.flatMap { try existence(of: $0).prefix(1) }
    guard let winner = heads.first else { return nil }
    return Conflict(
      record: sorted[0], field: nil, winner: winner, losers: Array(heads.dropFirst()), index: index,
      records: sorted)
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
