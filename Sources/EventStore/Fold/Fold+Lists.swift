import OperationFormat

/// The elements of lists. Which place an element is at and what its value is are registers of their own; an element that was
/// removed has no row, and stays removed.
extension Fold {
  /// Folds the operations on a list.
  mutating func changeList(
    _ kind: OperationKind, _ cell: CellNumber, _ operand: RawSpan, index: UInt32
  ) throws {
    var sequence = try sequence(of: cell)
    var reader = ByteReader(operand)
    var units = UnitReader()
    switch kind {
    case .insertElements:
      let left = try units.readOrigin(&reader).flatMap { try unit($0) }
      let count = try FieldChange.readCount(&reader)
      try lendView(to: &sequence, of: cell)
      var item = try sequence.insert(places: UInt64(count), by: head(at: index).id, after: left) {
        try hasSeenInSearch($0, at: index)
      }
      try takeView(from: &sequence, of: cell)
      for _ in 0..<count {
        let start = reader.position
        try validateValue(&reader)
        try writeItem(item, of: cell, operand.extracting(start..<reader.position), index: index)
        item.number += 1
      }
    case .moveElement:
      let element = try units.readUnit(&reader)
      let left = try units.readOrigin(&reader).flatMap { try unit($0) }
      try move(element, to: left, in: &sequence, of: cell, index: index)
    case .replaceElement:
      let element = try units.readUnit(&reader)
      let value = operand.extracting(reader.position...)
      if let item = try seen(element, in: sequence, at: index) {
        try replace(.value, of: item, cell, .seen(at: index), head(at: index), value)
      }
    default:
      for range in try readRuns(&reader) {
        guard let seen = try seen(range, in: sequence, at: index) else { continue }
        var end = seen.first
        end.number = seen.end
        let keys = try storage.elementKeys(in: itemKey(seen.first, of: cell)..<itemKey(end, of: cell))
        try removeItems(try keys.map { try $0.item }, of: cell, in: &sequence)
      }
    }
    try write(sequence.root, of: cell)
  }

  private mutating func move(
    _ element: UnitReference, to left: UnitID?, in sequence: inout UnitOrder<Storage>,
    of cell: CellNumber, index: UInt32
  ) throws {
    let item = try seen(element, in: sequence, at: index)
    // The place is made in any case: the numbers of its maker's other units count it.
    let none = UnitID(replica: context.replica, epoch: context.epoch, number: 0)
    try lendView(to: &sequence, of: cell)
    let place = try sequence.insert(placeOf: item ?? none, by: head(at: index).id, after: left) {
      try hasSeenInSearch($0, at: index)
    }
    try takeView(from: &sequence, of: cell)
    var payload = ByteWriter()
    payload.append(place: place)
    try movePlace(of: item, cell, in: &sequence, alsoSeen: place) { fold, item in
      try fold.replace(.place, of: item, cell, .seen(at: index), fold.head(at: index), payload.span)
    }
  }

  private func seen(
    _ element: UnitReference, in sequence: borrowing UnitOrder<Storage>, at index: UInt32
  ) throws -> UnitID? {
    guard let item = try unit(element) else { return nil }
    return try seen(UnitRange(first: item, count: 1), in: sequence, at: index)?.first
  }

  /// Does what may change the place that an element is at, and lets that one alone be seen.
  ///
  /// - Parameters:
  ///   - item: the element; nil if it is not here.
  ///   - made: a place that was just made for it, and so is seen.
  private mutating func movePlace(
    of item: UnitID?, _ cell: CellNumber, in sequence: inout UnitOrder<Storage>,
    alsoSeen made: UnitID? = nil, _ body: (inout Fold, UnitID) throws -> Void
  ) throws {
    let before = try item.flatMap { try place(of: $0, cell) }
    if let item { try body(&self, item) }
    let after = try item.flatMap { try place(of: $0, cell) }
    for seen in [before, made] where seen != after {
      if let seen { try sequence.setVisible(false, UnitRange(first: seen, count: 1)) }
    }
    if let after, after != before, after != made {
      try sequence.setVisible(true, UnitRange(first: after, count: 1))
    }
  }

  /// Hides what the transaction has seen of a list: it removes each element whose insertion it has seen.
  mutating func clearList(_ cell: CellNumber, index: UInt32) throws {
    var sequence = try sequence(of: cell)
    let prefix = ElementKey.items(of: state, record: try recordNumber, cell: cell)
    var next = firstKey(under: prefix)
    while let first = next {
      let rows = try someRows(under: prefix, from: first) { key, _ in
        let item = try key.item
        return try sequence.operation(making: item).flatMap { try hasSeen($0, at: index) ? item : nil }
      }
      try bound.count(looked: rows.looked)
      let removed = try removeItems(rows.found, of: cell, in: &sequence, stopsIfSpent: true)
      try write(sequence.root, of: cell)
      next = try removed < rows.found.count ? itemKey(rows.found[removed], of: cell) : rows.next
      if let next { try bound.pauseIfSpent(at: next) }
    }
  }

