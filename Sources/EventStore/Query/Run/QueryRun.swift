import OperationFormat

/// Runs a query: by an index, where one serves, or over all records.
struct QueryRun: ~Escapable {
  private let reader: RecordReader
  private let query: RecordQuery
  private let zones: [ZoneID]
  /// Nil if all records are read.
  let use: IndexUse?

  /// - Parameter isOrdered: whether the records are wanted in the query's order.
  @_lifetime(copy reader)
  init(_ query: RecordQuery, _ reader: RecordReader, isOrdered: Bool = true) throws {
    try query.condition.check()
    for field in query.order.map(\.field) + query.each { try QueryCondition.check(field) }
    try query.start?.check(for: query)
    var query = query
    query.condition = query.condition.prepared
    self.reader = reader
    self.query = query
    zones =
      try query.zones.map { wanted in
        try Set(wanted).filter { try reader.view.zoneIndexIfThere(of: $0) != nil }.sorted()
      } ?? reader.view.visibleZones()
    let view = reader.view
    let zones = zones
    // Which index is used does not change what is found.
    let footprint = view.footprint
    view.footprint = nil
    defer { view.footprint = footprint }
    use = try IndexUse.best(of: view.knownIndexes(), for: query, isOrdered: isOrdered) { use, max in
      try Self.count(of: use, upTo: max, zones, view)
    }
  }

  /// How many entries an index has for a query, up to a number.
  private static func count(of use: IndexUse, upTo max: Int, _ zones: [ZoneID], _ view: ReadView) throws
    -> Int
  {
    var count = 0
    for zone in zones where count < max {
      let scan = try IndexScan(use, view, zone)
      for keys in scan.keys() where count < max {
        try scan.forEachEntry(in: keys) { _ in
          count += 1
          return count < max
        }
      }
    }
    return count
  }

  // MARK: What it has

  /// As ``hits()``, with what is in the records.
  func wholeRecords() throws -> [WholeRecord] {
    let limit = query.limit ?? .max
    guard use == nil, query.order.isEmpty, query.each.isEmpty, query.start == nil, limit > 0 else {
      return try records().compactMap { try reader.wholeRecord($0) }
    }
    var records: [WholeRecord] = []
    for zone in zones where records.count < limit {
      try scan(zone) { view in
        records.append(try view.wholeRecord())
        return records.count < limit
      }
    }
    return records
  }

  /// As ``hits()``, without their places.
  func records() throws -> [RecordID] {
    guard let use, use.isReverse != nil, zones.count == 1, query.start == nil,
      use.orderedParts == use.parts.count, query.each.isEmpty
    else { return try hits().map(\.record) }
    let scan = try IndexScan(use, reader.view, zones[0])
    let ranges = scan.keys()
    guard ranges.count == 1, try scan.overfull.isEmpty else { return try hits().map(\.record) }
    // The entries come in the query's order, unless some are cut.
    let test = try EntryTest(use, query, zones[0], reader)
    let limit = query.limit ?? .max
    var (records, isCut): ([RecordID], Bool) = ([], false)
    if limit <= 0 { return [] }
    try scan.forEachEntry(in: ranges[0]) { entry in
      isCut = entry.flags.contains(.isCut)
      if isCut { return false }
      if try test.holds(entry) { records.append(RecordID(zone: zones[0], name: try Name(utf8: entry.name))) }
      return records.count < limit
    }
    return isCut ? try hits().map(\.record) : records
  }

  /// The records in the query's order, as many as it wants.
  func hits() throws -> [QueryHit] {
    if let limit = query.limit, limit <= 0 { return [] }
    var best = BestPlaces(limit: query.limit)
    for zone in zones {
      if let use {
        try visit(zone, by: use) { place in best.add(place) }
      } else {
        try visitAll(zone) { place in
          let isAmong = best.add(place)
          // Without an order, what comes later is greater.
          return isAmong || !query.order.isEmpty || !query.each.isEmpty
        }
      }
    }
    return best.sorted().map { place in
      QueryHit(
        record: place.record,
        cursor: QueryCursor(
          values: place.values, record: place.record, each: place.each, in: query.order))
    }
  }

