import OperationFormat

/// Writes where space was made.
struct Pen {
  private let row: UnsafeMutableRawBufferPointer
  private(set) var offset: Int

  init(_ row: UnsafeMutableRawBufferPointer, at offset: Int) {
    self.row = row
    self.offset = offset
  }

  @inline(__always)
  mutating func write(_ byte: UInt8) {
    row[offset] = byte
    offset += 1
  }

  @inline(__always)
  mutating func write(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      write(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    write(UInt8(truncatingIfNeeded: rest))
  }

  mutating func write(_ head: Head) {
    row.storeBytes(of: head.timestamp.rawValue.littleEndian, toByteOffset: offset, as: UInt64.self)
    offset += 8
    write(varint: UInt64(head.id.replica.rawValue))
    write(varint: UInt64(head.id.epoch))
    write(varint: head.id.sequence)
    write(varint: UInt64(head.id.index))
  }

  mutating func write(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: row[offset...]).copyMemory(from: bytes)
    }
    offset += bytes.byteCount
  }
}
