/// Compares two byte strings as unsigned bytes; a prefix comes before a longer string.
///
/// - Returns: less than 0 if `a` comes before `b`, 0 if they are equal, more than 0 if `a` comes after `b`.
/// - Complexity: O(shorter of the two)
package func compareBytes(_ a: RawSpan, _ b: RawSpan) -> Int {
  let shared = min(a.byteCount, b.byteCount)
  var offset = 0
  while offset &+ 8 <= shared {
    let left = a.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    let right = b.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    if left != right { return left.bigEndian < right.bigEndian ? -1 : 1 }
    offset &+= 8
  }
  while offset < shared {
    let left = a.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    let right = b.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    if left != right { return left < right ? -1 : 1 }
    offset &+= 1
  }
  return a.byteCount - b.byteCount
}

/// Returns whether two byte strings are equal.
///
/// - Complexity: O(n), O(1) when the lengths differ
package func equalBytes(_ a: RawSpan, _ b: RawSpan) -> Bool {
  a.byteCount == b.byteCount && compareBytes(a, b) == 0
}

extension String {
  /// Returns whether two texts have the same UTF-8 bytes. (`==` also equates canonically equivalent texts.)
  func hasSameUTF8(as other: String) -> Bool {
    // This is the most frequent case: the same storage, or a short text, which is stored in the value itself.
    if hasSameRepresentation(as: other) { return true }
    let a = utf8Span.span
    let b = other.utf8Span.span
    return equalBytes(a.bytes, b.bytes)
  }

  /// Returns whether two text values have the same bits, which makes them equal. Equal texts may have
  /// different bits.
  @inlinable @inline(__always)
  package func hasSameRepresentation(as other: String) -> Bool {
    guard let bits, let otherBits = other.bits else { return false }
    return bits == otherBits
  }

  /// The bits of the value: a short text itself, or the address of a long one. Nil on platforms with another
  /// size of `String`.
  @inlinable @inline(__always)
  var bits: SIMD2<UInt64>? {
    withUnsafeBytes(of: self) { $0.count == 16 ? $0.loadUnaligned(as: SIMD2<UInt64>.self) : nil }
  }

  /// Returns whether this text's UTF-8 bytes come before those of another.
  func precedesByUTF8(_ other: String) -> Bool {
    let a = utf8Span.span
    let b = other.utf8Span.span
    return compareBytes(a.bytes, b.bytes) < 0
  }

  /// Feeds the UTF-8 bytes to a hasher, and then a byte that no UTF-8 text contains.
  func hashUTF8(into hasher: inout Hasher) {
    let bytes = utf8Span.span
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    hasher.combine(0xff as UInt8)
  }
}
