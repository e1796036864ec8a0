public import OperationFormat

/// Reading the records that fulfil a query.
///
/// A query reads what an index finds, or all records of its types and zones, and filters them: see
/// ``explain(_:)``.
extension RecordReading where Self: ~Copyable {
  /// The records of a query, in its order.
  ///
  /// - Throws: ``StoreError`` `valueInvalid` for a query that compares with what cannot be stored; `damaged`.
  /// - Complexity: linear in the records of its zones; with a limit, no more memory than for twice as many.
  public func hits(_ query: RecordQuery) throws -> [QueryHit] { try QueryRun(query, reader).hits() }

  /// As ``hits(_:)``, with what is in the records.
  package func wholeRecords(_ query: RecordQuery) throws -> [WholeRecord] {
    try QueryRun(query, reader).wholeRecords()
  }

  /// As ``hits(_:)``, without their places.
  package func records(_ query: RecordQuery) throws -> [RecordID] { try QueryRun(query, reader).records() }

  /// Whether a record fulfils the condition of a query, and is of its types.
  ///
  /// - Parameter query: whose condition is ``QueryCondition/prepared``; its zones, order and limit do not count.
  func fulfils(_ query: RecordQuery, _ record: RecordID) throws -> Bool {
    let reader = try reader
    return try reader.withRecord(record) { record in
      if let types = query.types, try !types.contains(record.type) { return false }
      return try record.fulfils(query.condition, reader)
    } ?? false
  }

  /// How many records a query has, no more than its limit.
  ///
  /// - Throws: as ``hits(_:)``.
  public func count(_ query: RecordQuery) throws -> Int {
    try QueryRun(query.withoutNeedlessOrder, reader, isOrdered: query.start != nil).count()
  }

  /// Whether a query has any record. It reads no further than to the first.
  ///
  /// - Throws: as ``hits(_:)``.
  public func exists(_ query: RecordQuery) throws -> Bool {
    try QueryRun(query.withoutNeedlessOrder, reader, isOrdered: query.start != nil).count(max: 1) > 0
  }

  /// What a field has in the records of a query, in its order; null where it has nothing.
  ///
  /// - Throws: as ``hits(_:)``.
  public func values(of field: QueryField, _ query: RecordQuery) throws -> [Value] {
    let reader = try reader
    try QueryCondition.check(field)
    return try hits(query).map { hit in
      try reader.withRecord(hit.record) { try $0.value(of: field, reader) } ?? .null
    }
  }

  /// What a field has in a record, as queries compare it; null where there is nothing.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func value(of field: QueryField, in record: RecordID) throws -> Value {
    let reader = try reader
    try QueryCondition.check(field)
    return try reader.withRecord(record) { try $0.value(of: field, reader) } ?? .null
  }

  /// The records that have the same values in an index, where no other should: each group in the order of
  /// names, the groups in the order of zones and values. Records without a value in one of its parts have no
  /// duplicates.
  ///
  /// Two devices may each make a record that the other does not see. Both are there after the merge: show
  /// them, and let the user change or delete one.
  ///
  /// - Parameter index: the name of an index that is built: see ``LocalStore/indexes()``.
  /// - Throws: ``StoreError`` `definitionInvalid` if there is no such index; `damaged`.
  /// - Complexity: linear in the entries of the index.
  public func duplicates(in index: Name) throws -> [[RecordID]] {
    try DuplicateSearch(reader).groups(in: index)
  }

  /// The records that have the same values in an index as one has, with it; none if there are no others, or the
  /// index is not built, or has several entries of one record.
  package func duplicates(of record: RecordID, in index: Name) throws -> [RecordID] {
    let reader = try reader
    let known = try reader.view.knownIndexes()
    guard let index = known.first(where: { $0.definition.name == index && $0.status == .built }) else {
      return []
    }
    return try DuplicateSearch(reader).group(of: record, in: index)
  }

  /// For each record of some zones that has the same values in an index as others: all of them. Nil if the index
  /// does not tell, or has more than some entries.
  ///
  /// - Complexity: linear in the entries of the index, up to that many.
  package func allDuplicates(
    in index: Name, of zones: [ZoneID], readingAtMost max: Int
  ) throws -> [RecordID: [RecordID]]? {
    let reader = try reader
    let known = try reader.view.knownIndexes().first { $0.definition.name == index && $0.status == .built }
    // What references show depends on other records.
    guard let known, known.referenceParts == 0, !known.definition.parts.contains(where: \.makesSeveral),
      let groups = try DuplicateSearch(reader).groups(in: known, zones: zones, max: max)
    else { return nil }
    var found: [RecordID: [RecordID]] = [:]
    for group in groups { for record in group { found[record] = group } }
    return found
  }

  /// How a query is run.
  public func explain(_ query: RecordQuery) throws -> QueryPlan {
    QueryPlan(query: query, zones: try query.zones ?? zones(), try QueryRun(query, reader).use)
  }
}

extension RecordQuery {
  /// The same records in any order. A place to begin after needs the order.
  fileprivate var withoutNeedlessOrder: RecordQuery {
    var query = self
    if query.start == nil { query.order = [] }
    return query
  }
}
