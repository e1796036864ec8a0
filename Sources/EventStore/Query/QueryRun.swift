import OperationFormat

/// Runs a query over the records of a store, one by one.
struct QueryRun: ~Escapable {
  private let reader: RecordReader
  private let query: RecordQuery

  @_lifetime(copy reader)
  init(_ query: RecordQuery, _ reader: RecordReader) {
    self.reader = reader
    self.query = query
  }

  // MARK: The records

  /// Calls a closure with each record that fulfils the query's condition, in the order of zones and names, until it
  /// returns false. Neither order nor limit count, but the start does.
  ///
  /// - Parameter body: gets the record, and what it has in the fields of the order.
  func visit(_ body: (RecordID, [Value]) throws -> Bool) throws {
    try check(query.condition)
    let plain = try PlainTests(query.condition, reader.view)
    let start = query.start?.place(in: query.order)
    for zone in try zones() {
      var wantsMore = true
      // Without an order the start is a name: what comes before need not be read.
      if query.order.isEmpty, let start, zone < start.record.zone { continue }
      let after = query.order.isEmpty && start?.record.zone == zone ? start?.record.name : nil
      try reader.scan(zone, type: query.types?.count == 1 ? query.types?[0] : nil, after: after) { view in
        if let types = query.types, types.count != 1, try !types.contains(view.type) { return true }
        switch try plain.hold(for: view) {
        case false?: return true
        case true?:
          guard try plain.rest == .always(true) || view.fulfils(plain.rest, reader) else { return true }
        case nil: guard try view.fulfils(query.condition, reader) else { return true }
        }
        var values: [Value] = []
        for part in query.order { values.append(try view.value(of: part.field, reader)) }
        let id = try view.id
        if let start, !start.precedes(QueryPlace(values: values, record: id, order: query.order)) {
          return true
        }
        wantsMore = try body(id, values)
        return wantsMore
      }
      if !wantsMore { return }
    }
  }

  /// The records in the query's order, as many as it wants.
  func hits() throws -> [QueryHit] {
    if let limit = query.limit, limit <= 0 {
      try check(query.condition)
      return []
    }
    var places: [QueryPlace] = []
    let limit = query.limit ?? .max
    try visit { id, values in
      places.append(QueryPlace(values: values, record: id, order: query.order))
      if query.order.isEmpty { return places.count < limit }
      // Only the first of the order are kept.
      if limit < .max / 2, places.count >= 2 * limit + 64 {
        places.sort { $0.precedes($1) }
        places.removeSubrange(limit...)
      }
      return true
    }
    if !query.order.isEmpty { places.sort { $0.precedes($1) } }
    return places.prefix(limit).map { place in
      QueryHit(record: place.record, cursor: QueryCursor(values: place.values, record: place.record))
    }
  }

  private func zones() throws -> [ZoneID] {
    let known = try reader.view.zones.allVisible().map(\.id)
    guard let wanted = query.zones else { return known.sorted() }
    return Set(wanted).intersection(known).sorted()
  }

  private func check(_ condition: QueryCondition) throws {
    switch condition {
    case .not(let condition): try check(condition)
    case .all(let conditions), .any(let conditions): for condition in conditions { try check(condition) }
    case .hasElement(_, let condition): try check(condition)
    case .invalid(let what):
      throw StoreError(
        .valueInvalid, "the query compares with what cannot be stored: \(what)",
        hint: "compare with another value")
    case .always, .compare, .oneOf, .text, .contains: break
    }
  }
}

/// A record's place in an order.
struct QueryPlace {
  let values: [Value]
  let record: RecordID
  let order: [QueryOrder]

  func precedes(_ other: QueryPlace) -> Bool {
    for (index, part) in order.enumerated() {
      let (left, right) = part.isDescending ? (other, self) : (self, other)
      if left.values[index].precedes(right.values[index]) { return true }
      if right.values[index].precedes(left.values[index]) { return false }
    }
    return record < other.record
  }
}

extension QueryCursor {
  /// The place it names. One of another order has no values for this one: they count as null.
  fileprivate func place(in order: [QueryOrder]) -> QueryPlace {
    let padding = [Value](repeating: .null, count: max(0, order.count - values.count))
    return QueryPlace(values: Array((values + padding).prefix(order.count)), record: record, order: order)
  }
}
