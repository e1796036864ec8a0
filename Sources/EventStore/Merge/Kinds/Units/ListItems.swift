import OperationFormat

/// How the rows of the elements of lists are folded: see ``ListKind``.
enum ListItems {
  static func key<Storage>(
    _ item: UnitID, of cell: CellNumber, in fold: borrowing Fold<Storage>
  ) throws -> ElementKey {
    ElementKey(state: fold.state, record: try fold.recordNumber, cell: cell, item: item)
  }

  /// The unit at which an element is; nil if it was removed.
  static func place<Storage>(
    of item: UnitID, _ cell: CellNumber, in fold: borrowing Fold<Storage>
  ) throws -> UnitID? {
    try fold.storage.withElement(key(item, of: cell, in: fold)) { try ItemRow.place(in: $0) }
  }

  /// Writes the row of an element with one place and one value.
  ///
  /// - Parameters:
  ///   - place: the unit that it is at, and the head that says so.
  ///   - value: its value, and the head that says so.
  static func write<Storage>(
    _ item: UnitID, of cell: CellNumber, at place: UnitID, by placed: Head, value: RawSpan, by head: Head,
    in fold: inout Fold<Storage>
  ) throws {
    let places = try fold.loaded.address(of: ItemRegister.place.path(cell, item))
    let values = try fold.loaded.address(of: ItemRegister.value.path(cell, item))
    var payload = ByteWriter()
    payload.append(place: place)
    var edited = ByteWriter()
    _ = try fold.step.edit(places, in: RawSpan(), 0..<0, .nothing, placed, payload.span, to: &edited)
    var row = ByteWriter()
    row.append(count: edited.count)
    row.append(edited.span)
    _ = try fold.step.edit(values, in: RawSpan(), 0..<0, .nothing, head, value, to: &row)
    try fold.storage.writeElement(row.span, key(item, of: cell, in: fold))
    try fold.note(Value.references(in: value), at: values.path)
  }

  /// Removes heads of a register of an element and adds one. An element that was removed stays so.
  static func replace<Storage>(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber, _ removal: HeadRemoval, _ added: Head,
    _ payload: RawSpan, in fold: inout Fold<Storage>
  ) throws {
    let key = try key(item, of: cell, in: fold)
    let address = try fold.loaded.address(of: register.path(cell, item))
    guard let row = try fold.storage.readElement(key) else { return }
    let layout = try ItemRow(row.span.bytes)
    var edited = ByteWriter()
    let done = try fold.step.edit(
      address, in: row.span.bytes, layout[register], removal, added, payload, to: &edited)
    if done.isContested, register == .value { fold.conflictCount += 1 }
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
    try fold.storage.writeElement(writer.span, key)
    if register == .value, done.hasOtherWinner {
      let references = try fold.references.shown(in: address, edited.span, 0..<edited.count, added, payload)
      try fold.note(references, at: address.path)
    }
  }

  /// Leaves an element with its place and its value alone.
  static func compact<Storage>(
    _ item: UnitID, of cell: CellNumber, in fold: inout Fold<Storage>
  ) throws {
    let key = try key(item, of: cell, in: fold)
    let placed = try fold.itemHeads(.place, of: item, cell).first
    let value = try fold.itemHeads(.value, of: item, cell).first
    for register in ItemRegister.allCases { try fold.removeHeads(of: register.path(cell, item)) }
    try fold.storage.deleteElement(key)
    guard let placed, let value else {
      return try fold.note([], at: ItemRegister.value.path(cell, item))
    }
    try write(
      item, of: cell, at: ItemRow.unit(placed.head, placed.payload.span.bytes), by: placed.head.compacted(),
      value: value.payload.span.bytes, by: value.head.compacted(), in: &fold)
  }

  /// Takes elements out. Their places are hidden together, so that a leaf is written once for all that it
  /// has.
  ///
  /// - Parameter stopsIfSpent: whether those wait that are more than the commit may do.
  /// - Returns: how many were taken out, one at least.
  @discardableResult
  static func remove<Storage>(
    _ items: [UnitID], of cell: CellNumber, from order: inout UnitOrder<Storage>, stopsIfSpent: Bool = false,
    in fold: inout Fold<Storage>
  ) throws -> Int {
    var places = UnitRanges()
    var removed = 0
    for item in items where removed == 0 || !stopsIfSpent || !fold.bound.isSpent {
      removed += 1
      let key = try key(item, of: cell, in: fold)
      guard let row = try fold.storage.readElement(key) else { continue }
      places.append(UnitRange(first: try ItemRow.place(in: row.span.bytes), count: 1))
      for register in ItemRegister.allCases {
        try fold.removeHeads(of: register.path(cell, item))
      }
      try fold.storage.deleteElement(key)
      try fold.note([], at: ItemRegister.value.path(cell, item))
      // Its row, and its place in the order.
      if stopsIfSpent { try fold.bound.count(removed: 2) }
      try fold.bound.countRemoved(bytes: row.count)
    }
    for range in places.joined() { try order.setVisible(false, range) }
    return removed
  }
}

extension Fold {
  /// The heads of a register of an element, greatest first; none if it was removed.
  package func itemHeads(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber
  ) throws -> [OwnedHead] {
    try storage.itemHeads(register, of: item, cell, record: recordNumber, state)
  }
}
