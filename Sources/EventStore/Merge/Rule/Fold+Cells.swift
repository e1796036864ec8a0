import OperationFormat

/// The fold's one step, on a cell of the record's row or on that of an element.
extension Fold {
  /// Which heads of a cell go.
  enum Removal {
    case seen(at: UInt32)
    case head(HeadID)
    case nothing
  }

  func removes(_ removal: Removal, _ head: HeadID) throws -> Bool {
    switch removal {
    case .seen(let index):
      if context.seesAllPlaced { return true }
      return try context.hasSeen(head, at: index) { replica, epoch, sequence, incarnation in
        try storage.offset(of: replica, epoch, sequence, in: context.zone, incarnation)
      }
    case .head(let id):
      return head == id
    case .nothing:
      return false
    }
  }

  /// Whether a removal may take one of a cell's heads away. Those that are kept apart are not looked at.
  func mayRemove(_ removal: Removal, _ heads: InlineHeads) throws -> Bool {
    if heads.total > heads.count { return true }
    for index in 0..<heads.count where try removes(removal, heads[index].head.id) { return true }
    return false
  }

  /// Takes away what the transaction has seen of a cell whose heads lie in the record's row.
  mutating func clearHeads(of cell: CellNumber, seenAt index: UInt32) throws {
    try thin(CellPath(cell), at: index)
    try replace(cell, removing: .seen(at: index), adding: nil)
    try bound.count(removed: 1)
  }

  /// Removes heads of a cell in the record's row, adds one or none, and writes the cell into the row.
  mutating func replace(
    _ cell: CellNumber, removing removal: Removal, adding added: Head?, payload: RawSpan = RawSpan()
  ) throws {
    let place = try place(of: cell)
    // The writer is lent: another's bytes are read while it writes, and nothing is allocated.
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    let done = try edit(CellPath(cell), in: row.span.bytes, place.body, removal, added, payload, to: &edited)
    if done.isContested { conflictCount += 1 }
    splice(edited.span, as: cell, at: place)
    if cell.isFieldRegister, done.hasOtherWinner {
      try note(shownReferences(in: cell, added, payload), at: CellPath(cell))
    }
  }

  /// Appends what becomes of a cell when heads of it are removed and one or none is added: nothing, if none is left.
  func edit(
    _ path: CellPath, in row: RawSpan, _ body: Range<Int>, _ removal: Removal, _ added: Head?,
    _ payload: RawSpan, to edited: inout ByteWriter
  ) throws -> CellEdit {
    let heads = try RecordLayout.heads(of: body, in: row)
    var kept = InlineHeads()
    for index in 0..<heads.count {
      let head = heads[index]
      if try removes(removal, head.head.id) {
        if head.isApart { try storage.deleteElement(key(of: path, head.head.id)) }
      } else {
        kept.append(head)
      }
    }
    guard heads.total == heads.count, kept.count < Cell.inlineHeadsMax else {
      return try editMany(path, in: row, heads, removal, added, payload, to: &edited)
    }
    let isContested =
      added != nil && !heads.areContested(path.cell, in: row)
      && kept.areContested(path.cell, in: row, by: payload)
    let total = kept.count + (added == nil ? 0 : 1)
    if total > 0 { edited.append(varint: UInt64(total)) }
    var pending = added
    var winner: HeadID?
    for index in 0..<kept.count {
      let head = kept[index]
      if let new = pending, try storage.isGreater(new, head.head) {
        try append(new, payload, in: path, to: &edited)
        pending = nil
        winner = winner ?? new.id
      }
      winner = winner ?? head.head.id
      edited.append(row.extracting(head.entry))
    }
    if let new = pending {
      try append(new, payload, in: path, to: &edited)
      winner = winner ?? new.id
    }
    return CellEdit(isContested: isContested, hasOtherWinner: winner != heads.winner)
  }

