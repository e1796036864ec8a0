public import Foundation
public import Models

/// Stored in microseconds since 1970, and rounded to them.
extension Date: EmptyFieldValue {
  /// 1970-01-01.
  public static var empty: Date { Date(timeIntervalSince1970: 0) }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .date(let microseconds) = value else { return nil }
    self.init(timeIntervalSince1970: Double(microseconds) / 1e6)
  }

  public func value(in zone: ZoneID) throws -> Value {
    guard let microseconds = Int64(exactly: (timeIntervalSince1970 * 1e6).rounded()) else {
      throw StoreError(
        .valueInvalid, "a date \(timeIntervalSince1970) seconds from 1970 cannot be stored",
        hint: "dates reach 290,000 years from 1970, and are not NaN")
    }
    return .date(microseconds: microseconds)
  }
}

extension UUID: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .uuid(let id) = value, let found = UUID(uuidString: id.description) else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value {
    let bits = withUnsafeBytes(of: uuid) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
    return .uuid(UniqueID(rawValue: bits))
  }
}

/// Stored as text.
extension URL: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .string(let text) = value else { return nil }
    self.init(string: text)
  }

  public func value(in zone: ZoneID) -> Value { .string(absoluteString) }
}

/// For small bytes, such as a thumbnail: at most 1 MiB, and less in lists and maps. For photos, import an
/// asset, and use a field of `AssetReference?`.
extension Data: EmptyFieldValue {
  public static var empty: Data { Data() }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .bytes(let bytes) = value else { return nil }
    self.init(bytes)
  }

  public func value(in zone: ZoneID) -> Value { .bytes([UInt8](self)) }
}

/// Stored exactly.
extension Decimal: EmptyFieldValue {
  public static var empty: Decimal { 0 }

  public init?(_ value: Value, in zone: ZoneID) {
    guard let number = DecimalNumber(value, in: zone) else { return nil }
    self.init(number)
  }

  /// - Throws: `StoreError` `valueInvalid` for NaN, and beyond 38 digits before or after the point.
  public func value(in zone: ZoneID) throws -> Value {
    guard let number = DecimalNumber("\(self)") else {
      throw StoreError(
        .valueInvalid, "\(self) cannot be stored",
        hint: "decimals have up to 38 digits on either side of the point")
    }
    return .decimal(number)
  }

  /// The number of a decimal counter, for example.
  public init(_ number: DecimalNumber) {
    let digits = Decimal(string: "\(number.coefficient.magnitude)") ?? 0
    self.init(sign: number.coefficient < 0 ? .minus : .plus, exponent: number.exponent, significand: digits)
  }
}

extension SystemFields.Change {
  /// When it was made.
  public var date: Date { Date(milliseconds: milliseconds) }
}

extension Date {
  /// - Parameter milliseconds: since 1970.
  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
