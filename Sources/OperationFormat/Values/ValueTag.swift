/// The first byte of an encoded value.
///
/// | tag | value | bytes after the tag |
/// |---|---|---|
/// | 0 | null | |
/// | 1 | false | |
/// | 2 | true | |
/// | 3 | int | zigzag varint of 64 bits |
/// | 4 | double | its bits, 8 bytes little-endian; any NaN is 0x7ff8000000000000 |
/// | 5 | decimal | exponent: zigzag varint; coefficient: zigzag varint of 128 bits; the normal form only |
/// | 6 | string | byte count: varint; UTF-8 |
/// | 7 | bytes | count: varint; the bytes |
/// | 8 | date | microseconds since 1970, 8 bytes little-endian |
/// | 9 | UUID | 16 bytes |
/// | 10 | reference | rule: 0 to 2; zone flag: 0 or 1; with 1, owner text, zone text; record text |
/// | 11 | asset | SHA-256, 32 bytes; byte count: varint |
/// | 12 | array | count: varint; values |
/// | 13 | map | count: varint; for each entry key text and value; keys strictly ascending by bytes |
///
/// A text is a byte count, varint, and UTF-8: 0 to 128 bytes in an owner, 1 to 128 in a zone's name, 1 to 255
/// in a record's name, 0 to 255 in a key. A value is at most 32 deep and takes at most 1 MiB.
enum ValueTag: UInt8 {
  case null = 0
  case `false` = 1
  case `true` = 2
  case int = 3
  case double = 4
  case decimal = 5
  case string = 6
  case bytes = 7
  case date = 8
  case uuid = 9
  case reference = 10
  case asset = 11
  case array = 12
  case map = 13

  /// Whether an encoded value can be added to a counter.
  static func isSummand(_ value: RawSpan) -> Bool {
    let tag = value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    return tag == int.rawValue || tag == decimal.rawValue
  }

  /// Whether an encoded value may be of this kind, or have a value of it inside.
  @inline(__always)
  func mayBe(in value: RawSpan) -> Bool {
    guard value.byteCount > 0 else { return false }
    let tag = value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    if tag == rawValue { return true }
    return (tag == Self.array.rawValue || tag == Self.map.rawValue) && isByte(in: value)
  }

  /// Whether the tag stands anywhere: most values do not have it even by chance.
  private func isByte(in value: RawSpan) -> Bool {
    value.withUnsafeBytes { $0.contains(rawValue) }
  }
}

extension Value {
  /// Whether it can be added to a counter: an integer or a decimal.
  package var isSummand: Bool {
    switch self {
    case .int, .decimal: true
    default: false
    }
  }

  var tag: ValueTag {
    switch self {
    case .null: .null
    case .bool(let isTrue): isTrue ? .true : .false
    case .int: .int
    case .double: .double
    case .decimal: .decimal
    case .string: .string
    case .bytes: .bytes
    case .date: .date
    case .uuid: .uuid
    case .reference: .reference
    case .asset: .asset
    case .array: .array
    case .map: .map
    }
  }
}