  /// How many records there are, up to a number.
  func count(max: Int = .max) throws -> Int {
    let max = Swift.min(max, query.limit ?? .max)
    guard max > 0 else { return 0 }
    var count = 0
    func another() -> Bool {
      count += 1
      return count < max
    }
    for zone in zones where count < max {
      guard let use else {
        try visitAll(zone) { _ in another() }
        continue
      }
      guard query.start == nil, !use.mayRepeat else {
        try visit(zone, by: use) { _ in count < max && another() }
        continue
      }
      let scan = try IndexScan(use, reader.view, zone)
      let test = try EntryTest(use, query, zone, reader)
      for keys in scan.keys() + (try scan.overfull) where count < max {
        var plain: (count: Int, hasOthers: Bool) = (0, true)
        if !test.readsAll { plain = try scan.countPlain(in: keys, max: max - count) }
        count += plain.count
        guard count < max, plain.hasOthers else { continue }
        try scan.forEachEntry(in: keys) { entry in
          if !test.readsAll, entry.flags.isEmpty { return true }
          return try test.holds(entry) ? another() : true
        }
      }
    }
    return count
  }

  // MARK: By an index

  /// Calls a closure with the records of a zone that an index has. Where it returns false, those that follow
  /// in the order may be left.
  private func visit(_ zone: ZoneID, by use: IndexUse, _ body: (QueryPlace) -> Bool) throws {
    let scan = try IndexScan(use, reader.view, zone)
    let test = try EntryTest(use, query, zone, reader)
    let start = query.start?.place(in: query.order)
    let overfull = try scan.overfull
    let isInOrder = use.isReverse != nil && overfull.isEmpty
    let needsValues = !query.order.isEmpty || isInOrder && use.orderedParts < use.parts.count
    var known: Set<RecordID> = []
    func pass(_ place: QueryPlace) -> Bool {
      if use.mayRepeat, !known.insert(place.record).inserted { return true }
      if let start, !start.precedes(place) { return true }
      return body(place)
    }
    for keys in scan.keys(after: isInOrder ? start : nil) + overfull {
      var ties = TiedPlaces()
      var isDone = false
      try scan.forEachEntry(in: keys) { entry in
        guard try test.holds(entry) else { return true }
        let parts: (values: [Value]?, orderEnd: Int?) =
          needsValues || entry.flags.contains(.isCut) ? use.values(in: entry, of: zone) : ([], nil)
        let place = try place(of: entry, in: zone, parts.values)
        guard isInOrder else {
          _ = pass(place)
          return true
        }
        if parts.values != nil, use.orderedParts == use.parts.count, ties.isEmpty {
          isDone = !pass(place)
        } else {
          let key = entry.key.extracting(..<(parts.orderEnd ?? entry.valuesEnd))
          isDone = try !ties.add(place, key, pass)
        }
        return !isDone
      }
      if !isDone { _ = ties.passAll(pass) }
    }
  }

  /// The place of an entry's record in the query's order.
  ///
  /// - Parameter known: the values of the index's parts, if the entry tells.
  private func place(
    of entry: borrowing IndexEntryView, in zone: ZoneID, _ known: [Value]?
  ) throws -> QueryPlace {
    let id = RecordID(zone: zone, name: try Name(utf8: entry.name))
    if let known, let fields = use?.orderFields {
      return QueryPlace(
        values: fields.map { known[$0] }, record: id, each: try entry.each(of: query.each), order: query.order
      )
    }
    let each = try entry.each(of: query.each)
    let values = try reader.withRecord(id) { record in
      try orderValues(
        of: record, each: query.each.isEmpty ? .null : record.value(of: query.each[each], reader))
    }
    return QueryPlace(values: values ?? [], record: id, each: each, order: query.order)
  }

  /// What a record has in the fields of the order.
  ///
  /// - Parameter each: the value that it stands for, if it comes for several fields.
  private func orderValues(of record: borrowing RecordView, each: Value = .null) throws -> [Value] {
    var values: [Value] = []
    for part in query.order {
      values.append(part.field == .each ? each : try record.value(of: part.field, reader))
    }
    return values
  }

  // MARK: Over all records

