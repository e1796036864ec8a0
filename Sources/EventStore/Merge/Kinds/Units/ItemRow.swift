package import OperationFormat

/// What of an element of a list is the last writer's.
package enum ItemRegister: Sendable, CaseIterable {
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
/// | varint, count | the cell of its places, as in a record's row |
/// | … | the cell of its values |
///
/// The payload of a place's head is twice the number of its unit (varint); the head's replica and epoch made
/// that unit. An even number never begins with `Cell.apartMark`.
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
    let heads = try RecordRow.heads(of: try ItemRow(row).places, in: row)
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
  mutating func append(place: UnitID) { append(varint: 2 * place.number) }
}
