/// Reading the records of queries.
///
/// Each throws `StoreError` `valueInvalid` for a query that compares with what cannot be stored, and
/// `damaged`.
extension RecordReading where Self: ~Copyable {
  /// The records of a query, in its order.
  ///
  /// - Complexity: linear in the records of its zones; with a limit, no more memory than for twice as many.
  public func fetch<M: Model>(_ query: Query<M>) throws -> [Row<M>] {
    let schema = M.schema
    let records = try wholeRecords(query.base)
    var rows: [Row<M>] = []
    rows.reserveCapacity(records.count)
    for record in records where schema.types.contains(record.record.type) {
      rows.append(try Row(record, schema, in: self))
    }
    return rows
  }

  /// The first record of a query; nil if it has none.
  public func first<M: Model>(_ query: Query<M>) throws -> Row<M>? {
    try fetch(query.limit(Swift.min(1, query.base.limit ?? 1))).first
  }

  /// A part of the records of a query, and where the next part begins.
  public func page<M: Model>(_ query: Query<M>) throws -> Page<M> {
    let hits = try hits(query.base)
    let isFull = query.base.limit.map { hits.count >= $0 } ?? false
    let schema = M.schema
    let rows = try hits.compactMap { try fetch(Ref<M>($0.record), schema) }
    return Page(rows: rows, next: isFull ? hits.last?.cursor : nil)
  }

  /// Which records a query has, in its order.
  public func keys<M: Model>(_ query: Query<M>) throws -> [Ref<M>] {
    try records(query.base).map { Ref($0) }
  }

  /// How many records a query has, no more than its limit.
  public func count<M: Model>(_ query: Query<M>) throws -> Int { try count(query.base) }

  /// Whether a query has any record.
  public func exists<M: Model>(_ query: Query<M>) throws -> Bool { try exists(query.base) }

  /// How a query is run.
  public func explain<M: Model>(_ query: Query<M>) throws -> QueryPlan { try explain(query.base) }

  /// The records that should be one: each group has the same values in an index of the model that is unique.
  ///
  /// Two devices may each make a record that the other does not see. Both are there after the merge: show
  /// them, and let the user change or delete one.
  ///
  /// - Throws: `StoreError` `definitionInvalid` while such an index is not built; `damaged`.
  /// - Complexity: linear in the entries of the indexes.
  public func duplicates<M: Model>(of model: M.Type) throws -> [[Ref<M>]] {
    try model.indexDefinitions.filter(\.isUnique).flatMap { index in
      try duplicates(in: index.name).map { group in group.map { Ref($0) } }
    }
  }

  // MARK: Values

  /// The least value of a field in the records of a query; nil if it has none. Records without a value do not
  /// count.
  public func min<M: Model, T>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws -> T? {
    let column = column(Columns())
    return try values(column, query).min { $0.precedes($1) }.flatMap { column.codec.decode($0, .nowhere) }
  }

  /// The greatest value of a field in the records of a query; nil if it has none.
  public func max<M: Model, T>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws -> T? {
    let column = column(Columns())
    return try values(column, query).max { $0.precedes($1) }.flatMap { column.codec.decode($0, .nowhere) }
  }

  /// The sum of a field in the records of a query; 0 if it has none.
  ///
  /// - Throws: `StoreError` `valueInvalid` also for a sum that its type has no place for.
  public func sum<M: Model, T: SummableValue>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws
    -> T
  {
    let column = column(Columns())
    return try values(column, query).reduce(T.zero) { sum, value in
      guard let value = column.codec.decode(value, .nowhere) else { return sum }
      guard let next = sum.adding(value) else {
        throw StoreError(
          .valueInvalid, "the sum of “\(column.field)” is too large",
          hint: "add up in parts, or in another type")
      }
      return next
    }
  }

  /// How many records of a query have each value of a field. Those without one, or with one that does not
  /// decode, count for its default.
  public func counts<M: Model, T: Hashable>(
    by column: (Columns<M>) -> Column<T>, _ query: Query<M>
  ) throws -> [T: Int] {
    let column = column(Columns())
    var counts: [T: Int] = [:]
    for value in try values(of: column.field, query.base) {
      if let value = column.codec.decode(value, .nowhere)
        ?? column.codec.decode(column.field.fallback, .nowhere)
      {
        counts[value, default: 0] += 1
      }
    }
    return counts
  }

  private func values<M: Model, T>(_ column: Column<T>, _ query: Query<M>) throws -> [Value] {
    try values(of: column.field, query.base).filter { $0 != .null }
  }
}

/// A part of the records of a query.
public struct Page<M: Model>: Sendable {
  public let rows: [Row<M>]
  /// Where the next part begins: for ``Query/after(_:)``. Nil if there is none.
  public let next: QueryCursor?
}

/// A number that can be added up.
public protocol SummableValue: FieldValue {
  static var zero: Self { get }
  /// The sum; nil if the type has no place for it.
  func adding(_ other: Self) -> Self?
}

extension SummableValue where Self: FixedWidthInteger {
  public func adding(_ other: Self) -> Self? {
    let (sum, isOver) = addingReportingOverflow(other)
    return isOver ? nil : sum
  }
}

extension Int: SummableValue {}
extension Int64: SummableValue {}
extension Int32: SummableValue {}

extension Double: SummableValue {
  public func adding(_ other: Double) -> Double? { self + other }
}
