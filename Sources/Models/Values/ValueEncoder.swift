import OperationFormat

/// Stores `Codable` values: a value with keys as a map, one without as an array.
///
/// A ``FieldValue`` anywhere inside is stored as it says itself: a date as a date, bytes as bytes, a ``Ref`` as a
/// reference.
enum ValueEncoder {
  static func encode(_ value: some Encodable, in zone: ZoneID) throws -> Value {
    let node = EncodedNode()
    try node.encode(value, zone, [])
    return node.value
  }
}

/// What was encoded at one place, as far as it was.
private final class EncodedNode {
  enum Content {
    case nothing
    case scalar(Value)
    case entries([Name: EncodedNode])
    case elements([EncodedNode])
  }

  var content = Content.nothing

  var value: Value {
    switch content {
    case .nothing: .null
    case .scalar(let value): value
    case .entries(let entries): .map(entries.mapValues(\.value))
    case .elements(let elements): .array(elements.map(\.value))
    }
  }

  func encode(_ value: some Encodable, _ zone: ZoneID, _ path: [any CodingKey]) throws {
    if let value = value as? any FieldValue {
      content = .scalar(try value.value(in: zone))
    } else {
      try value.encode(to: NodeEncoder(node: self, zone: zone, codingPath: path))
    }
  }

  /// The node of a key, empty.
  func child(_ key: any CodingKey) -> EncodedNode {
    let child = EncodedNode()
    var entries: [Name: EncodedNode] = [:]
    if case .entries(let found) = content { entries = found }
    content = .nothing
    entries[Name(key.stringValue)] = child
    content = .entries(entries)
    return child
  }

  /// A node after the last one.
  func appended() -> EncodedNode {
    let child = EncodedNode()
    var elements: [EncodedNode] = []
    if case .elements(let found) = content { elements = found }
    content = .nothing
    elements.append(child)
    content = .elements(elements)
    return child
  }

  var count: Int { if case .elements(let elements) = content { elements.count } else { 0 } }
}

private struct NodeEncoder: Encoder {
  let node: EncodedNode
  let zone: ZoneID
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .entries = node.content {} else { node.content = .entries([:]) }
    return KeyedEncodingContainer(Keyed(node: node, zone: zone, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .elements = node.content {} else { node.content = .elements([]) }
    return Unkeyed(node: node, zone: zone, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    Single(node: node, zone: zone, codingPath: codingPath)
  }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: EncodedNode
  let zone: ZoneID
  let codingPath: [any CodingKey]

  /// The same as no entry.
  mutating func encodeNil(forKey key: Key) { node.child(key).content = .scalar(.null) }

  mutating func encode(_ value: some Encodable, forKey key: Key) throws {
    try node.child(key).encode(value, zone, codingPath + [key])
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder(key).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(key).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder(SuperKey()) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

  private func encoder(_ key: any CodingKey) -> NodeEncoder {
    NodeEncoder(node: node.child(key), zone: zone, codingPath: codingPath + [key])
  }
}

private struct Unkeyed: UnkeyedEncodingContainer {
  let node: EncodedNode
  let zone: ZoneID
  let codingPath: [any CodingKey]
  var count: Int { node.count }

  mutating func encodeNil() { node.appended().content = .scalar(.null) }

  mutating func encode(_ value: some Encodable) throws {
    try node.appended().encode(value, zone, codingPath)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    encoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { encoder() }

  private func encoder() -> NodeEncoder {
    NodeEncoder(node: node.appended(), zone: zone, codingPath: codingPath)
  }
}

private struct Single: SingleValueEncodingContainer {
  let node: EncodedNode
  let zone: ZoneID
  let codingPath: [any CodingKey]

  mutating func encodeNil() { node.content = .scalar(.null) }
  mutating func encode(_ value: some Encodable) throws { try node.encode(value, zone, codingPath) }
}

/// The key of what a superclass encodes.
struct SuperKey: CodingKey {
  var stringValue: String { "super" }
  var intValue: Int? { nil }
  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}
