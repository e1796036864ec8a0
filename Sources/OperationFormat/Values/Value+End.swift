extension Value {
  /// Where an encoded value ends, if its first bytes tell; nil for a reference, an array or a map, and for
  /// bytes that are no value or are cut. The value is not checked.
  ///
  /// - Complexity: O(1)
  @inlinable @inline(__always)
  package static func end(ofValueAt start: Int, in bytes: RawSpan) -> Int? {
    // Most values are texts or bytes, tags 6 and 7, of under 128 bytes.
    if start &+ 2 <= bytes.byteCount {
      let pair = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt16.self))
      if pair & 0x80fe == 6 {
        let end = start &+ 2 &+ Int(pair >> 8)
        return end <= bytes.byteCount ? end : nil
      }
    }
    return longEnd(ofValueAt: start, in: bytes)
  }

  @usableFromInline @inline(never)
  static func longEnd(ofValueAt start: Int, in bytes: RawSpan) -> Int? {
    guard start < bytes.byteCount else { return nil }
    var end = start + 1
    switch ValueTag(rawValue: bytes.unsafeLoad(fromByteOffset: start, as: UInt8.self)) {
    case .null, .false, .true: break
    case .int: end = endOfNumber(at: end, in: bytes)
    case .double, .date: end += 8
    case .decimal: end = endOfNumber(at: endOfNumber(at: end, in: bytes), in: bytes)
    case .string, .bytes:
      var reader = ByteReader(bytes, at: end)
      do throws(FormatError) {
        end = try reader.readBytes(try reader.readCount("value"), "value").upperBound
      } catch {
        return nil
      }
    case .uuid: end += 16
    case .asset: end = endOfNumber(at: end + ContentHash.byteCount, in: bytes)
    case .reference, .array, .map, nil: return nil
    }
    return end <= bytes.byteCount ? end : nil
  }

  /// Where a number of variable length ends; behind the last byte if it is cut, or longer than any number.
  private static func endOfNumber(at start: Int, in bytes: RawSpan) -> Int {
    var end = start
    while end < bytes.byteCount, end - start < numberBytesMax {
      end += 1
      if bytes.unsafeLoad(fromByteOffset: end - 1, as: UInt8.self) < 0x80 { return end }
    }
    return bytes.byteCount + 1
  }

  /// The longest number of variable length has 128 bits.
  private static var numberBytesMax: Int { 19 }
}
