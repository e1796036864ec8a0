/// How far a value may still reach, while it is read: the same for the decoder and the validator.
struct ValueExtent {
  /// The offset in the reader's span that the value must not pass.
  let end: Int
  /// How many levels deep the next value is.
  let depth: Int

  /// The extent of a whole value that starts where `reader` is.
  init(wholeFrom reader: borrowing ByteReader) {
    end = reader.position + Limits.inlineValueBytesMax
    depth = 1
  }

  private init(end: Int, depth: Int) {
    self.end = end
    self.depth = depth
  }

  /// The extent of the elements of a value with this one.
  func nested() -> ValueExtent { ValueExtent(end: end, depth: depth + 1) }

  /// Throws unless the value that starts with the next byte has an allowed depth.
  func checkDepth(_ reader: borrowing ByteReader) throws(FormatError) {
    guard depth <= Limits.valueDepthMax else {
      throw reader.fail(
        .limitExceeded, at: reader.position, "value", expected: "a depth of at most \(Limits.valueDepthMax)",
        found: "a deeper one")
    }
  }

  /// Throws if the next `count` bytes, which may not be there, lie beyond the end.
  func checkSize(_ reader: borrowing ByteReader, next count: Int = 0) throws(FormatError) {
    guard reader.position + count <= end else {
      throw reader.fail(
        .limitExceeded, at: reader.position, "value",
        expected: "at most \(Limits.inlineValueBytesMax) bytes", found: "more")
    }
  }
}
