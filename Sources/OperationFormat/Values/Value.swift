/// A value of a field.
///
/// Two values are equal exactly if their encoded bytes are equal: strings compare by UTF-8, all NaNs are
/// equal, and −0 differs from 0. A value is at most 32 deep, where a scalar has depth 1, and its encoded form
/// takes at most 1 MiB. The encoder checks both.
public enum Value: Sendable {
  /// No value. Setting a field to null clears it.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer of 64 bits.
  case int(Int64)
  /// A binary number of 64 bits; there is only one NaN.
  case double(Double)
  /// An exact decimal number.
  indirect case decimal(DecimalNumber)
  /// A text; it is not normalised.
  case string(String)
  /// Bytes that the store does not interpret.
  case bytes([UInt8])
  /// A point in time, in microseconds since 1970-01-01T00:00:00Z.
  case date(microseconds: Int64)
  /// A UUID.
  case uuid(UniqueID)
  /// Another record.
  indirect case reference(Reference)
  /// A reference to bytes outside the log.
  indirect case asset(AssetReference)
  /// Values in order.
  case array([Value])
  /// Values by key. A key has at most 255 bytes; wherever order matters, keys are ordered by their UTF-8
  /// bytes.
  case map([Name: Value])
}

extension Value: Hashable {
  /// Returns whether two values have the same encoded bytes.
  public static func == (a: Value, b: Value) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.double(let a), .double(let b)): canonicalBits(a) == canonicalBits(b)
    case (.decimal(let a), .decimal(let b)): a == b
    case (.string(let a), .string(let b)): a.hasSameUTF8(as: b)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.date(let a), .date(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.reference(let a), .reference(let b)): a == b
    case (.asset(let a), .asset(let b)): a == b
    case (.array(let a), .array(let b)): a == b
    case (.map(let a), .map(let b)): a == b
    default: false
    }
  }

  /// Hashes the parts that `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tag)
    switch self {
    case .null, .bool: break
    case .int(let number): hasher.combine(number)
    case .double(let number): hasher.combine(Self.canonicalBits(number))
    case .decimal(let number): hasher.combine(number)
    case .string(let text): text.hashUTF8(into: &hasher)
    case .bytes(let bytes): hasher.combine(bytes)
    case .date(let microseconds): hasher.combine(microseconds)
    case .uuid(let id): hasher.combine(id)
    case .reference(let reference): hasher.combine(reference)
    case .asset(let asset): hasher.combine(asset)
    case .array(let elements): hasher.combine(elements)
    case .map(let entries): hasher.combine(entries)
    }
  }

  /// The bits of a number, the same for every NaN.
  static func canonicalBits(_ number: Double) -> UInt64 {
    number.isNaN ? canonicalNaNBits : number.bitPattern
  }

  /// The only NaN that is encoded: quiet, positive, without payload.
  static var canonicalNaNBits: UInt64 { 0x7ff8_0000_0000_0000 }
}
