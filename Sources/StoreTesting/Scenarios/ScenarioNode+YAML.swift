import Yams

extension ScenarioNode {
  /// Steps hold steps and values hold values: this is deep enough for the deepest value in the deepest step.
  static let depthMax = 64

  /// Reads a document.
  ///
  /// - Throws: ``ScenarioError`` `notYAML`, `scenarioInvalid`, `tooLarge`.
  init(yaml: String) throws {
    guard yaml.utf8.count <= ScenarioFile.bytesMax else {
      throw ScenarioError(
        .tooLarge, line: 0, "the file has \(yaml.utf8.count) bytes",
        hint: "write at most \(ScenarioFile.bytesMax) bytes a file; bulk_create and repeat make many of one")
    }
    try Self.refuseAliases(in: yaml)
    let root: Node?
    do {
      root = try Yams.compose(yaml: yaml, .basic)
    } catch {
      throw Self.translate(error)
    }
    guard let root else { throw ScenarioError.invalid(1, "the file is empty") }
    try self.init(root, depth: 1)
  }

  private init(_ node: Node, depth: Int) throws {
    let line = node.mark?.line ?? 1
    guard depth <= Self.depthMax else {
      throw ScenarioError(
        .tooLarge, line: line, "the file is nested deeper than \(Self.depthMax)", hint: "nest less")
    }
    self.line = line
    switch node {
    case .scalar(let scalar):
      guard node.tag == Tag(.str) else {
        throw ScenarioError.invalid(
          line, "a value has the tag \(node.tag)", hint: "write values without tags")
      }
      content = .scalar(scalar.string, isPlain: scalar.style == .plain)
    case .sequence(let sequence):
      content = .sequence(try sequence.map { try ScenarioNode($0, depth: depth + 1) })
    case .mapping(let mapping):
      var members: [(key: String, value: ScenarioNode)] = []
      for (key, value) in mapping {
        guard case .scalar(let name) = key else {
          throw ScenarioError.invalid(key.mark?.line ?? line, "a key is no text")
        }
        members.append((name.string, try ScenarioNode(value, depth: depth + 1)))
      }
      content = .mapping(members)
    case .alias:
      throw Self.aliasError(line)
    }
  }

  /// Refuses aliases before the composer reads them: a few aliases of aliases expand to more nodes than fit
  /// into memory, and the composer hashes keys. A name that is used after both `&` and `*` counts as an alias
  /// anywhere in the file.
  private static func refuseAliases(in yaml: String) throws {
    var anchors: Set<[UInt8]> = []
    for (name, _) in names(after: UInt8(ascii: "&"), in: yaml) { anchors.insert(name) }
    guard !anchors.isEmpty else { return }
    for (name, line) in names(after: UInt8(ascii: "*"), in: yaml) where anchors.contains(name) {
      throw aliasError(line)
    }
  }

  private static func aliasError(_ line: Int) -> ScenarioError {
    .invalid(line, "an anchor and its alias are used", hint: "write out what the alias refers to")
  }

  private static func names(after mark: UInt8, in yaml: String) -> [(name: [UInt8], line: Int)] {
    var found: [(name: [UInt8], line: Int)] = []
    var name: [UInt8]?
    var line = 1
    for byte in yaml.utf8 {
      switch byte {
      case mark:
        if let name, !name.isEmpty { found.append((name, line)) }
        name = []
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        name?.append(byte)
      default:
        if let name, !name.isEmpty { found.append((name, line)) }
        name = nil
      }
      if byte == UInt8(ascii: "\n") { line += 1 }
    }
    if let name, !name.isEmpty { found.append((name, line)) }
    return found
  }

  private static func translate(_ error: any Error) -> ScenarioError {
    let (line, problem) =
      switch error as? YamlError {
      case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
        .composer(_, let problem, let mark, _):
        (mark.line, problem)
      case .reader(let problem, _, _, _): (0, problem)
      case .duplicatedKeysInMapping(_, let context): (context.mark.line, "a key stands twice in a mapping")
      default: (0, "it cannot be read")
      }
    return ScenarioError(
      .notYAML, line: line, "the file is no YAML: \(problem)",
      hint: "mend the line, or quote the text at fault")
  }
}
