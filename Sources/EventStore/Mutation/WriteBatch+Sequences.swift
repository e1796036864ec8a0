import LMDB
import OperationFormat

/// Changes of lists and texts by index: what an app says of indexes, an operation says of units.
extension WriteBatch {
  /// Text that the operation at hand has inserted, and that what is typed behind it joins.
  struct TypedText {
    var record: [UInt8]
    var field: NameNumber
    var index: UInt32
    var origin: UnitReference?
    var text: String
    /// Its last unit.
    var last: UnitID

    /// Longer ones end: to join costs as much as there is.
    static let bytesMax = 4096
  }

  /// Finds what is to be done to a list or a text of a record that is alive in the write; nil if there is none.
  ///
  /// - Parameter body: gets the units, and gives what is done to them.
  func changes(
    of field: Name, _ kind: FieldKind, of record: RawSpan, in draft: Draft,
    _ body: (borrowing Units) throws -> [FieldChange]
  ) throws -> [FieldChange]? {
    guard try aliveType(of: record, in: draft) != nil else { return nil }
    let cell = CellNumber(try internName(field), kind)
    focus(draft)
    let index = UInt32(draft.builder.operationCount)
    return try body(Units(sequence: try fold.sequence(of: cell), batch: self, index: index))
  }

  /// Inserts text, by the operation that inserted the text in front of it where that is the write's last one.
  func insert(
    _ text: String, at place: Int, _ field: Name, of record: RawSpan, in draft: Draft
  ) throws -> Bool {
    guard try aliveType(of: record, in: draft) != nil else { return false }
    let number = try internName(field)
    focus(draft)
    let cell = CellNumber(number, .text)
    let count = UInt32(draft.builder.operationCount)
    let units = Units(sequence: try fold.sequence(of: cell), batch: self, index: count)
    let origin = try units.origin(before: place, field)
    if text.isEmpty { return true }
    if let typed = draft.typed, typed.index + 1 == count, typed.field == number, typed.last == origin,
      equalBytes(typed.record.span.bytes, record),
      typed.text.utf8.count + text.utf8.count <= TypedText.bytesMax
    {
      return try join(text, to: typed, of: record, in: draft)
    }
    var origins = try origin.map { try units.reference($0) }
    for part in text.parts(utf8Max: Limits.insertedTextBytesMax) {
      var operand = ByteWriter()
      try FieldChange.insertText(part, after: origins).encode(into: &operand)
      let index = UInt32(draft.builder.operationCount)
      _ = try change(field, of: record, .insertText, operand: operand.span, in: draft)
      let last = try lastUnit(of: cell, draft)
      draft.typed = TypedText(
        record: record.bytes, field: number, index: index, origin: origins, text: part, last: last)
      origins = UnitReference(number: last.number)
    }
    return true
  }

  /// Makes the write's last operation one that inserts more text.
  private func join(
    _ text: String, to typed: TypedText, of record: RawSpan, in draft: Draft
  ) throws -> Bool {
    guard let type = try aliveType(of: record, in: draft) else { return false }
    var more = ByteWriter()
    try FieldChange.insertText(text, after: UnitReference(number: typed.last.number)).encode(into: &more)
    // The record has the operation's head already that says that it is alive.
    let cell = CellNumber(typed.field, .text)
    try folding { try fold.changeText(.insertText, cell, more.span, index: typed.index) }
    var typed = typed
    typed.text += text
    typed.last = try lastUnit(of: cell, draft)
    var whole = ByteWriter()
    try FieldChange.insertText(typed.text, after: typed.origin).encode(into: &whole)
    draft.builder.removeLast()
    try log(typed.field, of: record, type, .insertText, operand: whole.span, in: draft)
    draft.typed = typed
    return true
  }

  /// The last unit that the write's replica has inserted into a cell.
  private func lastUnit(of cell: CellNumber, _ draft: Draft) throws -> UnitID {
    let (replica, epoch) = (draft.context.replica, draft.context.epoch)
    let next = try fold.sequence(of: cell).nextNumber(of: replica, epoch)
    precondition(next > 0, "an insertion that made no unit")
    return UnitID(replica: replica, epoch: epoch, number: next - 1)
  }

  /// The units of a list or a text as an operation of the write finds them.
  struct Units {
    let sequence: UnitOrder<TableStorage>
    let batch: WriteBatch
    /// The operation's place in its transaction.
    let index: UInt32

    var count: Int { sequence.count }

    /// The unit behind which to insert, so that it comes before an index.
    func origin(before index: Int, _ field: Name) throws -> UnitID? {
      try StoreError.check(index..<index, of: count, field)
      return try sequence.leftOrigin(ofVisible: index) { try batch.fold.hasSeen($0, at: self.index) }
    }

    /// A unit as the write's operations name it.
    func reference(_ unit: UnitID) throws -> UnitReference {
      let own = batch.fold.context
      if unit.replica == own.replica && unit.epoch == own.epoch { return UnitReference(number: unit.number) }
      return UnitReference(
        maker: UnitMaker(replica: try batch.storage.replicaID(unit.replica), epoch: unit.epoch),
        number: unit.number)
    }

    /// The element of a list at an index.
    func element(at index: Int, _ field: Name) throws -> UnitReference {
      try StoreError.check(index..<index + 1, of: count, field)
      let (unit, element) = try sequence.unit(at: index)
      return try reference(element ?? unit)
    }

    /// The units in a range of indexes, in groups of as many as one operation may name.
    func runs(_ range: Range<Int>, _ field: Name) throws -> [[UnitSpan]] {
      try StoreError.check(range, of: count, field)
      return groups(
        try sequence.units(range).map { UnitSpan(first: try reference($0.first), count: $0.count) })
    }

    /// The elements of a list in a range of indexes, likewise.
    func elements(_ range: Range<Int>, _ field: Name) throws -> [[UnitSpan]] {
      try StoreError.check(range, of: count, field)
      var runs: [UnitSpan] = []
      try sequence.forEachElement(in: range) { unit in
        let reference = try reference(unit)
        if let last = runs.last, last.first.maker == reference.maker,
          last.first.number &+ last.count == reference.number
        {
          runs[runs.count - 1].count += 1
        } else {
          runs.append(UnitSpan(first: reference, count: 1))
        }
      }
      return groups(runs)
    }

    private func groups(_ runs: [UnitSpan]) -> [[UnitSpan]] {
      stride(from: 0, to: runs.count, by: Limits.operationMakersMax).map {
        Array(runs[$0..<min($0 + Limits.operationMakersMax, runs.count)])
      }
    }
  }
}

extension String {
  /// The text in parts of at most so many bytes, each of whole scalars.
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
