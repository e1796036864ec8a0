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

  /// Writes some of a number's bytes, little-endian. It takes the space of eight.
  @inline(__always)
  mutating func write(_ value: UInt64, byteCount: Int) {
    row.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    offset += byteCount
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

  /// Writes a part of some bytes, which is in them.
  @inline(__always)
  mutating func write(_ bytes: RawSpan, _ range: Range<Int>) {
    let byteCount = range.count
    // Most are short: a call would take longer.
    guard 8...64 ~= byteCount else { return write(bytes.extracting(range)) }
    let last = byteCount &- 8
    var place = 0
    while place < last {
      copyWord(bytes, range.lowerBound &+ place, at: offset &+ place)
      place &+= 8
    }
    copyWord(bytes, range.lowerBound &+ last, at: offset &+ last)
    offset &+= byteCount
  }

  @inline(__always)
  private func copyWord(_ bytes: RawSpan, _ source: Int, at target: Int) {
    row.storeBytes(
      of: bytes.unsafeLoadUnaligned(fromByteOffset: source, as: UInt64.self), toByteOffset: target,
      as: UInt64.self)
  }

  /// Puts a number in the place of a byte, and moves what was written after it.
  @inline(__always)
  mutating func replace(byteAt place: Int, by value: UInt64) {
    if value < 0x80 { row[place] = UInt8(truncatingIfNeeded: value) } else { insert(value, at: place) }
  }

  @inline(never)
  private mutating func insert(_ value: UInt64, at place: Int) {
    move(from: place + 1, by: ByteWriter.varintByteCount(value) - 1)
    var front = Pen(row, at: place)
    front.write(varint: value)
  }

  /// Moves what was written from an offset on by some bytes.
  mutating func move(from start: Int, by distance: Int) {
    UnsafeMutableRawBufferPointer(rebasing: row[(start + distance)...]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: row[start..<offset]))
    offset += distance
  }
}
