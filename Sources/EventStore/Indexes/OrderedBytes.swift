import OperationFormat

/// Values as bytes that are in the same order: that of `Value.precedes(_:)`.
///
/// The first byte is the kind's place in that order, from 1. Then:
///
/// | kind | bytes |
/// |---|---|
/// | null | none |
/// | bool | 1: 0 or 1 |
/// | int, date | 8, big-endian, the sign bit inverted |
/// | double | 8, big-endian; the sign bit inverted, or all bits of a negative one |
/// | decimal | 1: 0 negative, 1 zero, 2 positive; then, unless it is 0, one for the power of ten of the first digit, from 128, and one for each two digits, from 1; then 0. These are inverted in a negative one |
/// | string, bytes | as they are, with 0 as 0, 255; then 0, 1 |
/// | UUID | 16, big-endian |
/// | reference | 0 if it is in the zone of its record; else 1, owner and name of the zone, each as a string; then the record's name, as a string. It has no rule |
/// | asset | 32 of the hash, 8 of the size, big-endian |
/// | array | the elements; then 0 |
/// | map | 1, key as a string, value of each entry, in the order of keys; then 0 |
///
/// No value's bytes are the beginning of another's. References to records of other zones come after those of
/// the own one: among them the order is another.
struct OrderedBytes {
  /// The zone of the record that has the values.
  let zone: ZoneID

  func append(_ value: Value, to writer: inout ByteWriter) {
    writer.append(Self.tag(of: value))
    switch value {
    case .null: break
    case .bool(let isTrue): writer.append(isTrue ? 1 : 0)
    case .int(let number), .date(let number): Self.append(number, to: &writer)
    case .double(let number):
      let bits = number.isNaN ? Double.nan.bitPattern : number.bitPattern
      writer.append(bigEndian: bits & Self.sign == 0 ? bits ^ Self.sign : ~bits)
    case .decimal(let number): Self.append(number, to: &writer)
    case .string(let text): Self.append(text.utf8Span.span.bytes, to: &writer)
    case .bytes(let bytes): Self.append(bytes.span.bytes, to: &writer)
    case .uuid(let id): writer.append(bigEndian: id.rawValue)
    case .reference(let reference):
      if let other = reference.zone, other != zone {
        writer.append(1)
        Self.append(other.owner.rawValue.utf8Span.span.bytes, to: &writer)
        Self.append(other.name.rawValue.utf8Span.span.bytes, to: &writer)
      } else {
        writer.append(0)
      }
      Self.append(reference.record.rawValue.utf8Span.span.bytes, to: &writer)
    case .asset(let asset):
      writer.append(asset.hash)
      writer.append(bigEndian: asset.byteCount)
    case .array(let elements):
      for element in elements { append(element, to: &writer) }
      writer.append(0)
    case .map(let entries):
      for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
        writer.append(1)
        Self.append(key.rawValue.utf8Span.span.bytes, to: &writer)
        append(value, to: &writer)
      }
      writer.append(0)
    }
  }

  /// The first byte of a value.
  static func tag(of value: Value) -> UInt8 { UInt8(value.rank + 1) }

  private static let sign: UInt64 = 1 << 63

  private static func append(_ number: Int64, to writer: inout ByteWriter) {
    writer.append(bigEndian: UInt64(bitPattern: number) ^ sign)
  }

  /// Appends bytes, and their end.
  private static func append(_ bytes: RawSpan, to writer: inout ByteWriter) {
    if bytes.withUnsafeBytes({ !$0.contains(0) }) {
      writer.append(bytes)
    } else {
      for index in 0..<bytes.byteCount {
        let byte = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        writer.append(byte)
        if byte == 0 { writer.append(255) }
      }
    }
    writer.append(0)
    writer.append(1)
  }

  /// Appends a text by its UTF-8.
  func append(text: RawSpan, to writer: inout ByteWriter) {
    writer.append(Self.tag(of: ""))
    Self.append(text, to: &writer)
  }

  /// How many bytes end a text.
  static let endBytes = 2

  private static func append(_ number: DecimalNumber, to writer: inout ByteWriter) {
    let sign = number.coefficient.signum()
    writer.append(UInt8(sign + 1))
    guard sign != 0 else { return }
    let mask: UInt8 = sign < 0 ? 255 : 0
    var digits = String(number.coefficient.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
    writer.append(UInt8(128 + digits.count + number.exponent) ^ mask)
    while digits.last == 0 { digits.removeLast() }
    if digits.count % 2 == 1 { digits.append(0) }
    for index in stride(from: 0, to: digits.count, by: 2) {
      writer.append((digits[index] * 10 + digits[index + 1] + 1) ^ mask)
    }
    writer.append(mask)
  }
}

