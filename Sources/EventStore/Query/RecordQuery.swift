public import OperationFormat

/// Which records to read, and in which order.
///
/// It is a value: make it at run time, keep it, compare it. Records that have the same place in the order come in
/// the order of their zones and names.
public struct RecordQuery: Hashable, Sendable {
  /// The types of the records; nil for all.
  public var types: [Name]?
  /// Their zones; nil for all of the store. A zone that is not there is empty.
  public var zones: [ZoneID]?
  public var condition: QueryCondition
  public var order: [QueryOrder]
  /// If there are any, a record comes once for each of these fields that has a value: an event with a start and an end
  /// twice in a list by date. Conditions and order may say ``QueryField/each``: the value that a row stands for. Rows of
  /// one place in the order come in the order of zones, then of these fields, then of names.
  public var each: [QueryField]
  /// How many at most.
  public var limit: Int?
  /// Only what comes after a place in the order.
  public var start: QueryCursor?

  public init(
    types: [Name]? = nil, zones: [ZoneID]? = nil, condition: QueryCondition = .always(true),
    order: [QueryOrder] = [], each: [QueryField] = [], limit: Int? = nil, after start: QueryCursor? = nil
  ) {
    (self.types, self.zones, self.condition) = (types, zones, condition)
    (self.order, self.each, self.limit, self.start) = (order, each, limit, start)
  }
}

/// By what records are ordered.
public struct QueryOrder: Hashable, Sendable {
  public var field: QueryField
  /// Greatest first. Records without a value come first otherwise, and last then.
  public var isDescending: Bool

  public init(_ field: QueryField, isDescending: Bool = false) {
    (self.field, self.isDescending) = (field, isDescending)
  }
}

/// A place in the order of a query: that of a record as it was read.
///
/// It names the record and what it was ordered by. So it stays right while others write: what comes before it now
/// is not read again, whether the record is still there or not.
public struct QueryCursor: Hashable, Sendable {
  /// What the record had in the fields of the order.
  public let values: [Value]
  public let record: RecordID
  /// Which of the fields of ``RecordQuery/each`` it stands for.
  public let each: Int
  /// The order; nil if it is not known.
  public let order: [QueryOrder]?

  public init(values: [Value], record: RecordID, each: Int = 0, in order: [QueryOrder]? = nil) {
    (self.values, self.record, self.each, self.order) = (values, record, each, order)
  }
}

/// Where a query found a record.
public struct QueryHit: Hashable, Sendable {
  public let record: RecordID
  /// Which of the fields of ``RecordQuery/each`` it stands for; 0 if there are none.
  public var each: Int { cursor.each }
  /// The record's place, from which another query may continue.
  public let cursor: QueryCursor
}
