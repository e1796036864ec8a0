package import OperationFormat

/// The row of an element of a set or a map:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | the encoded element, or the UTF-8 of the key |
/// | … | the cell, as in a record's row. In a map payloads are values, in a set they are empty |
///
/// In the record's row stands how many elements there are, as a varint.
package enum ElementRow {
  /// The range of the element or key in the row.
  package static func identity(of row: RawSpan) throws(FormatError) -> Range<Int> {
    var reader = ByteReader(row)
    let count = try reader.readCount("element.identity")
    return try reader.readBytes(count, "element.identity")
  }

  /// The range of its cell in the row.
  static func heads(of row: RawSpan) throws(FormatError) -> Range<Int> {
    try identity(of: row).upperBound..<row.byteCount
  }

  /// How many elements there are by a cell in a record's row.
  package static func count(in body: RawSpan) throws(FormatError) -> Int {
    if body.isEmpty { return 0 }
    var reader = ByteReader(body)
    let count = try reader.readVarint("cell.count", in: 1...UInt64(Int32.max))
    try reader.finish("cell.count")
    return Int(count)
  }
}
