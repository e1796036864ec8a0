public import OperationFormat

extension Value: EmptyFieldValue {
  public static var empty: Value { .null }
  public init?(_ value: Value, in zone: ZoneID) { self = value }
  public func value(in zone: ZoneID) -> Value { self }
}

extension Bool: EmptyFieldValue {
  public static var empty: Bool { false }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .bool(let found) = value else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value { .bool(self) }
}

extension String: EmptyFieldValue {
  public static var empty: String { "" }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .string(let found) = value else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value { .string(self) }
}

// MARK: Numbers

/// Integers, which are stored as 64 signed bits.
extension FieldValue where Self: FixedWidthInteger {
  public static var empty: Self { 0 }

  /// - Returns: nil also for a number that the type has no place for.
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .int(let found) = value else { return nil }
    self.init(exactly: found)
  }

  /// - Throws: `StoreError` `valueInvalid` for a number over 2⁶³ − 1.
  public func value(in zone: ZoneID) throws -> Value {
    guard let number = Int64(exactly: self) else {
      throw StoreError(
        .valueInvalid, "\(self) is too large to be stored",
        hint: "integers have 64 bits, one of them the sign")
    }
    return .int(number)
  }
}

extension Int: EmptyFieldValue {}
extension Int64: EmptyFieldValue {}
extension Int32: EmptyFieldValue {}
extension Int16: EmptyFieldValue {}
extension Int8: EmptyFieldValue {}
extension UInt: EmptyFieldValue {}
extension UInt64: EmptyFieldValue {}
extension UInt32: EmptyFieldValue {}
extension UInt16: EmptyFieldValue {}
extension Int128: EmptyFieldValue {}
extension UInt128: EmptyFieldValue {}

/// An array of them is stored as bytes.
extension UInt8: EmptyFieldValue {
  public static func array(_ value: Value, in zone: ZoneID) -> [UInt8]? {
    guard case .bytes(let found) = value else { return nil }
    return found
  }

  public static func value(of array: [UInt8], in zone: ZoneID) -> Value { .bytes(array) }
}

extension Double: EmptyFieldValue {
  public static var empty: Double { 0 }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .double(let found) = value else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value { .double(self) }
}

extension Float: EmptyFieldValue {
  public static var empty: Float { 0 }

  public init?(_ value: Value, in zone: ZoneID) {
    guard case .double(let found) = value else { return nil }
    self = Float(found)
  }

  public func value(in zone: ZoneID) -> Value { .double(Double(self)) }
}

extension DecimalNumber: EmptyFieldValue {
  public static var empty: DecimalNumber { DecimalNumber(coefficient: 0, exponent: 0)! }

  public init?(_ value: Value, in zone: ZoneID) {
    switch value {
    case .decimal(let found): self = found
    case .int(let found): self.init(coefficient: Int128(found), exponent: 0)
    default: return nil
    }
  }

  public func value(in zone: ZoneID) -> Value { .decimal(self) }
}

// MARK: Identifiers

extension UniqueID: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .uuid(let found) = value else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value { .uuid(self) }
}

extension AssetReference: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .asset(let found) = value else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) -> Value { .asset(self) }
}

extension Name: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .string(let found) = value else { return nil }
    self.init(found)
  }

  public func value(in zone: ZoneID) -> Value { .string(rawValue) }
}

// MARK: Values of values

/// Nil is null, as what was never set.
extension Optional: FieldValue where Wrapped: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    if case .null = value {
      self = nil
    } else {
      guard let found = Wrapped(value, in: zone) else { return nil }
      self = .some(found)
    }
  }

  public func value(in zone: ZoneID) throws -> Value { try self?.value(in: zone) ?? .null }
}

extension Optional: EmptyFieldValue where Wrapped: FieldValue {
  public static var empty: Wrapped? { nil }
}

extension Array: FieldValue where Element: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard let found = Element.array(value, in: zone) else { return nil }
    self = found
  }

  public func value(in zone: ZoneID) throws -> Value { try Element.value(of: self, in: zone) }
}

extension Array: EmptyFieldValue where Element: FieldValue {
  public static var empty: [Element] { [] }
}

extension Dictionary: FieldValue where Key == String, Value: FieldValue {
  public init?(_ value: OperationFormat.Value, in zone: ZoneID) {
    guard case .map(let entries) = value else { return nil }
    var areAll = true
    self.init(entries, choosing: <) { entry in
      let value = Value(entry, in: zone)
      if value == nil { areAll = false }
      return value
    }
    if !areAll { return nil }
  }

  public func value(in zone: ZoneID) throws -> OperationFormat.Value {
    var entries: [Name: OperationFormat.Value] = [:]
    entries.reserveCapacity(count)
    for (key, entry) in self { entries[Name(key)] = try entry.value(in: zone) }
    return .map(entries)
  }
}

extension Dictionary: EmptyFieldValue where Key == String, Value: FieldValue {
  public static var empty: [String: Value] { [:] }
}
