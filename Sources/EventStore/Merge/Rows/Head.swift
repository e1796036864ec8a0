package import OperationFormat

/// Names the operation that made a head, in this store's numbers.
package struct HeadID: Hashable, Comparable, Sendable {
  package var replica: ReplicaNumber
  package var epoch: UInt32
  package var sequence: UInt64
  /// The operation's index in its transaction.
  package var index: UInt32

  package init(replica: ReplicaNumber, epoch: UInt32, sequence: UInt64, index: UInt32) {
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    self.index = index
  }

  /// The order of their keys, in this store's numbers: not that of heads, see ``ReplicaReading/isGreater(_:_:)``.
  package static func < (one: Self, other: Self) -> Bool {
    (one.replica, one.epoch, one.sequence, one.index)
      < (other.replica, other.epoch, other.sequence, other.index)
  }

  func isOfTransaction(_ replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64) -> Bool {
    self.replica == replica && self.epoch == epoch && self.sequence == sequence
  }
}

/// A live value of a cell, without the value: who made it, and its effective timestamp.
package struct Head: Hashable, Sendable {
  package var timestamp: Timestamp
  package var id: HeadID

  package init(timestamp: Timestamp, id: HeadID) {
    self.timestamp = timestamp
    self.id = id
  }
}

/// A head with its payload: an encoded value in a register, an `Existence` in an existence cell.
package struct OwnedHead: Hashable, Sendable {
  package var head: Head
  package var payload: [UInt8]

  package init(head: Head, payload: [UInt8]) {
    self.head = head
    self.payload = payload
  }

  /// Reads the row of a head that has it for itself: the head with its whole payload.
  package init(apart row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    head = try reader.readHead()
    payload = row.extracting(try Self.payload(inApart: row)).bytes
  }

  /// The range of the payload in the row of a head that has it for itself.
  static func payload(inApart row: RawSpan) throws(FormatError) -> Range<Int> {
    var reader = ByteReader(row)
    _ = try reader.readHead()
    let count = try reader.readCount("element.payload")
    let payload = try reader.readBytes(count, "element.payload")
    try reader.finish("element")
    return payload
  }
}

// A head in bytes, in a record's row and in an element's:
//
// | bytes | what |
// |---|---|
// | 8 | effective timestamp, little-endian |
// | varint | replica's number |
// | varint | epoch |
// | varint | sequence |
// | varint | index of the operation in its transaction |
// | varint | count of payload bytes |
// | count | payload |
//
// In a record's row a payload of over `Cell.inlinePayloadBytesMax` is kept apart, in an element row; what
// stands for it is `Cell.apartMark`, then its byte count as a varint.

extension Head {
  /// How many bytes it takes without its payload.
  var byteCount: Int {
    8 + ByteWriter.varintByteCount(UInt64(id.replica.rawValue)) + ByteWriter.varintByteCount(UInt64(id.epoch))
      + ByteWriter.varintByteCount(id.sequence) + ByteWriter.varintByteCount(UInt64(id.index))
  }
}

extension ByteWriter {
  /// Appends a head up to and without its payload.
  mutating func append(_ head: Head) {
    append(littleEndian: head.timestamp.rawValue)
    append(varint: UInt64(head.id.replica.rawValue))
    append(varint: UInt64(head.id.epoch))
    append(varint: head.id.sequence)
    append(varint: UInt64(head.id.index))
  }
}

extension ByteReader {
  /// Reads a head up to and without its payload.
  @_lifetime(self: copy self)
  mutating func readHead() throws(FormatError) -> Head {
    let timestamp = Timestamp(rawValue: try readLittleEndian("head.timestamp", as: UInt64.self))
    let replica = try readUInt32Varint("head.replica")
    let epoch = try readUInt32Varint("head.epoch")
    let sequence = try readVarint("row")
    let index = try readUInt32Varint("head.index")
    return Head(
      timestamp: timestamp,
      id: HeadID(replica: ReplicaNumber(rawValue: replica), epoch: epoch, sequence: sequence, index: index))
  }

  /// Reads a varint that must fit 32 bits.
  @_lifetime(self: copy self)
  mutating func readUInt32Varint(_ subject: StaticString) throws(FormatError) -> UInt32 {
    UInt32(try readVarint(subject, in: 0...UInt64(UInt32.max)))
  }
}