/// Takes values out of the bytes that ``OrderedBytes`` makes.
struct OrderedReader: ~Escapable {
  private let bytes: RawSpan
  private let zone: ZoneID
  private(set) var position: Int
  /// What each byte is combined with by exclusive or: 255 in a part that is in descending order.
  var mask: UInt8 = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, at position: Int = 0, in zone: ZoneID) {
    (self.bytes, self.position, self.zone) = (bytes, position, zone)
  }

  /// The next value, as queries compare it; nil if the bytes are no whole one.
  mutating func value(depth: Int = 0) -> Value? {
    guard depth < Limits.valueDepthMax, let tag = byte() else { return nil }
    switch Int(tag) - 1 {
    case 0: return .null
    case 1: return byte().map { .bool($0 != 0) }
    case 2: return signed().map { .int($0) }
    case 3:
      return number().map { bits in
        .double(Double(bitPattern: bits & (1 << 63) != 0 ? bits ^ (1 << 63) : ~bits))
      }
    case 4: return decimal().map { .decimal($0) }
    case 5: return text().map { .string($0) }
    case 6: return unescaped().map { .bytes($0) }
    case 7: return signed().map { .date(microseconds: $0) }
    case 8:
      guard let high = number(), let low = number() else { return nil }
      return .uuid(UniqueID(rawValue: UInt128(high) << 64 | UInt128(low)))
    case 9: return reference().map { .reference($0) }
    case 10:
      var hash: [UInt8] = []
      for _ in 0..<32 { if let byte = byte() { hash.append(byte) } }
      guard let byteCount = number(), let hash = ContentHash(bytes: hash.span.bytes) else { return nil }
      return .asset(AssetReference(hash: hash, byteCount: byteCount))
    case 11:
      var elements: [Value] = []
      while let next = peek(), next != 0 {
        guard let element = value(depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return byte() == 0 ? .array(elements) : nil
    case 12:
      var entries: [Name: Value] = [:]
      while let next = peek(), next != 0 {
        guard byte() == 1, let key = text(), let value = value(depth: depth + 1) else { return nil }
        entries[Name(key)] = value
      }
      return byte() == 0 ? .map(entries) : nil
    default: return nil
    }
  }

  private func peek() -> UInt8? {
    position < bytes.byteCount ? bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self) ^ mask : nil
  }

  mutating func byte() -> UInt8? {
    guard let byte = peek() else { return nil }
    position += 1
    return byte
  }

  private mutating func number() -> UInt64? {
    guard position + 8 <= bytes.byteCount else { return nil }
    var number: UInt64 = 0
    for _ in 0..<8 { number = number << 8 | UInt64(byte() ?? 0) }
    return number
  }

  private mutating func signed() -> Int64? { number().map { Int64(bitPattern: $0 ^ (1 << 63)) } }

  private mutating func unescaped() -> [UInt8]? {
    var end = position
    while end < bytes.byteCount, bytes.unsafeLoad(fromByteOffset: end, as: UInt8.self) != mask { end += 1 }
    var found = bytes.extracting(position..<end).bytes
    if mask != 0 { for index in found.indices { found[index] ^= mask } }
    position = end
    while let next = byte() {
      guard next == 0 else {
        found.append(next)
        continue
      }
      switch byte() {
      case 1: return found
      case 255: found.append(0)
      default: return nil
      }
    }
    return nil
  }

  private mutating func text() -> String? {
    // Nearly always a text has no 0 in it, and is not inverted.
    var end = position
    while end < bytes.byteCount, bytes.unsafeLoad(fromByteOffset: end, as: UInt8.self) != 0 { end += 1 }
    if mask == 0, end + 1 < bytes.byteCount, bytes.unsafeLoad(fromByteOffset: end + 1, as: UInt8.self) == 1 {
      let text = bytes.extracting(position..<end)
      position = end + 2
      return text.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }
    return unescaped().flatMap { String(validating: $0, as: UTF8.self) }
  }

  private mutating func reference() -> Reference? {
    guard let kind = byte() else { return nil }
    var place: ZoneID? = zone
    if kind == 1 {
      guard let owner = text(), let name = text() else { return nil }
      place = ZoneID(owner: Name(owner), name: Name(name))
    }
    return text().map { Reference(zone: place, record: Name($0)) }
  }

  private mutating func decimal() -> DecimalNumber? {
    guard let sign = byte() else { return nil }
    if sign == 1 { return DecimalNumber(coefficient: 0, exponent: 0) }
    let outer = mask
    if sign == 0 { mask ^= 255 }
    defer { mask = outer }
    guard let power = byte() else { return nil }
    var (coefficient, count): (UInt128, Int) = (0, 0)
    while let next = peek(), next != 0 {
      guard let pair = byte() else { return nil }
      count += 2
      // An odd number of digits has one 0 too many, which may not fit.
      let digits = UInt128(pair - 1)
      if peek() == 0, digits % 10 == 0 {
        coefficient = coefficient &* 10 &+ digits / 10
        count -= 1
      } else {
        coefficient = coefficient &* 100 &+ digits
      }
    }
    guard byte() == 0 else { return nil }
    let signed = Int128(truncatingIfNeeded: sign == 0 ? 0 &- coefficient : coefficient)
    return DecimalNumber(coefficient: signed, exponent: Int(power) - 128 - count)
  }
}
