import OperationFormat

/// The index of a cell's many heads, which are stored in rows of their own. It holds an offset of a remote
/// log: no head has a place at or before it. So a transaction that has seen no further need not look at the
/// heads. Each head also has a row in the order of heads, so that the greatest is found.
///
/// | bytes | what |
/// |---|---|
/// | 1 | version, 1 |
/// | varint | number of the log's incarnation, 0 for none |
/// | varint | the offset, 0 for none |
struct ApartIndex: Hashable, Sendable {
  /// Whose offset it is.
  private(set) var incarnation = IncarnationNumber.none
  private(set) var offset: UInt64 = 0

  init() {}

  /// The offset up to which all heads are known. A zone has places in one incarnation, so no other is kept.
  func floor(in incarnation: IncarnationNumber) -> UInt64 { incarnation == self.incarnation ? offset : 0 }

  mutating func setFloor(_ offset: UInt64, in incarnation: IncarnationNumber) {
    self.incarnation = incarnation
    self.offset = offset
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("apart index")
    incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("apart.incarnation"))
    offset = try reader.readVarint("apart.offset")
    try reader.finish("apart index")
  }

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(varint: UInt64(incarnation.rawValue))
    writer.append(varint: offset)
  }
}
