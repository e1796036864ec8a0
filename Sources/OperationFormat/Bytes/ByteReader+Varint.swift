/// Numbers of variable length: unsigned LEB128, 7 bits a byte, least significant first. Each byte but the
/// last has its top bit set. Only the shortest form is allowed.
extension ByteReader {
  /// Reads an unsigned number of 1 to 10 bytes.
  @inlinable @inline(__always)
  package mutating func readVarint(_ subject: StaticString) throws(FormatError) -> UInt64 {
    if cursor < limit {
      let byte = span.unsafeLoad(fromByteOffset: cursor, as: UInt8.self)
      if byte < 0x80 {
        cursor &+= 1
        return UInt64(byte)
      }
    }
    return try readLongVarint(subject, as: UInt64.self)
  }

  /// Reads a signed number, a varint in zigzag form.
  @inlinable
  package mutating func readZigzag(_ subject: StaticString) throws(FormatError) -> Int64 {
    unzigzag(try readVarint(subject))
  }

  /// Reads an unsigned number of 1 to 19 bytes.
  mutating func readVarint128(_ subject: StaticString) throws(FormatError) -> UInt128 {
    try readLongVarint(subject, as: UInt128.self)
  }

  /// Reads a signed number, a 128-bit varint in zigzag form.
  mutating func readZigzag128(_ subject: StaticString) throws(FormatError) -> Int128 {
    let bits = try readVarint128(subject)
    return Int128(bitPattern: bits >> 1) ^ -Int128(bitPattern: bits & 1)
  }

  /// Reads a varint that must be in `range`.
  @inlinable
  package mutating func readVarint(
    _ subject: StaticString, in range: ClosedRange<UInt64>
  ) throws(FormatError) -> UInt64 {
    let start = cursor
    let value = try readVarint(subject)
    guard range.contains(value) else {
      throw fail(
        .invalid, at: start, subject, expected: "\(range.lowerBound) to \(range.upperBound)",
        found: "\(value)")
    }
    return value
  }

  @inline(never)
  @usableFromInline
  mutating func readLongVarint<T: FixedWidthInteger & UnsignedInteger>(
    _ subject: StaticString, as type: T.Type
  ) throws(FormatError) -> T {
    let start = cursor
    var value: T = 0
    var shift = 0
    while true {
      let byte = try readUInt8(subject)
      let bits = T(truncatingIfNeeded: byte & 0x7f)
      guard bits == 0 || bits.leadingZeroBitCount >= shift else {
        throw fail(
          .invalid, at: start, subject, expected: "a number of \(T.bitWidth) bits", found: "a greater one")
      }
      value |= bits << T(truncatingIfNeeded: shift)
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else {
          throw fail(
            .nonCanonical, at: start, subject, expected: "the shortest form", found: "a padded number")
        }
        return value
      }
      shift += 7
      guard shift < T.bitWidth else {
        throw fail(
          .invalid, at: start, subject, expected: "a number of \(T.bitWidth) bits", found: "a longer one")
      }
    }
  }
}
