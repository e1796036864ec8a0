import EventStore

/// The members of a JSON object. Take them one by one, each with its type; ``finish()`` then throws if some
/// are left.
struct JSONMembers {
  /// The path of the object, for errors.
  let path: String
  private var rest: [Name: JSON]

  init(_ json: JSON, in path: String) throws(JSONError) {
    guard case .object(let members) = json else { throw JSONError(in: path, "an object was expected") }
    rest = members
    self.path = path
  }

  func isMissing(_ key: Name) -> Bool { rest[key] == nil }

  /// The member with this key; nil if it is absent.
  mutating func take(_ key: Name) -> JSON? { rest.removeValue(forKey: key) }

  mutating func require(_ key: Name) throws(JSONError) -> JSON {
    guard let value = take(key) else { throw JSONError(in: path, "“\(key)” is missing") }
    return value
  }

  mutating func string(_ key: Name) throws(JSONError) -> String {
    guard case .string(let text) = try require(key) else { throw wrong(key, "a string") }
    return text
  }

  mutating func stringIfPresent(_ key: Name) throws(JSONError) -> String? {
    try isMissing(key) ? nil : string(key)
  }

  mutating func integer<Number: FixedWidthInteger>(
    _ key: Name, as type: Number.Type = Number.self
  ) throws(JSONError) -> Number {
    guard case .integer(let number) = try require(key), let value = Number(exactly: number) else {
      throw wrong(key, "an integer from \(Number.min) to \(Number.max)")
    }
    return value
  }

  mutating func integerIfPresent<Number: FixedWidthInteger>(
    _ key: Name, as type: Number.Type = Number.self
  ) throws(JSONError) -> Number? {
    try isMissing(key) ? nil : integer(key)
  }

  /// A value with a text form, such as an identity.
  mutating func parsed<Parsed: LosslessStringConvertible>(
    _ key: Name, as type: Parsed.Type = Parsed.self, _ what: String
  ) throws(JSONError) -> Parsed {
    guard let value = Parsed(try string(key)) else { throw wrong(key, what) }
    return value
  }

  mutating func parsedIfPresent<Parsed: LosslessStringConvertible>(
    _ key: Name, as type: Parsed.Type = Parsed.self, _ what: String
  ) throws(JSONError) -> Parsed? {
    try isMissing(key) ? nil : parsed(key, what)
  }

  mutating func zone(_ key: Name) throws(JSONError) -> ZoneID {
    try parsed(key, "a zone as name or owner/name")
  }

  /// An identity of 128 bits.
  mutating func identifier<ID: LosslessStringConvertible>(
    _ key: Name, as type: ID.Type = ID.self
  ) throws(JSONError) -> ID {
    try parsed(key, "32 hexadecimal digits")
  }

  mutating func hash(_ key: Name) throws(JSONError) -> ContentHash {
    try parsed(key, "64 hexadecimal digits")
  }

  /// The name of a case.
  ///
  /// - Parameter expected: all names, for the error.
  mutating func word<Word: CaseIterable>(_ key: Name, _ expected: String) throws(JSONError) -> Word {
    let text = try string(key)
    guard let word = Word.allCases.first(where: { "\($0)" == text }) else { throw wrong(key, expected) }
    return word
  }

  /// The members of a base: an incarnation, and an offset of its log.
  mutating func base(offsetMax: UInt64 = .max) throws(JSONError) -> Base {
    let base = Base(incarnation: try identifier("incarnation"), offset: try integer("offset"))
    guard base.offset <= offsetMax else { throw wrong("offset", "an offset of a log") }
    return base
  }

  mutating func array(_ key: Name) throws(JSONError) -> [JSON] {
    guard case .array(let elements) = try require(key) else { throw wrong(key, "an array") }
    return elements
  }

  /// The members of an object inside this one.
  mutating func members(_ key: Name) throws(JSONError) -> JSONMembers {
    try JSONMembers(try require(key), in: child(key))
  }

  /// Throws if some members were not taken.
  func finish() throws(JSONError) {
    guard let key = rest.keys.min() else { return }
    throw JSONError(in: path, "“\(Display.plain(key.rawValue, limit: 40))” is unknown here")
  }

  func child(_ key: Name) -> String {
    path.isEmpty
      ? Display.plain(key.rawValue, limit: 40) : "\(path).\(Display.plain(key.rawValue, limit: 40))"
  }

  func wrong(_ key: Name, _ expected: String) -> JSONError {
    JSONError(in: child(key), "\(expected) was expected")
  }
}
