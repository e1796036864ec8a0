/// A part of a scenario's YAML, as plain data that knows its line.
struct ScenarioNode: Sendable {
  enum Content: Sendable {
    /// A text; if it is plain, without quotes, it may mean a number, a truth value or null.
    case scalar(String, isPlain: Bool)
    case sequence([ScenarioNode])
    /// In the order of the file; no key occurs twice.
    case mapping([(key: String, value: ScenarioNode)])
  }

  var content: Content
  /// From 1.
  var line: Int

  /// What it is, for messages.
  var text: String {
    switch content {
    case .scalar(let text, _): "“\(text.prefix(60))”"
    case .sequence(let nodes): "a list of \(nodes.count)"
    case .mapping(let members): "a mapping of \(members.count)"
    }
  }
}

extension ScenarioNode {
  /// The node with `#i` replaced by a number. What is exactly `#i` becomes that number.
  ///
  /// A repetition inside, and the fields of a bulk creation inside, number themselves.
  func numbered(_ number: Int) -> ScenarioNode {
    var copy = self
    switch content {
    case .scalar("#i", _): copy.content = .scalar("\(number)", isPlain: true)
    case .scalar(let text, let isPlain):
      copy.content = .scalar(Self.numbered(text, number), isPlain: isPlain)
    case .sequence(let nodes): copy.content = .sequence(nodes.map { $0.numbered(number) })
    case .mapping(let members):
      let own = Self.keyThatNumbersItself(members)
      copy.content = .mapping(
        members.map { ($0.key, $0.key == own ? $0.value : $0.value.numbered(number)) })
    }
    return copy
  }

  private static func numbered(_ text: String, _ number: Int) -> String {
    text.contains("#i")
      ? text.split(separator: "#i", omittingEmptySubsequences: false).joined(separator: "\(number)") : text
  }

  private static func keyThatNumbersItself(_ members: [(key: String, value: ScenarioNode)]) -> String? {
    guard case .scalar(let name, _)? = members.first(where: { $0.key == "op" })?.value.content else {
      return nil
    }
    return ["repeat": "step", "bulk_create": "fields"][name]
  }
}
