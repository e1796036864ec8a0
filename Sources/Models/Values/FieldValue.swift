public import OperationFormat

/// A type whose values a field can have.
///
/// Types of the standard library have it, as do their arrays, dictionaries and optionals. An enumeration of
/// strings or numbers gets it by its name alone:
///
/// ```swift
/// enum Status: String, FieldValue { case open, done }
/// ```
///
/// A `Codable` type needs no conformance to be the value of a field. Give your type one to decide yourself what
/// is stored. Two values are the same exactly if the same is stored for them.
public protocol FieldValue: Sendable {
  /// The value that a stored one says; nil if it says none.
  ///
  /// - Parameters:
  ///   - value: what is stored. Another version of the app, or another app, may have written it.
  ///   - zone: the zone of its record, which references without a zone mean.
  init?(_ value: Value, in zone: ZoneID)

  /// What is stored for the value in a record of a zone.
  ///
  /// - Throws: if it cannot be stored. The write that sets it throws that.
  func value(in zone: ZoneID) throws -> Value

  /// The array that a stored value says. Has an implementation: only bytes have one of their own.
  static func array(_ value: Value, in zone: ZoneID) -> [Self]?

  /// What is stored for an array. Has an implementation: only bytes have one of their own.
  static func value(of array: [Self], in zone: ZoneID) throws -> Value
}

extension FieldValue {
  public static func array(_ value: Value, in zone: ZoneID) -> [Self]? {
    guard case .array(let elements) = value else { return nil }
    var array: [Self] = []
    array.reserveCapacity(elements.count)
    for element in elements {
      guard let element = Self(element, in: zone) else { return nil }
      array.append(element)
    }
    return array
  }

  public static func value(of array: [Self], in zone: ZoneID) throws -> Value {
    .array(try array.map { try $0.value(in: zone) })
  }
}

/// A type that has a value for fields that were never set: 0, false, or empty.
public protocol EmptyFieldValue: FieldValue {
  /// What a field shows that was never set, or has what does not decode.
  static var empty: Self { get }
}

extension FieldValue where Self: RawRepresentable, RawValue: FieldValue {
  /// The value of a raw value that is stored; nil for one that this version of the type does not know.
  public init?(_ value: Value, in zone: ZoneID) {
    guard let raw = RawValue(value, in: zone), let found = Self(rawValue: raw) else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) throws -> Value { try rawValue.value(in: zone) }
}