  /// Gives the heads that an operation made in elements of a list another effective timestamp.
  ///
  /// - Returns: whether one of the elements has another place or value now.
  mutating func retimeItems(
    _ kind: OperationKind, _ cell: CellNumber, _ operand: RawSpan, _ operation: HeadID,
    to timestamp: Timestamp
  ) throws -> Bool {
    var sequence = try sequence(of: cell)
    var items: [UnitID] = []
    if kind == .insertElements {
      let made = try sequence.units(madeBy: operation)
      items = (0..<(made?.count ?? 0)).compactMap { offset in
        made.map { UnitID($0.first.inserter, $0.first.number + offset) }
      }
    } else {
      var reader = ByteReader(operand)
      var units = UnitReader()
      let element = try units.readUnit(&reader)
      let own = UnitID(replica: operation.replica, epoch: operation.epoch, number: element.number)
      if let item = try element.maker == nil ? own : unit(element) { items = [item] }
    }
    var hasChanged = false
    for item in items {
      let before = try (itemHeads(.place, of: item, cell).first, itemHeads(.value, of: item, cell).first)
      try movePlace(of: item, cell, in: &sequence) { fold, item in
        for register in [ItemRegister.place, .value] {
          for owned in try fold.itemHeads(register, of: item, cell)
          where owned.head.id == operation && owned.head.timestamp != timestamp {
            try fold.replace(
              register, of: item, cell, .head(operation), Head(timestamp: timestamp, id: operation),
              owned.payload.span.bytes)
          }
        }
      }
      let after = try (itemHeads(.place, of: item, cell).first, itemHeads(.value, of: item, cell).first)
      if before.0?.head.id != after.0?.head.id || before.1?.head.id != after.1?.head.id { hasChanged = true }
    }
    try write(sequence.root, of: cell)
    return hasChanged
  }

  // MARK: Rows

  func itemKey(_ item: UnitID, of cell: CellNumber) throws -> ElementKey {
    ElementKey(state: state, record: try recordNumber, cell: cell, item: item)
  }

  /// The heads of a register of an element, greatest first; none if it was removed.
  package func itemHeads(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber
  ) throws -> [OwnedHead] {
    guard let row = try storage.readElement(itemKey(item, of: cell)) else { return [] }
    let layout = try ItemRow(row.span.bytes)
    return try heads(of: register.path(cell, item), in: row.span.bytes, layout[register])
  }

  /// The unit at which an element is; nil if it was removed.
  private func place(of item: UnitID, _ cell: CellNumber) throws -> UnitID? {
    guard let row = try storage.readElement(itemKey(item, of: cell)) else { return nil }
    return try ItemRow.place(in: row.span.bytes)
  }

  /// Writes the row of an element that the operation at an index has inserted.
  private mutating func writeItem(
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
  private mutating func replace(
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
  private mutating func removeItems(
    _ items: [UnitID], of cell: CellNumber, in sequence: inout UnitOrder<Storage>,
    stopsIfSpent: Bool = false
  ) throws -> Int {
    var places = UnitRanges()
    var removed = 0
    for item in items where removed == 0 || !stopsIfSpent || !bound.isSpent {
      removed += 1
      let key = try itemKey(item, of: cell)
      guard let row = try storage.readElement(key) else { continue }
      places.append(UnitRange(first: try ItemRow.place(in: row.span.bytes), count: 1))
      for register in [ItemRegister.place, .value] {
        try removeHeads(of: register.path(cell, item))
      }
      try storage.deleteElement(key)
      try note([], at: ItemRegister.value.path(cell, item))
      // Its row, and its place in the sequence.
      if stopsIfSpent { try bound.count(removed: 2) }
      try bound.countRemoved(bytes: row.count)
    }
    for range in places.joined() { try sequence.setVisible(false, range) }
    return removed
  }
}

/// What of an element of a list is the last writer's.
package enum ItemRegister: Sendable {
  case place
  case value

  package func path(_ cell: CellNumber, _ item: UnitID) -> CellPath {
    CellPath(cell, self == .place ? ElementName(placeOf: item) : ElementName(valueOf: item))
  }
}

/// The row of an element of a list:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | the cell of its places, as in a record's row: a head's payload is twice the number of the unit (varint), which the head's replica and epoch made: so it never begins as what stands for a payload that lies apart does |
/// | … | the cell of its values |
package struct ItemRow {
  let places: Range<Int>
  let values: Range<Int>

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    let count = try reader.readCount("item.places")
    places = try reader.readBytes(count, "item.places")
    values = places.upperBound..<row.byteCount
    guard !places.isEmpty, !values.isEmpty else {
      throw FormatError(
        .damaged, at: 0, in: "item", expected: "a place and a value", found: "\(row.byteCount) bytes")
    }
  }

  subscript(register: ItemRegister) -> Range<Int> { register == .place ? places : values }

  /// The unit at which the element is: that of the greatest head.
  static func place(in row: RawSpan) throws(FormatError) -> UnitID {
    let heads = try RecordLayout.heads(of: try ItemRow(row).places, in: row)
    return try unit(heads[0].head, row.extracting(heads[0].payload))
  }

  /// The unit that a head of the places names.
  package static func unit(_ head: Head, _ payload: RawSpan) throws(FormatError) -> UnitID {
    var reader = ByteReader(payload)
    let twice = try reader.readVarint("item.place")
    try reader.finish("item.place")
    guard twice.isMultiple(of: 2) else {
      throw FormatError(.damaged, at: 0, in: "item.place", expected: "an even number", found: "\(twice)")
    }
    return UnitID(replica: head.id.replica, epoch: head.id.epoch, number: twice / 2)
  }
}

extension ByteWriter {
  /// Appends the payload of a head that says which unit an element is at.
  fileprivate mutating func append(place: UnitID) { append(varint: 2 * place.number) }
}
