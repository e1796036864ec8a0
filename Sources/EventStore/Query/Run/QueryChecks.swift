import OperationFormat

// What a query must fulfil before it is run.

extension QueryCursor {
  /// - Throws: ``StoreError`` `valueInvalid` if it is a place in another order.
  func check(for query: RecordQuery) throws {
    if values.count == query.order.count, 0..<Swift.max(1, query.each.count) ~= each,
      order.map({ $0 == query.order }) ?? true
    {
      return
    }
    throw StoreError(
      .valueInvalid,
      "the cursor is a place in another order: it has \(values.count) values and is of field \(each), and the query "
        + "is ordered by \(query.order.count) other fields, and has rows of \(query.each.count) fields",
      hint: "continue a query in the order in which its cursor was found")
  }
}

extension QueryCondition {
  /// How deep conditions may be in others, and how many references a field may follow: what reads them calls
  /// itself for each.
  private static var depthMax: Int { 100 }

  /// - Throws: ``StoreError`` `valueInvalid` for one that compares with what cannot be stored, or is too deep.
  func check(depth: Int = 0) throws {
    if depth > Self.depthMax {
      throw StoreError(
        .valueInvalid, "the query has conditions in more than \(Self.depthMax) others",
        hint: "join conditions in one list: `.all([…])` or `.any([…])`")
    }
    switch self {
    case .not(let condition): try condition.check(depth: depth + 1)
    case .hasElement(let field, let condition):
      try Self.check(field)
      try condition.check(depth: depth + 1)
    case .all(let conditions), .any(let conditions):
      for condition in conditions { try condition.check(depth: depth + 1) }
    case .invalid(let what):
      throw StoreError(
        .valueInvalid, "the query compares with what cannot be stored: \(what)",
        hint: "compare with another value")
    case .compare(let field, _, _), .oneOf(let field, _), .text(let field, _, _), .word(let field, _, _),
      .contains(let field, _):
      try Self.check(field)
    case .always: break
    }
  }

  /// - Throws: ``StoreError`` `valueInvalid` for one that follows too many references.
  static func check(_ field: QueryField) throws {
    guard field.path.count > depthMax else { return }
    throw StoreError(
      .valueInvalid, "the query follows \(field.path.count) references in a row",
      hint: "follow at most \(depthMax)")
  }
}
