public import OperationFormat

/// Which records of a model to read, and in which order.
///
/// ```swift
/// let recent = Post.where { $0.tags.contains(swift) && $0.headline.hasPrefix("A") }
///   .sorted(by: \.date, .reverse).limit(20)
/// for row in try store.fetch(recent) { print(row.headline) }
/// ```
///
/// It is a value, which can be made at run time, kept and compared. Records that have the same place in the
/// order come in the order of their zones and names.
public struct Query<M: Model>: Hashable, Sendable {
  /// The query in the terms of the store.
  public private(set) var base: RecordQuery

  init() { base = RecordQuery(types: M.schema.types) }

  /// Only records that fulfil one more condition.
  public func `where`(_ condition: (Columns<M>) -> QueryCondition) -> Query {
    with { $0.narrow(by: condition(Columns())) }
  }

  /// Only records of some zones. Without it, those of all zones of the store.
  public func `in`(_ zones: ZoneID...) -> Query {
    with { $0.zones = zones }
  }

  /// Sorted by a field, after what it is sorted by already. Records without a value come first, and last in
  /// reverse.
  ///
  /// - Parameters:
  ///   - column: the field, as `\.date`, or through a reference, as `\.author.name`.
  ///   - direction: least first, or greatest.
  public func sorted(by column: (Columns<M>) -> some QueryColumn, _ direction: QueryDirection = .forward)
    -> Query
  {
    with { $0.sort(by: column(Columns()).field, direction) }
  }

  /// No more than some records: the first ones.
  public func limit(_ count: Int) -> Query {
    with { $0.limit = count }
  }

  /// Only what comes after a place in the order: see ``Page``.
  public func after(_ cursor: QueryCursor?) -> Query {
    with { $0.start = cursor }
  }

  private func with(_ change: (inout RecordQuery) -> Void) -> Query {
    var query = self
    change(&query.base)
    return query
  }
}

extension RecordQuery {
  mutating func narrow(by added: QueryCondition) {
    condition = condition == .always(true) ? added : condition && added
  }

  mutating func sort(by field: QueryField, _ direction: QueryDirection) {
    order.append(QueryOrder(field, isDescending: direction == .reverse))
  }
}

/// Least first, or greatest.
public enum QueryDirection: Hashable, Sendable {
  case forward
  case reverse
}

extension Model {
  /// All records of the model.
  public static var all: Query<Self> { Query() }

  /// The records of the model that fulfil a condition.
  public static func `where`(_ condition: (Columns<Self>) -> QueryCondition) -> Query<Self> {
    all.where(condition)
  }
}

extension QueryCondition {
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    if case .all(let conditions) = left { return .all(conditions + [right]) }
    return .all([left, right])
  }

  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    if case .any(let conditions) = left { return .any(conditions + [right]) }
    return .any([left, right])
  }

  public static prefix func ! (condition: QueryCondition) -> QueryCondition { .not(condition) }
}
