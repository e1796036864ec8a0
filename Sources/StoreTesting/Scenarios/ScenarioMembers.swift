import OperationFormat

/// The members of a mapping in a scenario, taken one by one: each has its type, and none may be left over.
struct ScenarioMembers {
  let line: Int
  /// What the mapping is, for messages.
  let what: String
  private var rest: [(key: String, value: ScenarioNode)]

  init(_ node: ScenarioNode, _ what: String) throws {
    guard case .mapping(let members) = node.content else {
      throw ScenarioError.invalid(node.line, "\(what) is \(node.text), not a mapping")
    }
    rest = members
    line = node.line
    self.what = what
  }

  func has(_ key: String) -> Bool { rest.contains { $0.key == key } }

  /// The member of a key, nil if it is absent.
  mutating func take(_ key: String) -> ScenarioNode? {
    rest.firstIndex { $0.key == key }.map { rest.remove(at: $0).value }
  }

  mutating func require(_ key: String) throws -> ScenarioNode {
    guard let node = take(key) else { throw ScenarioError.invalid(line, "\(what) has no “\(key)”") }
    return node
  }

  mutating func text(_ key: String) throws -> String { try Self.text(try require(key), key) }

  mutating func textIfPresent(_ key: String) throws -> String? {
    try take(key).map { try Self.text($0, key) }
  }

  mutating func name(_ key: String) throws -> Name { Name(try text(key)) }

  mutating func list(_ key: String) throws -> [Value] { try nodes(key).map { try $0.value() } }

  mutating func nameIfPresent(_ key: String) throws -> Name? { try textIfPresent(key).map { Name($0) } }

  mutating func count(_ key: String, max: Int) throws -> Int {
    try Self.count(try require(key), key, max: max)
  }

  /// An index of a list or a text, or a count of what is in it.
  mutating func index(_ key: String) throws -> Int { try count(key, max: Int(Int32.max)) }

  /// The texts of a list. A single text counts as a list of one.
  mutating func texts(_ key: String) throws -> [String] {
    let node = try require(key)
    guard case .sequence(let nodes) = node.content else { return [try Self.text(node, key)] }
    return try nodes.map { try Self.text($0, key) }
  }

  mutating func nodes(_ key: String) throws -> [ScenarioNode] {
    let node = try require(key)
    guard case .sequence(let nodes) = node.content else {
      throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), not a list")
    }
    return nodes
  }

  mutating func values(_ key: String) throws -> [Name: Value] {
    let node = try require(key)
    guard case .map(let values) = try node.value() else {
      throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), not a mapping")
    }
    return values
  }

  mutating func isTrue(_ key: String) throws -> Bool {
    guard let node = take(key) else { return false }
    guard case .bool(let isTrue) = try node.value() else {
      throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), neither true nor false")
    }
    return isTrue
  }

  /// Throws if there are members that nobody took.
  func finish() throws {
    guard let (key, node) = rest.first else { return }
    throw ScenarioError.invalid(node.line, "“\(key.prefix(60))” is not known in \(what)")
  }

  static func text(_ node: ScenarioNode, _ key: String) throws -> String {
    guard case .scalar(let text, _) = node.content else {
      throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), not a text")
    }
    return text
  }

  static func count(_ node: ScenarioNode, _ key: String, max: Int) throws -> Int {
    guard case .int(let number) = try node.value(), 0...Int64(max) ~= number else {
      throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), not a number from 0 to \(max)")
    }
    return Int(number)
  }
}
