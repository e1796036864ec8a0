/// Reads the parts of values and checks their rules. The decoder and the validator share it.
extension ByteReader {
  mutating func readValueTag(_ extent: ValueExtent) throws(FormatError) -> ValueTag {
    try extent.checkDepth(self)
    let start = position
    let byte = try readUInt8("value.tag")
    guard let tag = ValueTag(rawValue: byte) else {
      throw fail(.unknownTag, at: start, "value.tag", expected: "0 to 13", found: "\(byte)")
    }
    return tag
  }

  mutating func readDouble() throws(FormatError) -> Double {
    let start = position
    let bits = try readLittleEndian("value.double", as: UInt64.self)
    let number = Double(bitPattern: bits)
    guard !number.isNaN || bits == Value.canonicalNaNBits else {
      throw fail(.nonCanonical, at: start, "value.double", expected: "the only NaN", found: "another")
    }
    return number
  }

  mutating func readDecimal() throws(FormatError) -> DecimalNumber {
    let start = position
    let exponent = try readZigzag("value.decimal.exponent")
    guard Limits.decimalExponents.contains(Int(exponent)) else {
      throw fail(.invalid, at: start, "value.decimal.exponent", expected: "-38 to 38", found: "\(exponent)")
    }
    let coefficient = try readZigzag128("value.decimal.coefficient")
    guard let number = DecimalNumber(coefficient: coefficient, exponent: Int(exponent)),
      number.exponent == exponent
    else {
      throw fail(
        .nonCanonical, at: start, "value.decimal", expected: "a coefficient without zeros at its end",
        found: "one with")
    }
    return number
  }

  mutating func readReferenceRule() throws(FormatError) -> ReferenceRule {
    let start = position
    let byte = try readUInt8("value.reference.rule")
    guard let rule = ReferenceRule(rawValue: byte) else {
      throw fail(.unknownTag, at: start, "value.reference.rule", expected: "0 to 2", found: "\(byte)")
    }
    return rule
  }

  mutating func readReferenceHasZone() throws(FormatError) -> Bool {
    let start = position
    let byte = try readUInt8("value.reference.zone")
    guard byte <= 1 else {
      throw fail(.invalid, at: start, "value.reference.zone", expected: "0 or 1", found: "\(byte)")
    }
    return byte == 1
  }

  mutating func readZoneOwner(_ subject: StaticString) throws(FormatError) -> Range<Int> {
    try readText(subject, bytesMax: Limits.nameBytesMax)
  }

  mutating func readZoneName(_ subject: StaticString) throws(FormatError) -> Range<Int> {
    try readText(subject, bytesMin: 1, bytesMax: Limits.nameBytesMax)
  }

  mutating func readReferenceRecord() throws(FormatError) -> Range<Int> {
    try readText("value.reference.record", bytesMin: 1, bytesMax: Limits.recordNameBytesMax)
  }

  /// Reads a byte count within the extent, and skips that many bytes of UTF-8.
  mutating func readValueText(_ extent: ValueExtent) throws(FormatError) -> Range<Int> {
    let range = try readValueBytes(extent, "value.string")
    guard isUTF8(bytes(in: range)) else { throw failUTF8(at: range.lowerBound) }
    return range
  }

  /// Reads a byte count within the extent, and that many bytes of UTF-8 as a string.
  mutating func readValueString(_ extent: ValueExtent) throws(FormatError) -> String {
    let range = try readValueBytes(extent, "value.string")
    return String(copying: try text(in: range))
  }

  /// The bytes in a range, which must be UTF-8.
  @_lifetime(copy self)
  func text(in range: Range<Int>) throws(FormatError) -> UTF8Span {
    do {
      return try UTF8Span(validating: Span(_bytes: bytes(in: range)))
    } catch {
      throw failUTF8(at: range.lowerBound)
    }
  }

  func failUTF8(at position: Int) -> FormatError {
    fail(.invalidUTF8, at: position, "value.string", expected: "UTF-8", found: "other bytes")
  }

  /// Reads a byte count within the extent, and skips that many bytes.
  mutating func readValueBytes(
    _ extent: ValueExtent, _ subject: StaticString = "value.bytes"
  ) throws(FormatError) -> Range<Int> {
    let count = try readCount(subject, max: Limits.inlineValueBytesMax)
    try extent.checkSize(self, next: count)
    return try readBytes(count, subject)
  }

  /// Reads the count of an array's elements or of a map's entries.
  mutating func readElementCount(elementBytesMin: Int) throws(FormatError) -> Int {
    try readCount("value.count", elementBytesMin: elementBytesMin, max: Limits.inlineValueBytesMax)
  }

  /// Reads a map's next key, which must be greater than the one before it.
  mutating func readMapKey(after previous: Range<Int>?) throws(FormatError) -> Range<Int> {
    let start = position
    let key = try readText("value.key", bytesMax: Limits.mapKeyBytesMax)
    if let previous, compareBytes(bytes(in: previous), bytes(in: key)) >= 0 {
      throw fail(.nonCanonical, at: start, "value.key", expected: "keys in ascending order", found: "another")
    }
    return key
  }
}