  /// Appends a new head to the edited cell; a large payload goes to a row of its own.
  private func append(
    _ head: Head, _ payload: RawSpan, in path: CellPath, to edited: inout ByteWriter
  ) throws {
    edited.append(head)
    if payload.byteCount > Cell.inlinePayloadBytesMax {
      try writeApart(head, payload, in: path)
      let mark = Cell.mark(payload.byteCount)
      edited.append(varint: UInt64(mark.count))
      edited.append(mark)
    } else {
      edited.append(varint: UInt64(payload.byteCount))
      edited.append(payload)
    }
  }

  /// Puts an edited cell into the row, or takes the cell out if nothing is left of it.
  mutating func splice(_ edited: RawSpan, as cell: CellNumber, at place: CellPlace) {
    isChanged = true
    existence = .unknown
    guard edited.byteCount > 0 else { return row.removeSubrange(place.entry) }
    let (number, count) = (UInt64(cell.rawValue), UInt64(edited.byteCount))
    let prefixBytes = ByteWriter.varintByteCount(number) + ByteWriter.varintByteCount(count)
    resize(place.entry, to: prefixBytes + edited.byteCount)
    row.withUnsafeMutableBytes { row in
      var pen = Pen(row, at: place.entry.lowerBound)
      pen.write(varint: number)
      pen.write(varint: count)
      pen.write(edited)
    }
  }

  // MARK: Reading

  /// All heads of a cell of the record at hand, greatest first, with their whole payloads.
  package mutating func heads(of path: CellPath) throws -> [OwnedHead] {
    guard let element = path.element else {
      if path.cell.isFieldRegister { try joinRegisters() }
      let place = try place(of: path.cell)
      return try heads(of: path, in: row.span.bytes, place.body)
    }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: element)
    guard let row = try storage.readElement(key) else { return [] }
    return try heads(of: path, in: row.span.bytes, ElementRow.heads(of: row.span.bytes))
  }

  func heads(of path: CellPath, in row: RawSpan, _ body: Range<Int>) throws -> [OwnedHead] {
    try storage.heads(of: path, in: row, body, record: recordNumber, state)
  }

  func wholePayload(of head: InlineHead, in path: CellPath, _ row: RawSpan) throws -> [UInt8] {
    try storage.wholePayload(of: head, in: path, row, record: recordNumber, state)
  }

  // MARK: What lies apart

  func key(of path: CellPath, _ head: HeadID) throws -> ElementKey {
    ElementKey(state: state, record: try recordNumber, path, head: head)
  }

  /// A prefix of the heads of a cell that lie apart.
  func headKey(of path: CellPath) throws -> ElementKey {
    .heads(of: state, record: try recordNumber, path)
  }

  /// The heads of a cell that are stored apart. There may be very many: of a large payload there is the mark alone.
  func headsApart(_ path: CellPath, except inline: [HeadID]) throws -> [OwnedHead] {
    let known = Set(inline)
    var heads: [OwnedHead] = []
    try storage.forEachElement(under: headKey(of: path)) { _, row in
      var reader = ByteReader(row)
      let head = try reader.readHead()
      if known.contains(head.id) { return }
      let payload = try OwnedHead.payload(inApart: row)
      let isLarge = payload.count > Cell.inlinePayloadBytesMax
      heads.append(
        OwnedHead(head: head, payload: isLarge ? Cell.mark(payload.count) : row.extracting(payload).bytes))
    }
    return heads
  }

  func writeApart(_ head: Head, _ payload: RawSpan, in path: CellPath) throws {
    var writer = ByteWriter()
    writer.append(head)
    writer.append(varint: UInt64(payload.byteCount))
    writer.append(payload)
    try storage.writeElement(writer.span, key(of: path, head.id))
  }
}

/// What an edit did to a cell.
struct CellEdit {
  /// Whether it had no losers and got some.
  var isContested = false
  /// Whether another head is the greatest from here on, or none: what it shows is to be read again.
  var hasOtherWinner: Bool
}
