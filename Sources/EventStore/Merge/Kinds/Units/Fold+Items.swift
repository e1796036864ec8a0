import OperationFormat

/// The rows of the elements of lists: see ``ListKind``.
extension Fold {
  func itemKey(_ item: UnitID, of cell: CellNumber) throws -> ElementKey {
    ElementKey(state: state, record: try recordNumber, cell: cell, item: item)
  }

  /// The heads of a register of an element, greatest first; none if it was removed.
  package func itemHeads(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber
  ) throws -> [OwnedHead] {
    try storage.itemHeads(register, of: item, cell, record: recordNumber, state)
  }

  /// The unit at which an element is; nil if it was removed.
  func place(of item: UnitID, _ cell: CellNumber) throws -> UnitID? {
    try storage.withElement(itemKey(item, of: cell)) { try ItemRow.place(in: $0) }
  }

  /// Writes the row of an element that the operation at an index has inserted.
  mutating func writeItem(
    _ item: UnitID, of cell: CellNumber, _ value: RawSpan, index: UInt32
  ) throws {
    let head = head(at: index)
    var payload = ByteWriter()
    payload.append(place: item)
    var places = ByteWriter()
    _ = try edit(
      ItemRegister.place.path(cell, item), in: RawSpan(), 0..<0, .nothing, head, payload.span, to: &places)
    var row = ByteWriter()
    row.append(count: places.count)
    row.append(places.span)
    _ = try edit(ItemRegister.value.path(cell, item), in: RawSpan(), 0..<0, .nothing, head, value, to: &row)
    try storage.writeElement(row.span, itemKey(item, of: cell))
    try note(Value.references(in: value), at: ItemRegister.value.path(cell, item))
  }

  /// Removes heads of a register of an element and adds one. An element that was removed stays so.
  mutating func replace(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber, _ removal: Removal, _ added: Head,
    _ payload: RawSpan
  ) throws {
    let key = try itemKey(item, of: cell)
    guard let row = try storage.readElement(key) else { return }
    let layout = try ItemRow(row.span.bytes)
    var edited = ByteWriter()
    let done = try edit(
      register.path(cell, item), in: row.span.bytes, layout[register], removal, added, payload, to: &edited)
    if done.isContested, register == .value { conflictCount += 1 }
    var writer = ByteWriter()
    let places = row.span.bytes.extracting(layout.places)
    writer.append(count: register == .place ? edited.count : places.byteCount)
    if register == .place {
      writer.append(edited.span)
      writer.append(row.span.bytes.extracting(layout.values))
    } else {
      writer.append(places)
      writer.append(edited.span)
    }
    try storage.writeElement(writer.span, key)
    if register == .value, done.hasOtherWinner {
      let path = register.path(cell, item)
      try note(shownReferences(in: path, edited.span, 0..<edited.count, added, payload), at: path)
    }
  }

  /// Takes elements out. Their places are hidden together, so that a leaf is written once for all that it has.
  ///
  /// - Parameter stopsIfSpent: whether those wait that are more than the commit may do.
  /// - Returns: how many were taken out, one at least.
  @discardableResult
  mutating func removeItems(
    _ items: [UnitID], of cell: CellNumber, in order: inout UnitOrder<Storage>,
    stopsIfSpent: Bool = false
  ) throws -> Int {
    var places = UnitRanges()
    var removed = 0
    for item in items where removed == 0 || !stopsIfSpent || !bound.isSpent {
      removed += 1
      let key = try itemKey(item, of: cell)
      guard let row = try storage.readElement(key) else { continue }
      places.append(UnitRange(first: try ItemRow.place(in: row.span.bytes), count: 1))
      for register in ItemRegister.allCases {
        try removeHeads(of: register.path(cell, item))
      }
      try storage.deleteElement(key)
      try note([], at: ItemRegister.value.path(cell, item))
      // Its row, and its place in the sequence.
      if stopsIfSpent { try bound.count(removed: 2) }
      try bound.countRemoved(bytes: row.count)
    }
    for range in places.joined() { try order.setVisible(false, range) }
    return removed
  }
}
