// There is no nil literal: otherwise `nil` for a `Value?` would silently become `.null`.
extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// Creates a bool.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Creates an int.
  public init(integerLiteral value: Int64) { self = .int(value) }

  /// Creates a double.
  public init(floatLiteral value: Double) { self = .double(value) }

  /// Creates a string.
  public init(stringLiteral value: String) { self = .string(value) }

  /// Creates an array.
  public init(arrayLiteral elements: Value...) { self = .array(elements) }

  /// Creates a map. Each key may occur only once.
  public init(dictionaryLiteral entries: (Name, Value)...) {
    self = .map(Dictionary(uniqueKeysWithValues: entries))
  }
}
