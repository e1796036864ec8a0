import OperationFormat

/// The index of many heads that are stored apart. It says up to which offset of a remote log all of them were
/// looked at: none of the cell's heads has a place up to there, so that a transaction which has seen no more
/// than that need not look again. Beside it each head has a row in the order of heads, so that the greatest
/// is found.
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
