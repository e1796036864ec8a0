/// Appends the primitives of the formats to a buffer, whose memory it reuses.
///
/// The buffer is not an array: an array's check for unique ownership took a tenth of the time of a commit.
package struct ByteWriter: ~Copyable, @unchecked Sendable {
  @usableFromInline var space = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  /// How many bytes are written.
  @usableFromInline package internal(set) var count = 0

  @inlinable
  package init() {}

  @inlinable
  deinit { space.deallocate() }

  /// The written bytes.
  @inlinable
  package var span: RawSpan {
    @_lifetime(borrow self)
    get {
      let span = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: space[..<count]))
      return _overrideLifetime(span, borrowing: self)
    }
  }

  /// A copy of the written bytes.
  @inlinable
  package var bytes: [UInt8] { Array(space[..<count]) }

  /// Removes all bytes, and keeps the memory.
  @inlinable
  package mutating func removeAll() { count = 0 }

  /// Allocates space for `byteCount` more bytes.
  @inlinable @inline(__always)
  package mutating func reserve(_ byteCount: Int) {
    if byteCount > space.count &- count { grow(byteCount) }
  }

  @usableFromInline @inline(never)
  mutating func grow(_ byteCount: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(count + byteCount, 2 * space.count, 32), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: space[..<count]))
    space.deallocate()
    space = larger
  }

  /// Appends bytes that the caller writes, and lends their memory: until the next call.
  package mutating func appendUninitialized(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
    reserve(byteCount)
    count &+= byteCount
    return UnsafeMutableRawBufferPointer(rebasing: space[(count &- byteCount)..<count])
  }

  /// Removes everything after the first `count` bytes.
  @inlinable
  mutating func truncate(to count: Int) {
    precondition(0...self.count ~= count, "\(count) of \(self.count) bytes")
    self.count = count
  }

  @inlinable @inline(__always)
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    space.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Appends an integer of fixed width, least significant byte first.
  @inlinable @inline(__always)
  package mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    withUnsafeBytes(of: value.littleEndian) { append(copying: $0) }
  }

  /// Appends an integer of fixed width, most significant byte first.
  @inlinable @inline(__always)
  package mutating func append(bigEndian value: some FixedWidthInteger & BitwiseCopyable) {
    withUnsafeBytes(of: value.bigEndian) { append(copying: $0) }
  }

  /// Appends an unsigned LEB128 number: 1 to 10 bytes, 7 bits each, least significant first.
  @inlinable
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a count or an index, which must not be negative.
  @inlinable
  package mutating func append(count: Int) {
    append(varint: UInt64(count))
  }

  /// Appends a signed number as a varint in zigzag form: 0, −1, 1, −2 … become 0, 1, 2, 3 …
  @inlinable
  package mutating func append(zigzag value: Int64) {
    append(varint: zigzagBits(value))
  }

  /// Appends a signed number of 128 bits in zigzag form: 1 to 19 bytes.
  mutating func append(zigzag128 value: Int128) {
    var rest = UInt128(bitPattern: (value << 1) ^ (value >> 127))
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a copy of `span`.
  @inlinable
  package mutating func append(_ span: RawSpan) {
    span.withUnsafeBytes { append(copying: $0) }
  }

  /// Appends the byte count of what another writer holds, and a copy of it.
  package mutating func append(counted other: borrowing ByteWriter) {
    append(count: other.count)
    append(other.span)
  }

  /// Takes the last bytes away.
  package mutating func removeLast(_ byteCount: Int) { count -= byteCount }

  /// Inverts all bits from a place on.
  package mutating func invert(from start: Int) {
    for index in start..<count { space[index] = ~space[index] }
  }

  /// Appends a copy of bytes.
  @inlinable
  package mutating func append(_ bytes: [UInt8]) { append(bytes.span.bytes) }

  @usableFromInline
  mutating func append(copying bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: space[count...]).copyMemory(from: bytes)
    count &+= bytes.count
  }

  /// Appends the byte count of `text` and its UTF-8.
  @inlinable
  package mutating func append(text: String) {
    let utf8 = text.utf8Span.span
    append(count: utf8.count)
    append(utf8.bytes)
  }

  /// How many bytes `value` takes as a varint.
  @inlinable
  package static func varintByteCount(_ value: UInt64) -> Int {
    value < 0x80 ? 1 : (70 - value.leadingZeroBitCount) / 7
  }
}
