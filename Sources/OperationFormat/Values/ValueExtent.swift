/// The space and depth that a value may still take while it is read. The decoder and the validator share it.
struct ValueExtent {
  /// The offset in the reader's span where the value must end at the latest.
  let end: Int
  /// How many levels deep the next value is.
  let depth: Int

  /// The extent of a whole value that starts at the reader's position.
  init(wholeFrom reader: borrowing ByteReader) {
    end = reader.position + Limits.inlineValueBytesMax
    depth = 1
  }

  private init(end: Int, depth: Int) {
    self.end = end
    self.depth = depth
  }

  /// The extent for the elements of a value with this extent.
  func nested() -> ValueExtent { ValueExtent(end: end, depth: depth + 1) }

  /// Throws unless the value that starts with the next byte has an allowed depth.
  func checkDepth(_ reader: borrowing ByteReader) throws(FormatError) {
    guard depth <= Limits.valueDepthMax else {
      throw reader.fail(
        .limitExceeded, at: reader.position, "value", expected: "a depth of at most \(Limits.valueDepthMax)",
        found: "a deeper one")
    }
  }

  /// Throws if the next `count` bytes would pass the end. The bytes need not exist.
  func checkSize(_ reader: borrowing ByteReader, next count: Int = 0) throws(FormatError) {
    guard reader.position + count <= end else {
      throw reader.fail(
        .limitExceeded, at: reader.position, "value",
        expected: "at most \(Limits.inlineValueBytesMax) bytes", found: "more")
    }
  }
}
