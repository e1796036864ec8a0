import OperationFormat

/// Reads what ``ValueEncoder`` stored.
///
/// A key that is not there and one with null are the same. Keys that the type does not know are passed over.
enum ValueDecoder {
  static func decode<T: Decodable>(_ type: T.Type, from value: Value, in zone: ZoneID) throws -> T {
    try decode(type, value, zone, [])
  }

  fileprivate static func decode<T: Decodable>(
    _ type: T.Type, _ value: Value, _ zone: ZoneID, _ path: [any CodingKey]
  ) throws -> T {
    guard let known = type as? any FieldValue.Type else {
      return try T(from: ValueSource(value: value, zone: zone, codingPath: path))
    }
    guard let found = known.init(value, in: zone) as? T else {
      throw DecodingError.typeMismatch(
        type, DecodingError.Context(codingPath: path, debugDescription: "it is \(value)"))
    }
    return found
  }
}

private struct ValueSource: Decoder {
  let value: Value
  let zone: ZoneID
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .map(let entries) = value else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedSource(entries: entries, zone: zone, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([Any].self) }
    return ElementSource(elements: elements, zone: zone, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SingleSource(value: value, zone: zone, codingPath: codingPath)
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, DecodingError.Context(codingPath: codingPath, debugDescription: "it is \(value)"))
  }
}

private struct KeyedSource<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let entries: [Name: Value]
  let zone: ZoneID
  let codingPath: [any CodingKey]

  var allKeys: [Key] { entries.keys.compactMap { Key(stringValue: $0.rawValue) } }

  func contains(_ key: Key) -> Bool { entries[Name(key.stringValue)] != nil }

  func decodeNil(forKey key: Key) -> Bool { (entries[Name(key.stringValue)] ?? .null) == .null }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try ValueDecoder.decode(type, value(key), zone, codingPath + [key])
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try source(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try source(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try source(SuperKey()) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try source(key) }

  private func source(_ key: any CodingKey) throws -> ValueSource {
    ValueSource(value: try value(key), zone: zone, codingPath: codingPath + [key])
  }

  private func value(_ key: any CodingKey) throws -> Value {
    guard let value = entries[Name(key.stringValue)] else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: codingPath, debugDescription: "there is no such key"))
    }
    return value
  }
}

private struct ElementSource: UnkeyedDecodingContainer {
  let elements: [Value]
  let zone: ZoneID
  let codingPath: [any CodingKey]
  var currentIndex = 0

  init(elements: [Value], zone: ZoneID, codingPath: [any CodingKey]) {
    (self.elements, self.zone, self.codingPath) = (elements, zone, codingPath)
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try value(Any?.self) == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let decoded = try ValueDecoder.decode(type, value(type), zone, codingPath)
    currentIndex += 1
    return decoded
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try source().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try source().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try source() }

  private mutating func source() throws -> ValueSource {
    let source = ValueSource(value: try value([Any].self), zone: zone, codingPath: codingPath)
    currentIndex += 1
    return source
  }

  private func value(_ type: Any.Type) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: codingPath, debugDescription: "the array has ended"))
    }
    return elements[currentIndex]
  }
}

private struct SingleSource: SingleValueDecodingContainer {
  let value: Value
  let zone: ZoneID
  let codingPath: [any CodingKey]

  func decodeNil() -> Bool { value == .null }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try ValueDecoder.decode(type, value, zone, codingPath)
  }
}
