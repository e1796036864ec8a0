public import OperationFormat

/// A list in which a record comes once for each of some fields: an event with a start and an end stands twice
/// in a list by date.
///
/// ```swift
/// let agenda = Event.each(Date.self) { [$0.start, $0.end] }
///   .where { event, date in date >= today && event.isCancelled == false }
///   .sorted().limit(50)
/// for entry in try store.fetch(agenda) {
///   print(entry.value, entry.place == 0 ? "begins" : "ends", entry.row.title)
/// }
/// ```
///
/// A record without a value in one of the fields does not come for that one. An index of ``Each`` of the same
/// fields, in the same order, serves it.
public struct EachQuery<M: Model, T: FieldValue>: Hashable, Sendable {
  /// The query in the terms of the store.
  public private(set) var base: RecordQuery

  init(_ columns: [any QueryColumn]) {
    base = RecordQuery(types: M.schema.types, each: columns.map(\.field))
  }

  /// Only entries that fulfil one more condition.
  ///
  /// - Parameter condition: gets the fields of the record, and the value that the entry stands for.
  public func `where`(_ condition: (Columns<M>, Column<T>) -> QueryCondition) -> EachQuery {
    with { $0.narrow(by: condition(Columns(), Column(.each, .ofFieldValue))) }
  }

  /// Only records of some zones. Without it, those of all zones of the store.
  public func `in`(_ zones: ZoneID...) -> EachQuery {
    with { $0.zones = zones }
  }

  /// Sorted by the value that an entry stands for, after what it is sorted by already.
  public func sorted(_ direction: QueryDirection = .forward) -> EachQuery {
    with { $0.sort(by: .each, direction) }
  }

  /// Sorted by a field of the record, after what it is sorted by already.
  public func sorted(by column: (Columns<M>) -> some QueryColumn, _ direction: QueryDirection = .forward)
    -> EachQuery
  {
    with { $0.sort(by: column(Columns()).field, direction) }
  }

  /// No more than some entries: the first ones.
  public func limit(_ count: Int) -> EachQuery {
    with { $0.limit = count }
  }

  /// Only what comes after an entry, by its ``EachRow/cursor``.
  public func after(_ cursor: QueryCursor?) -> EachQuery {
    with { $0.start = cursor }
  }

  private func with(_ change: (inout RecordQuery) -> Void) -> EachQuery {
    var query = self
    change(&query.base)
    return query
  }
}

/// A record in a list in which it comes once for each of some fields.
public struct EachRow<M: Model, T: FieldValue>: Sendable, Identifiable {
  public let row: Row<M>
  /// Which of the fields it stands for here, from 0.
  public let place: Int
  /// What it has there.
  public let value: T
  /// Where it is in the order: for ``EachQuery/after(_:)``.
  public let cursor: QueryCursor

  /// Names the entry among those of the list.
  public struct ID: Hashable, Sendable {
    public let record: Ref<M>
    public let place: Int
  }

  public var id: ID { ID(record: row.id, place: place) }
}

extension EachRow: Equatable {
  /// Whether two entries are of the same place and show the same row.
  public static func == (left: EachRow, right: EachRow) -> Bool {
    left.place == right.place && left.row == right.row
  }
}

extension Model {
  /// The records of the model, once for each of some fields that has a value: see ``EachQuery``.
  ///
  /// - Parameters:
  ///   - type: the type of the values, without `Optional`.
  ///   - columns: the fields.
  public static func each<T: FieldValue>(
    _ type: T.Type, _ columns: (Columns<Self>) -> [any QueryColumn]
  ) -> EachQuery<Self, T> {
    EachQuery(columns(Columns()))
  }
}

extension RecordReading where Self: ~Copyable {
  /// The entries of a list, in its order. Those whose value does not decode are left out.
  ///
  /// - Throws: `StoreError` `valueInvalid` for a query that compares with what cannot be stored; `damaged`.
  public func fetch<M: Model, T>(_ query: EachQuery<M, T>) throws -> [EachRow<M, T>] {
    let codec = ValueCodec<T>.ofFieldValue
    return try hits(query.base).compactMap { hit in
      let field = query.base.each[hit.each]
      guard let row = try fetch(Ref<M>(hit.record)),
        let value = codec.decode(try value(of: field, in: hit.record), hit.record.zone)
      else { return nil }
      return EachRow(row: row, place: hit.each, value: value, cursor: hit.cursor)
    }
  }

  /// The first entry of a list; nil if it has none.
  ///
  /// - Throws: as `fetch(_:)`.
  public func first<M: Model, T>(_ query: EachQuery<M, T>) throws -> EachRow<M, T>? {
    try fetch(query.limit(Swift.min(1, query.base.limit ?? 1))).first
  }

  /// How many entries a list has, no more than its limit.
  ///
  /// - Throws: as `fetch(_:)`.
  public func count<M: Model, T>(_ query: EachQuery<M, T>) throws -> Int { try count(query.base) }

  /// How a list is made.
  ///
  /// - Throws: as `fetch(_:)`.
  public func explain<M: Model, T>(_ query: EachQuery<M, T>) throws -> QueryPlan { try explain(query.base) }
}
