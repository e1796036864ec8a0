/// The first byte of an encoded value. ``TransactionFormat`` says what follows each tag.
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

  /// Whether an encoded value may be of this kind, or contain such a value.
  @inline(__always)
  func mayBe(in value: RawSpan) -> Bool {
    guard value.byteCount > 0 else { return false }
    let tag = value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    if tag == rawValue { return true }
    return (tag == Self.array.rawValue || tag == Self.map.rawValue) && isByte(in: value)
  }

  /// Whether the tag's byte occurs anywhere: in most values it does not, even by chance.
  private func isByte(in value: RawSpan) -> Bool {
    value.withUnsafeBytes { $0.contains(rawValue) }
  }
}

extension Value {
  /// Whether it can be added to a counter: an integer or a decimal.
  package var isSummand: Bool {
    switch self {
    case .int, .decimal: true
    case .null, .bool, .double, .string, .bytes, .date, .uuid, .reference, .asset, .array, .map: false
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
