import OperationFormat

/// The shortcut of the fold's commonest step. What it does not know for certain it leaves to the general one,
/// which is its oracle: both leave the same bytes.
extension Fold {
  /// Sets a field in a row of version 2, which is not written in version 1 for it: see
  /// ``RowPacking/set(_:to:type:_:in:removes:)``.
  ///
  /// - Returns: false if the row is not so plain. Nothing has changed then.
  mutating func setPacked(
    _ field: NameNumber, type: NameNumber, value: RawSpan, index: UInt32
  ) throws -> Bool {
    guard editsInPlace, value.byteCount <= Cell.inlinePayloadBytesMax, !Value.mayNameRecords(value) else {
      return false
    }
    return try loaded.setPacked(
      CellNumber(register: field), to: value, type: type, step.head(at: index)
    ) { try step.removes(.seen(at: index), $0) }
  }

  /// Sets a field where the row has one head of the record's existence and one or none of the field, and the
  /// transaction has seen them: the heads are overwritten in place.
  ///
  /// - Returns: false if the row is not so plain. Nothing has changed then.
  mutating func setInPlace(
    _ field: NameNumber, type: NameNumber, value: RawSpan, index: UInt32
  ) throws -> Bool {
    let cell = CellNumber(register: field)
    try loaded.joinRegisters()
    if loaded.isWide { try loaded.openBlock(of: cell) }
    guard value.byteCount <= Cell.inlinePayloadBytesMax, !Value.mayNameRecords(value),
      var existence = plainExistence(), existence.type == type,
      RecordRow.flags(of: loaded.bytes.span.bytes).subtracting(.wide).isEmpty,
      let plain = PlainField(loaded.bytes.span.bytes, cell, after: existence),
      try step.removes(.seen(at: index), existence.id)
    else { return false }
    if let head = plain.head, try !step.removes(.seen(at: index), head) { return false }
    let head = step.head(at: index)
    let headBytes = head.byteCount
    let existenceBytes = existence.bodyBytes + headBytes - existence.headBytes
    guard existenceBytes < 0x80 else { return false }

    // The field comes after the record's existence, which does not move.
    let bodyBytes = 1 + headBytes + ByteWriter.varintByteCount(UInt64(value.byteCount)) + value.byteCount
    let entryBytes =
      ByteWriter.varintByteCount(UInt64(cell.rawValue)) + ByteWriter.varintByteCount(UInt64(bodyBytes))
      + bodyBytes
    let start = existence.headStart
    loaded.resize(plain.entry, to: entryBytes)
    loaded.resize(start..<start + existence.headBytes, to: headBytes)
    let moved = headBytes - existence.headBytes
    let end = loaded.bytes.withUnsafeMutableBytes { row in
      row[start - 2] = UInt8(existenceBytes)
      var pen = Pen(row, at: start)
      pen.write(head)
      pen = Pen(row, at: plain.entry.lowerBound + moved)
      pen.write(varint: UInt64(cell.rawValue))
      pen.write(varint: UInt64(bodyBytes))
      pen.write(1)
      pen.write(head)
      pen.write(varint: UInt64(value.byteCount))
      pen.write(value)
      return pen.offset
    }
    assert(end == plain.entry.lowerBound + moved + entryBytes, "a field that ends at \(end)")
    existence.id = head.id
    existence.headBytes = headBytes
    existence.bodyBytes = existenceBytes
    existence.end += moved
    loaded.existence = .plain(existence)
    loaded.isChanged = true
    return true
  }

  /// The existence of the loaded record if it is plain; nil where only the general step can decide.
  mutating func plainExistence() -> PlainRow.Existence? {
    guard editsInPlace, !PackedRow.isPacked(loaded.bytes.span.bytes) else { return nil }
    if case .unknown = loaded.existence {
      loaded.existence = PlainRow.existence(in: loaded.bytes.span.bytes).map { .plain($0) } ?? .other
    }
    guard case .plain(let plain) = loaded.existence else { return nil }
    return plain
  }
}
