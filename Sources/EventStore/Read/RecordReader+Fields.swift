import OperationFormat

/// Reading of one field of a visible record.
extension RecordReader {
  /// The value of a field: that of its first cell that is not empty, in the order of their kinds.
  @usableFromInline
  func value(of field: Name, in record: RecordID) throws -> Value? {
    guard let number = try view.number(of: field) else {
      view.noteRead(record)
      return nil
    }
    return try view.withRow(of: record, field: number) { row, state in
      guard let (_, fields) = try view.visible(row, state) else { return nil }
      return try view.value(of: number, in: row, from: fields, state)
    }
  }

  func counter(_ field: Name, of record: RecordID) throws -> Counter? {
    try withCell(.counter, of: field, in: record) { try CounterKind.sum(of: $0).counter }
  }

  /// How many elements, scalars or heads a cell has; 0 if the record is not there.
  func count(of field: Name, in record: RecordID, as kind: FieldKind) throws -> Int {
    try withCell(kind, of: field, in: record) { cell in try kind.with { try $0.count(of: cell) } } ?? 0
  }

  // MARK: Sets and maps

  func elements(of field: Name, in record: RecordID) throws -> Set<Value>? {
    try withCell(.set, of: field, in: record) { Set(try SetKind.elements(of: $0)) }
  }

  func contains(_ element: Value, in field: Name, of record: RecordID) throws -> Bool {
    let (stated, encoded): (Value, [UInt8])
    do throws(FormatError) {
      stated = try element.stated(inLogOf: record.zone)
      encoded = try stated.encoded()
    } catch {
      // What the zone's log cannot name is in none of its sets.
      if error.code == .accountUnknown { return false }
      throw StoreError(
        .valueInvalid, "a value that cannot be stored is no element: \(error)",
        hint: "keep values within 1 MiB and a depth of 32", underlying: error)
    }
    return try withCell(.set, of: field, in: record) { cell in
      let identity = encoded
      return try cell.element(identity.span.bytes) == nil ? nil : cell.shown(stated)
    } != nil
  }

  func entries(of field: Name, in record: RecordID) throws -> [Name: Value]? {
    try withCell(.map, of: field, in: record) { try MapKind.entries(of: $0) }
  }

  /// The entries of a map whose keys begin with a text.
  ///
  /// - Complexity: linear in what is found.
  package func entries(of field: Name, keysFrom start: String, in record: RecordID) throws -> [Name: Value] {
    try withCell(.map, of: field, in: record) { try MapKind.entries(of: $0, keysFrom: start) } ?? [:]
  }

  func value(at key: Name, of field: Name, in record: RecordID) throws -> Value? {
    try key.withBytes { key in
      try withCell(.map, of: field, in: record) { cell in
        try cell.element(key).flatMap { try cell.shown($0.value) }
      }
    }
  }

  // MARK: Lists and texts

  func list(_ field: Name, of record: RecordID) throws -> [Value]? {
    try withCell(.list, of: field, in: record) { try ListKind.list(of: $0) }
  }

  func items(of field: Name, in record: RecordID) throws -> [ListItem]? {
    try withCell(.list, of: field, in: record) { cell in
      try cell.items().map { item in
        ListItem(id: try cell.rows.reference(item.unit), value: try cell.shown(item.value) ?? .null)
      }
    }
  }

  /// The value of the element of a list that an identity with a maker names; nil if the list has it no more.
  package func value(ofItem id: UnitReference, of field: Name, in record: RecordID) throws -> Value? {
    guard let maker = id.maker, let replica = try view.replicas.number(of: maker.replica) else {
      view.noteRead(record)
      return nil
    }
    return try withCell(.list, of: field, in: record) { cell in
      let unit = UnitID(replica: replica, epoch: maker.epoch, number: id.number)
      return try cell.itemIfThere(unit).map { try cell.shown($0.value) ?? .null }
    }
  }

  func element(at index: Int, of field: Name, in record: RecordID) throws -> Value? {
    try withCell(.list, of: field, in: record) { cell in
      let order = try cell.unitOrder()
      try index.checkIsIndex(below: order.count, field)
      let (unit, element) = try order.unit(at: index)
      return try cell.shown(cell.item(element ?? unit).value) ?? .null
    }
  }

  func text(of field: Name, in record: RecordID) throws -> String? {
    try withCell(.text, of: field, in: record) { try $0.unitOrder().text() }
  }

  func text(in range: Range<Int>, of field: Name, in record: RecordID) throws -> String? {
    try withCell(.text, of: field, in: record) { cell in
      let order = try cell.unitOrder()
      try range.checkIsRange(of: order.count, field)
      return try order.text(in: range)
    }
  }

  func parts(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [UnitOrderPart] {
    try withAnyCell(kind, of: field, in: record) { cell in
      var parts: [UnitOrderPart] = []
      let items = try cell.cell.hasScalars ? [:] : cell.itemsByUnit()
      try cell.forEachPart(items: items) { parts.append($0) }
      return parts
    } ?? []
  }

  // MARK: Contributions

  /// The contributions to a field of a visible record; nil if there are none.
  func contributionCell(_ field: Name, of record: RecordID) throws -> ContributionCell<ReadView>? {
    try withCell(.contributions, of: field, in: record) { try ContributionCell($0) }
  }

  /// The contributions to a field in their order, each with its operation. The record need not be visible.
  func contributions(of field: Name, inAny record: RecordID) throws -> [Contribution] {
    try withAnyCell(.contributions, of: field, in: record) { cell in
      try cell.inlineHeads().total == 0 ? nil : ContributionCell(cell).contributions()
    } ?? []
  }

  // MARK: Cells

  /// Runs a closure on a cell of a visible record; nil if the cell is empty.
  func withCell<R>(
    _ kind: FieldKind, of field: Name, in record: RecordID,
    _ body: (borrowing CellReader<ReadView>) throws -> R?
  ) throws -> R? {
    guard let number = try view.number(of: field) else {
      view.noteRead(record)
      return nil
    }
    return try view.withStoredRow(of: record, field: number) { row, state in
      guard let (_, fields) = try view.visible(row, state) else { return nil }
      let cell = CellNumber(number, kind)
      guard let winner = try row.winner(of: cell, from: fields),
        try cell.shows(winner, in: row)
      else { return nil }
      return try body(CellReader(cell, in: row, state, view))
    }
  }

  /// Runs a closure on a cell of a record that need not be visible; nil if the store has no such record or
  /// field.
  func withAnyCell<R>(
    _ kind: FieldKind, of field: Name, in record: RecordID,
    _ body: (borrowing CellReader<ReadView>) throws -> R?
  ) throws -> R? {
    guard let number = try view.number(of: field) else {
      view.noteRead(record)
      return nil
    }
    return try view.withStoredRow(of: record, field: number) { row, state in
      try body(CellReader(CellNumber(number, kind), in: row, state, view))
    }
  }
}
