/// A file of scenarios.
///
/// ```yaml
/// format: scenarios/1
/// scenarios:
/// - id: delete-and-edit
///   devices: [a, b]
///   steps:
///   - {op: create, dev: a, rec: note, fields: {title: Milk}}
///   - {op: quiesce, dev: '*'}
///   expect:
///   - {assert: converged, dev: '*'}
/// ```
public struct ScenarioFile: Sendable {
  /// What the first key of a file says.
  public static let format = "scenarios/1"
  /// Larger than any file that a person reads.
  public static let bytesMax = 4 << 20

  /// In the order of the file.
  public var scenarios: [Scenario]

  /// Reads a file: all of it, or an error that names the line.
  ///
  /// - Throws: ``ScenarioError`` `notYAML`, `scenarioInvalid`, `tooLarge`.
  public static func parse(yaml: String) throws -> ScenarioFile {
    var members = try ScenarioMembers(try ScenarioNode(yaml: yaml), "the file")
    let format = try members.text("format")
    guard format == Self.format else {
      throw ScenarioError.invalid(
        members.line, "the format is “\(format.prefix(40))”", hint: "this version reads \(Self.format)")
    }
    var stepsLeft = ScenarioStepParser.stepsMax
    var scenarios: [Scenario] = []
    var ids: Set<String> = []
    for node in try members.nodes("scenarios") {
      let scenario = try parse(node, &stepsLeft)
      guard ids.insert(scenario.id).inserted else {
        throw ScenarioError.invalid(
          node.line, "the id “\(scenario.id)” stands twice", hint: "name each scenario once")
      }
      scenarios.append(scenario)
    }
    try members.finish()
    return ScenarioFile(scenarios: scenarios)
  }

  private static func parse(_ node: ScenarioNode, _ stepsLeft: inout Int) throws -> Scenario {
    var members = try ScenarioMembers(node, "a scenario")
    let id = try members.text("id")
    guard !id.isEmpty, id.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw ScenarioError.invalid(
        node.line, "the id is empty, or has control characters", hint: "use letters and digits")
    }
    let devices = try members.texts("devices")
    guard 1...Scenario.devicesMax ~= devices.count, Set(devices).count == devices.count,
      !devices.contains("*")
    else {
      throw ScenarioError.invalid(
        node.line, "the devices of \(id) are none, more than \(Scenario.devicesMax), or two of one name",
        hint: "give each device a name of its own; “*” means all")
    }
    var needs = members.has("needs") ? try members.texts("needs") : []
    if try users(&members) > 1, !needs.contains("sharing") { needs.append("sharing") }
    var parser = ScenarioStepParser(devices: devices, stepsLeft: stepsLeft)
    let scenario = Scenario(
      id: id, area: try members.textIfPresent("area") ?? "", after: try members.textIfPresent("after"),
      devices: devices, needs: needs, steps: try members.nodes("steps").map { try parser.step($0) },
      expectations: members.has("expect") ? try members.nodes("expect").map { try parser.assertion($0) } : [])
    stepsLeft = parser.stepsLeft
    try members.finish()
    return scenario
  }

  /// How many users the devices are of.
  private static func users(_ members: inout ScenarioMembers) throws -> Int {
    guard let node = members.take("users") else { return 1 }
    guard case .mapping(let users) = node.content else {
      throw ScenarioError.invalid(node.line, "“users” is \(node.text), not a mapping")
    }
    return Set(try users.map { try ScenarioMembers.text($0.value, $0.key) }).count
  }
}

extension Scenario {
  /// Each is a store with a thread of its own.
  static let devicesMax = 64
}
