/// Reads the primitives of the formats from a span, from start to end.
///
/// Any bytes give a value or a ``FormatError``. Every method takes a subject, which an error then names. Do
/// not use the reader after an error. Invariant: `0 ≤ position ≤ end ≤ span.byteCount`.
package struct ByteReader: ~Escapable {
  @usableFromInline let span: RawSpan
  @usableFromInline let origin: Int
  @usableFromInline var cursor: Int
  @usableFromInline var limit: Int

  /// Creates a reader that starts at `offset` in `span`.
  ///
  /// - Parameter origin: the offset of the span's first byte in the whole that is decoded. It is added only
  ///   to the offsets of errors.
  @_lifetime(copy span)
  package init(_ span: RawSpan, at offset: Int = 0, origin: Int = 0) {
    precondition(offset >= 0 && offset <= span.byteCount, "the start is outside the span")
    self.span = span
    self.origin = origin
    cursor = offset
    limit = span.byteCount
  }

  /// The offset in the span of the next byte to read.
  @inlinable
  package var position: Int { cursor }

  /// The offset in the span at which reading ends.
  @inlinable
  package var end: Int { limit }

  /// How many bytes are left.
  @inlinable
  package var remaining: Int { limit &- cursor }

  /// The bytes of the span in `range`, which must be inside it.
  @_lifetime(copy self)
  package func bytes(in range: Range<Int>) -> RawSpan { span.extracting(range) }

  // MARK: Bytes

  @inlinable @inline(__always)
  package mutating func readUInt8(_ subject: StaticString) throws(FormatError) -> UInt8 {
    guard cursor < limit else { throw truncated(subject, needs: 1) }
    let byte = span.unsafeLoad(fromByteOffset: cursor, as: UInt8.self)
    cursor &+= 1
    return byte
  }

  /// Reads an integer of fixed width, least significant byte first.
  @inlinable @inline(__always)
  package mutating func readLittleEndian<T: FixedWidthInteger & BitwiseCopyable>(
    _ subject: StaticString, as type: T.Type = T.self
  ) throws(FormatError) -> T {
    let size = MemoryLayout<T>.size
    guard size <= remaining else { throw truncated(subject, needs: size) }
    let stored = span.unsafeLoadUnaligned(fromByteOffset: cursor, as: T.self)
    cursor &+= size
    return T(littleEndian: stored)
  }

  /// Reads an integer of fixed width, most significant byte first.
  @inlinable
  package mutating func readBigEndian<T: FixedWidthInteger & BitwiseCopyable>(
    _ subject: StaticString, as type: T.Type = T.self
  ) throws(FormatError) -> T {
    try readLittleEndian(subject, as: T.self).byteSwapped
  }

  /// Skips `count` bytes and returns their range in the span.
  @inlinable @inline(__always)
  package mutating func readBytes(_ count: Int, _ subject: StaticString) throws(FormatError) -> Range<Int> {
    guard count >= 0 && count <= remaining else { throw truncated(subject, needs: count) }
    let start = cursor
    cursor &+= count
    return Range(uncheckedBounds: (start, cursor))
  }

  /// Skips all bytes that are left, and returns them.
  @_lifetime(copy self)
  mutating func readRest() -> RawSpan {
    let start = cursor
    cursor = limit
    return span.extracting(start..<limit)
  }

  /// Reads a count of elements that take at least `elementBytesMin` bytes each. Checks it against the bytes
  /// left, so that a caller may allocate memory for that many.
  @inlinable @inline(__always)
  package mutating func readCount(
    _ subject: StaticString, elementBytesMin: Int = 1, max: Int = .max
  ) throws(FormatError) -> Int {
    let start = cursor
    let count = try readVarint(subject)
    guard count <= UInt64(max), count <= UInt64(remaining / elementBytesMin) else {
      throw badCount(count, at: start, subject, max)
    }
    return Int(count)
  }

  /// Reads a byte count and that many bytes of UTF-8. Returns the text's range in the span.
  mutating func readText(
    _ subject: StaticString, bytesMin: Int = 0, bytesMax: Int
  ) throws(FormatError) -> Range<Int> {
    let start = cursor
    let count = try readCount(subject, max: bytesMax)
    guard count >= bytesMin else {
      throw fail(.invalid, at: start, subject, expected: "at least \(bytesMin) byte", found: "\(count)")
    }
    let range = try readBytes(count, subject)
    guard isUTF8(span.extracting(range)) else {
      throw fail(.invalidUTF8, at: range.lowerBound, subject, expected: "UTF-8", found: "other bytes")
    }
    return range
  }

  /// Reads a byte count and that many bytes of UTF-8, as a string.
  mutating func readString(
    _ subject: StaticString, bytesMin: Int = 0, bytesMax: Int
  ) throws(FormatError) -> String {
    string(in: try readText(subject, bytesMin: bytesMin, bytesMax: bytesMax))
  }

  /// Copies bytes that ``readText(_:bytesMin:bytesMax:)`` has checked, as a string.
  package func string(in range: Range<Int>) -> String {
    span.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: The end

  /// Limits reading to the next `count` bytes, which must exist, until ``widen(to:)``.
  ///
  /// - Returns: the previous end.
  mutating func narrow(toNext count: Int) -> Int {
    precondition(count >= 0 && count <= remaining, "the narrower end is beyond the end")
    defer { limit = cursor + count }
    return limit
  }

  /// Restores an end that ``narrow(toNext:)`` returned.
  mutating func widen(to end: Int) {
    precondition(end >= limit && end <= span.byteCount, "the wider end is outside the span")
    limit = end
  }

  /// Throws `.trailingBytes` unless everything up to the end was read.
  package func finish(_ subject: StaticString) throws(FormatError) {
    guard remaining == 0 else {
      throw fail(
        .trailingBytes, at: cursor, subject, expected: "the end", found: "\(remaining) bytes more")
    }
  }

  // MARK: Errors

  /// Creates an error about the bytes at `position` in the span.
  @inline(never)
  package func fail(
    _ code: FormatError.Code, at position: Int, _ subject: StaticString, expected: String, found: String
  ) -> FormatError {
    FormatError(code, at: origin + position, in: "\(subject)", expected: expected, found: found)
  }

  @inline(never)
  @usableFromInline
  func badCount(_ count: UInt64, at start: Int, _ subject: StaticString, _ max: Int) -> FormatError {
    guard count <= UInt64(max) else {
      return fail(.limitExceeded, at: start, subject, expected: "at most \(max)", found: "\(count)")
    }
    return fail(
      .truncated, at: start, subject, expected: "no more than fits into the \(remaining) bytes left",
      found: "\(count)")
  }

  @inline(never)
  @usableFromInline
  func truncated(_ subject: StaticString, needs count: Int) -> FormatError {
    fail(.truncated, at: cursor, subject, expected: "\(count) bytes", found: "\(remaining)")
  }
}

extension ByteReader {
  /// Reads a version byte, which must be `version`, and flags. Only the flags in the mask may be set.
  mutating func readVersionAndFlags(
    _ subject: StaticString, version: UInt8, flagsMask: UInt8
  ) throws(FormatError) -> UInt8 {
    try readVersionAndFlags(subject, versions: version...version, flagsMask: flagsMask)
  }

  /// The same for any of several versions.
  mutating func readVersionAndFlags(
    _ subject: StaticString, versions: ClosedRange<UInt8>, flagsMask: UInt8
  ) throws(FormatError) -> UInt8 {
    let start = position
    let found = try readUInt8(subject)
    guard versions ~= found else {
      let least = versions.count == 1 ? "" : "\(versions.lowerBound) to "
      throw fail(
        found > versions.upperBound ? .newerFormat : .invalid, at: start, subject,
        expected: "version \(least)\(versions.upperBound)", found: "\(found)")
    }
    let flags = try readUInt8(subject)
    guard flags & ~flagsMask == 0 else {
      throw fail(
        .newerFormat, at: start + 1, subject, expected: "flags among \(flagsMask)", found: "\(flags)")
    }
    return flags
  }
}

/// Returns whether bytes are well-formed UTF-8.
package func isUTF8(_ bytes: RawSpan) -> Bool {
  // Nearly all names are ASCII.
  if isASCII(bytes) { return true }
  return bytes.withUnsafeBytes { bytes in
    let units = bytes.assumingMemoryBound(to: UInt8.self)
    return (try? UTF8Span(validating: units.span)) != nil
  }
}

/// Returns whether all bytes are ASCII.
@inline(__always)
package func isASCII(_ bytes: RawSpan) -> Bool {
  var offset = 0
  while offset &+ 8 <= bytes.byteCount {
    let word = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    if word & 0x8080_8080_8080_8080 != 0 { return false }
    offset &+= 8
  }
  while offset < bytes.byteCount {
    if bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) >= 0x80 { return false }
    offset &+= 1
  }
  return true
}
