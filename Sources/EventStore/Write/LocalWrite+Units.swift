import LMDB
import OperationFormat

/// Changes of lists and texts. An app names indexes; an operation names units.
extension LocalWrite {
  /// Changes a list or a text of a record.
  ///
  /// - Parameter changes: gets the units, and returns the changes to make.
  func edit(
    _ field: Name, _ kind: FieldKind, of record: RecordID,
    _ changes: (borrowing FoundUnits) throws -> [FieldChange]
  ) throws {
    try field.check("a field's name", Limits.nameBytesMax)
    let draft = try draft(for: record.zone)
    let found = try markingUnexpectedFailure {
      try record.name.withBytes { name in try units(of: field, kind, of: name, in: draft).map(changes) }
    }
    guard let found else { throw try unknown(record) }
    for change in found { try self.change(field, of: record, change) }
  }

  func insertText(_ text: String, at index: Int, in field: Name, of record: RecordID) throws {
    try field.check("a field's name", Limits.nameBytesMax)
    let draft = try draft(for: record.zone)
    try markingUnexpectedFailure {
      try record.name.withBytes { name in
        guard try insert(text, at: index, field, of: name, in: draft) else {
          throw try unknown(record)
        }
      }
    }
  }

  /// The units of a list or a text of a record that is alive in the write; nil if there is no such record.
  private func units(
    of field: Name, _ kind: FieldKind, of record: RawSpan, in draft: ZoneDraft
  ) throws -> FoundUnits? {
    guard try aliveType(of: record, in: draft) != nil, try store.fold.load(record, in: draft.state) else {
      return nil
    }
    let cell = CellNumber(try internName(field), kind)
    focus(draft)
    return FoundUnits(
      cell: cell, order: try store.fold.unitOrder(of: cell), write: self, index: draft.nextIndex)
  }

  /// Inserts text. If it follows the text that the write's last operation inserted, it becomes a part of that
  /// operation.
  ///
  /// - Returns: false if there is no such record.
  func insert(
    _ text: String, at index: Int, _ field: Name, of record: RawSpan, in draft: ZoneDraft
  ) throws -> Bool {
    guard let units = try units(of: field, .text, of: record, in: draft) else { return false }
    let number = try internName(field)
    let origin = try units.origin(before: index, field)
    if text.isEmpty { return true }
    if let typed = draft.content.typed, typed.index + 1 == draft.nextIndex, typed.field == number,
      typed.last == origin, equalBytes(typed.record.span.bytes, record),
      typed.text.utf8.count + text.utf8.count <= TypedText.bytesMax
    {
      return try join(text, to: typed, of: record, in: draft)
    }
    var origins = try origin.map { try units.reference($0) }
    for part in text.parts(utf8Max: Limits.insertedTextBytesMax) {
      var operand = ByteWriter()
      try FieldChange.insertText(part, after: origins).encode(into: &operand)
      let index = draft.nextIndex
      _ = try applyChange(field, of: record, .insertText, operand: operand.span, in: draft)
      let last = try lastUnit(of: CellNumber(number, .text), draft)
      draft.content.typed = TypedText(
        record: record.bytes, field: number, index: index, origin: origins, text: part, last: last)
      origins = UnitReference(number: last.number)
    }
    return true
  }

  /// Extends the text that the write's last operation inserts.
  private func join(
    _ text: String, to typed: TypedText, of record: RawSpan, in draft: ZoneDraft
  ) throws -> Bool {
    guard let type = try aliveType(of: record, in: draft), try store.fold.load(record, in: draft.state) else {
      return false
    }
    try check(type, of: record, in: draft)
    var more = ByteWriter()
    try FieldChange.insertText(text, after: UnitReference(number: typed.last.number)).encode(into: &more)
    // The record already has the operation's head that says that it is alive.
    let cell = CellNumber(typed.field, .text)
    try markingFailure {
      try store.fold.willChange(.insertText, typed.field, type: type, operand: more.span)
      try TextKind.apply(.insertText, more.span, to: cell, index: typed.index, in: &store.fold)
    }
    var typed = typed
    typed.text += text
    typed.last = try lastUnit(of: cell, draft)
    var whole = ByteWriter()
    try FieldChange.insertText(typed.text, after: typed.origin).encode(into: &whole)
    draft.encoder.removeLast()
    try encode(.insertText, typed.field, of: record, type, operand: whole.span, in: draft)
    draft.content.typed = typed
    return true
  }

  /// The last unit that the write's replica has inserted into a cell.
  private func lastUnit(of cell: CellNumber, _ draft: ZoneDraft) throws -> UnitID {
    let (replica, epoch) = (draft.target.context.replica, draft.target.context.epoch)
    let next = try store.fold.unitOrder(of: cell).nextNumber(of: replica, epoch)
    precondition(next > 0, "an insertion that made no unit")
    return UnitID(replica: replica, epoch: epoch, number: next - 1)
  }
}

extension String {
  /// The text in parts of whole scalars, each with at most so many bytes.
  fileprivate func parts(utf8Max: Int) -> [String] {
    if utf8.count <= utf8Max { return [self] }
    var parts: [String] = []
    var part = String.UnicodeScalarView()
    var byteCount = 0
    for scalar in unicodeScalars {
      let width = UTF8.width(scalar)
      if byteCount + width > utf8Max {
        parts.append(String(part))
        part = String.UnicodeScalarView()
        byteCount = 0
      }
      part.append(scalar)
      byteCount += width
    }
    parts.append(String(part))
    return parts
  }
}
