/// Appends the primitives of the formats to bytes that keep their capacity from one use to the next.
package struct ByteWriter: Sendable {
  /// What has been written.
  package var bytes: [UInt8] = []

  @inlinable
  package init() {}

  /// How many bytes have been written.
  @inlinable
  package var count: Int { bytes.count }

  @inlinable
  package mutating func removeAll(keepingCapacity: Bool = true) {
    bytes.removeAll(keepingCapacity: keepingCapacity)
  }

  /// Takes back everything after the first `count` bytes.
  @inlinable
  package mutating func truncate(to count: Int) {
    bytes.removeLast(bytes.count - count)
  }

  @inlinable
  package mutating func append(_ byte: UInt8) {
    bytes.append(byte)
  }

  /// Appends an integer of fixed width, least significant byte first.
  @inlinable
  package mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends an integer of fixed width, most significant byte first.
  @inlinable
  package mutating func append(bigEndian value: some FixedWidthInteger & BitwiseCopyable) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends an unsigned LEB128 number: 1 to 10 bytes, 7 bits each, least significant first.
  @inlinable
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a count or an index, which must not be negative.
  @inlinable
  package mutating func append(count: Int) {
    append(varint: UInt64(count))
  }

  /// Appends a signed number as a varint of its zigzag form: 0, −1, 1, −2 … become 0, 1, 2, 3 …
  @inlinable
  package mutating func append(zigzag value: Int64) {
    append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// Appends a signed number of 128 bits in zigzag form: 1 to 19 bytes.
  package mutating func append(zigzag128 value: Int128) {
    var rest = UInt128(bitPattern: (value << 1) ^ (value >> 127))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a copy of `span`.
  @inlinable
  package mutating func append(_ span: RawSpan) {
    span.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  /// Appends the byte count of `text` and its UTF-8.
  @inlinable
  package mutating func append(text: String) {
    let utf8 = text.utf8Span.span
    append(count: utf8.count)
    append(utf8.bytes)
  }

  /// Appends the byte count of `name` and its UTF-8.
  @inlinable
  package mutating func append(name: Name) {
    append(text: name.rawValue)
  }

  /// How many bytes `value` takes as a varint.
  @inlinable
  package static func varintByteCount(_ value: UInt64) -> Int {
    max(1, (70 - value.leadingZeroBitCount) / 7)
  }
}
