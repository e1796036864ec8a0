import OperationFormat

/// The fold's one step, on a cell of the record's row or on that of an element.
extension Fold {
  /// Removes what the transaction has seen of a cell whose heads are in the record's row.
  mutating func clearHeads(of cell: CellNumber, seenAt index: UInt32) throws {
    try thin(CellPath(cell), at: index)
    try replace(cell, removing: .seen(at: index), adding: nil)
    try bound.count(removed: 1)
  }

  /// Removes heads of a cell in the record's row, adds one or none, and writes the cell into the row.
  mutating func replace(
    _ cell: CellNumber, removing removal: HeadRemoval, adding added: Head?, payload: RawSpan = RawSpan()
  ) throws {
    let place = try loaded.place(of: cell)
    // The writer is lent: another's bytes are read while it writes, and nothing is allocated.
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    let done = try step.edit(
      loaded.address(of: CellPath(cell)), in: loaded.bytes.span.bytes, place.body, removal, added, payload,
      to: &edited)
    if done.isContested { conflictCount += 1 }
    loaded.splice(edited.span, as: cell, at: place)
    if cell.isFieldRegister, done.hasOtherWinner {
      try note(references.shown(in: cell, of: loaded, added, payload), at: CellPath(cell))
    }
  }

  /// Removes heads of an element in a row of its own, adds one or none, and writes the row.
  ///
  /// - Parameter identity: not needed of an element that has a row.
  mutating func replaceElement(
    _ path: CellPath, _ identity: RawSpan, _ removal: HeadRemoval, _ added: Head?, _ payload: RawSpan
  ) throws {
    guard let name = path.element else { preconditionFailure("a cell that is no element") }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: name)
    let known = try storage.readElement(key)
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    let row = known ?? []
    if known == nil {
      if added == nil { return }
      edited.append(count: identity.byteCount)
      edited.append(identity)
    } else {
      edited.append(row.span.bytes.extracting(..<(try ElementRow.identity(of: row.span.bytes).upperBound)))
    }
    let headerBytes = edited.count
    let body = headerBytes..<max(row.count, headerBytes)
    let address = try loaded.address(of: path)
    let done = try step.edit(
      address, in: row.span.bytes, known == nil ? 0..<0 : body, removal, added, payload, to: &edited)
    if done.isContested { conflictCount += 1 }
    let isThere = edited.count > headerBytes
    if isThere {
      try storage.writeElement(edited.span, key)
      if known == nil { try count(path.cell, 1) }
    } else {
      try storage.deleteElement(key)
      try bound.countRemoved(bytes: row.count)
      try count(path.cell, -1)
    }
    guard done.hasOtherWinner else { return }
    try note(
      isThere ? references.shown(in: address, ofElement: edited.span, from: headerBytes, added, payload) : [],
      at: path)
  }

  /// Removes heads of a cell in the record's row, or of an element that has a row, adds one or none, and
  /// writes the row.
  mutating func replaceHeads(
    of path: CellPath, removing removal: HeadRemoval, adding added: Head?, payload: RawSpan = RawSpan()
  ) throws {
    if path.element == nil {
      try replace(path.cell, removing: removal, adding: added, payload: payload)
    } else {
      try replaceElement(path, RawSpan(), removal, added, payload)
    }
  }

  /// Writes into the record's row that a cell has more or fewer elements.
  private mutating func count(_ cell: CellNumber, _ change: Int) throws {
    let place = try loaded.place(of: cell)
    let count = try ElementRow.count(in: loaded.bytes.span.bytes.extracting(place.body))
    let (sum, overflow) = count.addingReportingOverflow(change)
    guard !overflow, sum >= 0 else {
      throw FormatError(
        .damaged, at: place.body.lowerBound, in: "cell", expected: "a count of elements", found: "\(count)")
    }
    var writer = ByteWriter()
    if sum > 0 { writer.append(count: sum) }
    loaded.splice(writer.span, as: cell, at: place)
  }

  /// Writes into the index of references what a place of the loaded record refers to from now on.
  mutating func note(_ found: [Reference], at path: @autoclosure () -> CellPath) throws {
    let flags = RecordRow.flags(of: loaded.bytes.span.bytes).intersection(.ofReferences)
    if found.isEmpty && flags.isEmpty { return }
    try references.note(found, at: path(), in: &loaded, flags)
  }

  var references: ReferenceIndex<Storage> { ReferenceIndex(storage: storage, bound: bound) }

  // MARK: Reading

  /// All heads of a cell of the loaded record, greatest first, with their whole payloads.
  package mutating func heads(of path: CellPath) throws -> [OwnedHead] {
    guard let element = path.element else {
      if path.cell.isFieldRegister { try loaded.joinRegisters() }
      let place = try loaded.place(of: path.cell)
      return try storage.heads(
        of: path, in: loaded.bytes.span.bytes, place.body, record: recordNumber, state)
    }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: element)
    guard let row = try storage.readElement(key) else { return [] }
    return try storage.heads(
      of: path, in: row.span.bytes, ElementRow.heads(of: row.span.bytes), record: recordNumber, state)
  }

  /// Runs a closure on the heads of a cell that are in its row, and on the row; nil if the cell has none.
  mutating func withCell<R>(
    _ path: CellPath, _ body: (borrowing Fold, InlineHeads, RawSpan) throws -> R?
  ) throws -> R? {
    guard let element = path.element else {
      if path.cell.isFieldRegister { try loaded.joinRegisters() }
      let place = try loaded.place(of: path.cell)
      let row = loaded.bytes.span.bytes
      return try body(self, RecordRow.heads(of: place.body, in: row), row)
    }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: element)
    guard let row = try storage.readElement(key) else { return nil }
    let heads = try RecordRow.heads(of: ElementRow.heads(of: row.span.bytes), in: row.span.bytes)
    return try body(self, heads, row.span.bytes)
  }

  /// Deletes the rows of a cell's heads that are stored apart, and their index.
  func removeHeads(of path: CellPath) throws {
    let cell = try loaded.address(of: path)
    for prefix in [cell.heads, cell.index, cell.order] {
      for (key, _) in try storage.elements(under: prefix) {
        try storage.deleteElement(key)
        try bound.count(removed: 1)
      }
    }
  }
}