  /// Calls a closure with each record of a zone that fulfils the query's condition, in the order of names,
  /// until it returns false. The order and the limit do not count, but the start does.
  private func visitAll(_ zone: ZoneID, _ body: (QueryPlace) throws -> Bool) throws {
    let start = query.start?.place(in: query.order)
    // Without an order the start is a name: what comes before need not be read.
    if query.order.isEmpty, query.each.isEmpty, let start, zone < start.record.zone { return }
    let after =
      query.order.isEmpty && query.each.isEmpty && start?.record.zone == zone ? start?.record.name : nil
    try scan(zone, after: after) { view in
      if !query.each.isEmpty { return try visitEach(view, zone, start, body) }
      let place = QueryPlace(values: try orderValues(of: view), record: try view.id, order: query.order)
      if let start, !start.precedes(place) { return true }
      return try body(place)
    }
  }

  /// Calls a closure with each record of a zone that fulfils the query's condition, in the order of names,
  /// until it returns false. Where records come for fields, what the condition says of these is left.
  private func scan(
    _ zone: ZoneID, after name: Name? = nil, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    let plain = try PlainTests(query, reader.view)
    func fails(_ row: StoredRow) -> Bool { plain.hold(in: row) == false }
    // Of a query whose condition needs nothing else, those that fulfil it are noted one by one.
    let isNoted = query.each.isEmpty
    if isNoted, reader.view.footprint != nil {
      reader.view.footprint?.note(ReadFootprint.Filter(state: try reader.view.state(of: zone), query: query))
    }
    try reader.scan(zone, after: name, skipping: fails, isNoted: isNoted) { view in
      if let types = query.types, try !types.contains(view.type) { return true }
      if query.each.isEmpty {
        let rest = plain.hold(in: view.row) == true ? plain.rest : query.condition
        guard try rest == .always(true) || view.fulfils(rest, reader) else { return true }
        view.noteRead()
      }
      return try body(view)
    }
  }

  /// As ``visitAll(_:_:)`` with one record, for each field that it comes for.
  private func visitEach(
    _ view: borrowing RecordView, _ zone: ZoneID, _ start: QueryPlace?, _ body: (QueryPlace) throws -> Bool
  ) throws -> Bool {
    for (index, field) in query.each.enumerated() {
      let each = try view.value(of: field, reader)
      if each == .null { continue }
      let condition = try query.condition.decided(for: each, in: zone, reader)
      guard try view.fulfils(condition, reader) else { continue }
      let place = QueryPlace(
        values: try orderValues(of: view, each: each), record: try view.id, each: index, order: query.order)
      if let start, !start.precedes(place) { continue }
      guard try body(place) else { return false }
    }
    return true
  }
}

/// Whether the records of entries fulfil a query: what the index does not tell.
private struct EntryTest: ~Escapable {
  private let query: RecordQuery
  private let zone: ZoneID
  private let reader: RecordReader
  /// Whether records are read although the index decides all conditions.
  let readsAll: Bool
  private let rest: QueryCondition
  private let use: IndexUse
  /// Whether the entries tell what is left of the conditions.
  private let isCovered: Bool

  @_lifetime(copy reader)
  init(_ use: IndexUse, _ query: RecordQuery, _ zone: ZoneID, _ reader: RecordReader) throws {
    (self.query, self.zone, self.reader) = (query, zone, reader)
    // What is nullified reads as nothing, and the index does not know.
    var isNullified = false
    for case .reference(let reference) in use.equal.joined() where (reference.zone ?? zone) == zone {
      if try !ReferenceReader(reader.view).isThere(reference.record, in: zone) { isNullified = true }
    }
    self.use = use
    rest = isNullified ? query.condition : use.rest
    readsAll =
      !Set(query.types ?? []).isSuperset(of: use.index.definition.types) || rest != .always(true)
      || use.mayHaveNothing
    isCovered = !isNullified && use.coversRest(of: query)
  }

  func holds(_ entry: borrowing IndexEntryView) throws -> Bool {
    guard readsAll || !entry.flags.isEmpty else { return true }
    if isCovered, entry.flags.isEmpty, let values = use.values(in: entry, of: zone).values {
      return try EntrySource(index: use.index, values: values).fulfils(rest, reader)
    }
    let id = RecordID(zone: zone, name: try Name(utf8: entry.name))
    let condition = entry.flags.isEmpty ? rest : query.condition
    let each = try entry.each(of: query.each)
    return try reader.withRecord(id) { record in
      if let types = query.types, try !types.contains(record.type) { return false }
      if query.each.isEmpty { return try record.fulfils(condition, reader) }
      let value = try record.value(of: query.each[each], reader)
      return try value != .null && record.fulfils(condition.decided(for: value, in: zone, reader), reader)
    } ?? false
  }
}
