public import OperationFormat

/// Reading the records that fulfil a query.
///
/// A query reads all records of its types and zones, and filters them: see ``explain(_:)``.
extension RecordReading where Self: ~Copyable {
  /// The records of a query, in its order.
  ///
  /// - Throws: ``StoreError`` `valueInvalid` for a query that compares with what cannot be stored; `damaged`.
  /// - Complexity: linear in the records of its zones; with a limit, no more memory than for twice as many.
  public func hits(_ query: RecordQuery) throws -> [QueryHit] { try QueryRun(query, reader).hits() }

  /// How many records a query has, no more than its limit.
  ///
  /// - Throws: as ``hits(_:)``.
  public func count(_ query: RecordQuery) throws -> Int {
    var count = 0
    try QueryRun(query.withoutNeedlessOrder, reader).visit { _, _ in
      count += 1
      return true
    }
    return min(count, max(0, query.limit ?? .max))
  }

  /// Whether a query has any record. It reads no further than to the first.
  ///
  /// - Throws: as ``hits(_:)``.
  public func exists(_ query: RecordQuery) throws -> Bool {
    if let limit = query.limit, limit <= 0 { return false }
    var isThere = false
    try QueryRun(query.withoutNeedlessOrder, reader).visit { _, _ in
      isThere = true
      return false
    }
    return isThere
  }

  /// What a field has in the records of a query, in its order; null where it has nothing.
  ///
  /// - Throws: as ``hits(_:)``.
  public func values(of field: QueryField, _ query: RecordQuery) throws -> [Value] {
    let reader = try reader
    return try hits(query).map { hit in
      try reader.withRecord(hit.record) { try $0.value(of: field, reader) } ?? .null
    }
  }

  /// How a query is run.
  public func explain(_ query: RecordQuery) throws -> QueryPlan {
    QueryPlan(query: query, zones: try query.zones ?? zones())
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
