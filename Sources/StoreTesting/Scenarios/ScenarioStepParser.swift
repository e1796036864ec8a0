import OperationFormat

/// Reads the steps and assertions of one scenario.
struct ScenarioStepParser {
  /// Steps of a file, repetitions written out: more than any story has, and few enough for memory.
  static let stepsMax = 200_000
  /// Where a record lives that nobody said another zone for.
  static let mainZone: Name = "main"
  private static let secondsMax = 1e9

  /// Operations on what no runner can do yet, and the capability that they take.
  private static let capabilities = [
    "clone_store": "clone-store",
    "compact": "compact", "server_reset_zone": "server-reset", "server_erase": "server-reset",
    "share": "sharing", "accept_share": "sharing", "unshare": "sharing",
    "leave_share": "sharing", "topology": "topology",
  ]

  let devices: [String]
  /// How many steps the file may still have.
  var stepsLeft: Int

  /// Reads a step, or an assertion between steps.
  mutating func step(_ node: ScenarioNode) throws -> ScenarioStep {
    try step(node, device: nil)
  }

  /// Reads an assertion.
  mutating func assertion(_ node: ScenarioNode) throws -> ScenarioStep {
    let members = try ScenarioMembers(node, "an assertion")
    guard members.has("assert") else {
      throw ScenarioError.invalid(node.line, "an assertion has no “assert”")
    }
    return try step(node)
  }

  /// - Parameter device: the devices if the step names none; nil if it must name them.
  private mutating func step(_ node: ScenarioNode, device: [String]?) throws -> ScenarioStep {
    stepsLeft -= 1
    guard stepsLeft >= 0 else { throw tooMany(node.line) }
    var members = try ScenarioMembers(node, "a step")
    if members.has("assert") { return try assertion(&members) }
    let name = try members.text("op")
    guard let verb = ScenarioVerb(rawValue: name) else {
      return ScenarioStep(
        name: name, line: node.line, devices: [], action: .unsupported(Self.capabilities[name] ?? name))
    }
    let action = try action(verb, &members, device)
    var step = ScenarioStep(name: name, line: node.line, devices: [], action: action)
    // The step of a repetition may name the devices instead.
    step.devices = try selection(&members, inherited: verb == .repetition ? [] : device)
    step.expectsError = try members.isTrue("expect_error")
    if case .unsupported = action { return step }
    try members.finish()
    if case .transaction(let parts) = action { try check(parts, of: step) }
    return step
  }

  private func check(_ parts: [ScenarioStep], of transaction: ScenarioStep) throws {
    for part in parts where !part.devices.isEmpty && part.devices != transaction.devices {
      throw ScenarioError.invalid(
        part.line, "a part of a transaction names another device", hint: "name the same one, or none")
    }
  }

  private func selection(_ members: inout ScenarioMembers, inherited: [String]?) throws -> [String] {
    if !members.has("dev"), let inherited { return inherited }
    let names = try members.texts("dev")
    if names == ["*"] { return devices }
    guard !names.isEmpty else { throw ScenarioError.invalid(members.line, "“dev” names no device") }
    for name in names where !devices.contains(name) {
      throw ScenarioError.invalid(
        members.line, "there is no device “\(name.prefix(60))”",
        hint: "the devices are \(devices.joined(separator: ", "))")
    }
    return names
  }

  // MARK: Operations

  private mutating func action(
    _ verb: ScenarioVerb, _ members: inout ScenarioMembers, _ device: [String]?
  ) throws -> ScenarioAction {
    switch verb {
    case .create: .write(try creation(&members))
    case .save: .write(.save(try record(&members), fields: try members.values("fields")))
    case .delete: .write(.delete(try record(&members)))
    case .setParent: .write(try parentChange(&members))
    case .moveZone: .write(try zoneMove(&members))
    case .addToCounter: try edit(&members) { .add(try Self.number("by", &$0)) }
    case .setCounter: try edit(&members) { .setCounter(try Self.number("value", &$0)) }
    case .insertIntoSet: try edit(&members) { .insert(try $0.list("values")) }
    case .removeFromSet: try edit(&members) { .remove(try $0.list("values")) }
    case .clearSet: try edit(&members) { _ in .clearSet }
    case .insertIntoList:
      try edit(&members) { .insertElements(try $0.list("values"), at: try $0.index("at")) }
    case .deleteFromList:
      try edit(&members) { .removeElements(at: try $0.index("at"), count: try $0.index("count")) }
    case .setInList:
      try edit(&members) { .replaceElement(at: try $0.index("at"), try $0.require("value").value()) }
    case .moveInList: try edit(&members) { .moveElement(from: try $0.index("from"), to: try $0.index("to")) }
    case .insertIntoText: try edit(&members) { .insertText(try $0.text("text"), at: try $0.index("at")) }
    case .deleteFromText:
      try edit(&members) { .removeText(at: try $0.index("at"), count: try $0.index("count")) }
    case .bulkCreate: try bulkCreate(&members)
    case .repetition: try repetition(&members, device)
    case .transaction: try transaction(&members)
    case .clock: .clock(milliseconds: try milliseconds(&members))
    case .offline: .setOnline(false)
    case .online: .setOnline(true)
    case .push: members.has("only") ? .unsupported("partial-push") : .push
    case .pull: .pull
    case .beginPush: .beginPush
    case .acknowledgePush: .acknowledgePush
    case .sync: .sync
    case .quiesce: .quiesce
    case .redeliver: try redelivery(&members)
    case .restart: .restart
    case .wipeLocal: .wipeLocal
    case .loseToken: .loseToken
    case .createZone: .createZone(try members.name("zone"))
    case .deleteZone: .deleteZone(try members.name("zone"))
    }
  }

  private func creation(_ members: inout ScenarioMembers) throws -> ScenarioWrite {
    let record = try record(&members)
    var fields = try fields(&members)
    if let parent = try parent(&members) {
      let rule = try rule(&members) ?? .none
      fields[ScenarioRecord.parentField] = .reference(Reference(record: parent, rule: rule))
    }
    return .create(record, fields: fields)
  }

  private func parentChange(_ members: inout ScenarioMembers) throws -> ScenarioWrite {
    let record = try record(&members)
    guard members.has("parent") else {
      throw ScenarioError.invalid(members.line, "a step has no “parent”", hint: "name a record, or null")
    }
    return .setParent(record, try parent(&members), try rule(&members))
  }

  private func zoneMove(_ members: inout ScenarioMembers) throws -> ScenarioWrite {
    let record = ScenarioRecord(name: try members.name("rec"), zone: try members.nameIfPresent("from"))
    return .move(record, to: try members.name("zone"))
  }

  private func record(_ members: inout ScenarioMembers) throws -> ScenarioRecord {
    ScenarioRecord(name: try members.name("rec"), zone: try members.nameIfPresent("zone"))
  }

  /// The record that a reference names, nil for null or where none is said.
  private func parent(_ members: inout ScenarioMembers) throws -> Name? {
    guard let node = members.take("parent"), try node.value() != .null else { return nil }
    return Name(try ScenarioMembers.text(node, "parent"))
  }

  private func rule(_ members: inout ScenarioMembers) throws -> ReferenceRule? {
    switch try members.textIfPresent("on_parent_delete") {
    case nil: return nil
    case "cascade": return .cascade
    case "set_null": return .nullify
    case "none": return ReferenceRule.none
    case let other?:
      throw ScenarioError.invalid(
        members.line, "“on_parent_delete” is “\(other.prefix(40))”", hint: "use cascade, set_null or none")
    }
  }

  private func edit(
    _ members: inout ScenarioMembers, _ edit: (inout ScenarioMembers) throws -> ScenarioEdit
  ) throws -> ScenarioAction {
    .write(.edit(try record(&members), try members.name("field"), try edit(&members)))
  }

  private func fields(_ members: inout ScenarioMembers) throws -> [Name: Value] {
    members.has("fields") ? try members.values("fields") : [:]
  }

  /// What a counter can hold: an integer, or a decimal.
  private static func number(_ key: String, _ members: inout ScenarioMembers) throws -> Value {
    let node = try members.require(key)
    switch try node.value() {
    case .int(let number): return .int(number)
    case .double(let number):
      if let decimal = DecimalNumber("\(number)") { return .decimal(decimal) }
    default: break
    }
    throw ScenarioError.invalid(node.line, "“\(key)” is \(node.text), not a number")
  }

  private func milliseconds(_ members: inout ScenarioMembers) throws -> Int64 {
    let node = try members.require("t")
    let seconds: Double? =
      switch try node.value() {
      case .int(let number): Double(number)
      case .double(let number): number
      default: nil
      }
    guard let seconds, 0...Self.secondsMax ~= seconds else {
      throw ScenarioError.invalid(
        node.line, "“t” is \(node.text), not a number of seconds from 0 to a billion")
    }
    return Int64((seconds * 1000).rounded())
  }

  /// A write for each record, so that each is a transaction of its own.
  private mutating func bulkCreate(_ members: inout ScenarioMembers) throws -> ScenarioAction {
    let count = try members.count("count", max: Self.stepsMax)
    let prefix = try members.text("prefix")
    let zone = try members.nameIfPresent("zone")
    let fields = members.has("fields") ? try members.require("fields") : nil
    guard count <= stepsLeft else { throw tooMany(members.line) }
    stepsLeft -= count
    return .steps(
      try (0..<count).map { number in
        var values: [Name: Value] = [:]
        if let fields {
          guard case .map(let map) = try fields.numbered(number).value() else {
            throw ScenarioError.invalid(fields.line, "“fields” is \(fields.text), not a mapping")
          }
          values = map
        }
        let record = ScenarioRecord(name: Name("\(prefix)\(number)"), zone: zone)
        return ScenarioStep(
          name: "create", line: members.line, devices: [], action: .write(.create(record, fields: values)))
      })
  }

  private mutating func repetition(_ members: inout ScenarioMembers, _ device: [String]?) throws
    -> ScenarioAction
  {
    let count = try members.count("count", max: Self.stepsMax)
    let node = try members.require("step")
    guard count <= stepsLeft else { throw tooMany(members.line) }
    let device = members.has("dev") ? [] : device
    return .steps(try (0..<count).map { try step(node.numbered($0 + 1), device: device) })
  }

  private func tooMany(_ line: Int) -> ScenarioError {
    ScenarioError(
      .tooLarge, line: line, "the file has more than \(Self.stepsMax) steps, repetitions written out",
      hint: "repeat fewer, or split the file")
  }

  private mutating func transaction(_ members: inout ScenarioMembers) throws -> ScenarioAction {
    var steps: [ScenarioStep] = []
    for node in try members.nodes("steps") {
      let step = try step(node, device: [])
      guard step.writes != nil else {
        throw ScenarioError.invalid(
          node.line, "“\(step.name)” stands in a transaction",
          hint: "a transaction holds writes of records")
      }
      steps.append(step)
    }
    return .transaction(steps)
  }

  private func redelivery(_ members: inout ScenarioMembers) throws -> ScenarioAction {
    let node = try members.require("what")
    var segments: Int?
    if case .scalar("all", _) = node.content {
    } else {
      segments = try ScenarioMembers.count(node, "what", max: Self.stepsMax)
    }
    let order = try members.textIfPresent("order") ?? ScenarioOrder.same.rawValue
    guard let order = ScenarioOrder(rawValue: order) else {
      throw ScenarioError.invalid(
        members.line, "the order is “\(order.prefix(40))”", hint: "use same, reversed or shuffled")
    }
    return .redeliver(segments: segments, order)
  }

  // MARK: Assertions

  private mutating func assertion(_ members: inout ScenarioMembers) throws -> ScenarioStep {
    let word = try members.text("assert")
    let name = "assert \(word)"
    guard let known = ScenarioAssertionWord(rawValue: word) else {
      return ScenarioStep(
        name: name, line: members.line, devices: [], action: .unsupported(Self.capabilities[word] ?? word))
    }
    let assertion = try assertion(known, &members)
    let devices = try selection(&members, inherited: nil)
    try members.finish()
    return ScenarioStep(name: name, line: members.line, devices: devices, action: .check(assertion))
  }

  private func listAssertion(_ members: inout ScenarioMembers) throws -> ScenarioAssertion {
    let record = try record(&members)
    let field = try members.name("field")
    if members.has("one_of") {
      let lists = try members.list("one_of").map { value -> [Value] in
        guard case .array(let values) = value else {
          throw ScenarioError.invalid(members.line, "“one_of” of a list has something that is no list")
        }
        return values
      }
      return .list(record, field, .oneOf(lists))
    }
    if members.has("permutation_of") {
      return .list(record, field, .permutation(of: try members.list("permutation_of")))
    }
    if members.has("has_subsequence") {
      return .list(record, field, .hasSubsequence(try members.list("has_subsequence")))
    }
    return .list(record, field, .oneOf([try members.list("eq")]))
  }

  private func assertion(
    _ word: ScenarioAssertionWord, _ members: inout ScenarioMembers
  ) throws -> ScenarioAssertion {
    switch word {
    case .converged: return .converged
    case .exists: return .exists(try record(&members))
    case .absent: return .absent(try record(&members))
    case .field:
      let record = try record(&members)
      let field = try members.name("field")
      if members.has("one_of") {
        return .field(record, field, oneOf: try members.nodes("one_of").map { try $0.value() })
      }
      return .field(record, field, oneOf: [try members.require("eq").value()])
    case .set:
      let record = try record(&members)
      let field = try members.name("field")
      if members.has("excludes") { return .setExcludes(record, field, try members.list("excludes")) }
      if members.has("contains") {
        return .set(record, field, try members.list("contains"), isWhole: false)
      }
      return .set(record, field, try members.list("eq"), isWhole: true)
    case .list: return try listAssertion(&members)
    case .text:
      let record = try record(&members)
      let field = try members.name("field")
      let texts = members.has("one_of") ? try members.texts("one_of") : [try members.text("eq")]
      return .text(record, field, oneOf: texts)
    case .parent:
      let record = try record(&members)
      let node = try members.require("eq")
      let parent = try node.value() == .null ? nil : Name(ScenarioMembers.text(node, "eq"))
      return .parent(record, parent)
    case .noDanglingParent: return .noDanglingParent
    case .count:
      let count = try members.count("eq", max: .max)
      return .count(count, zone: try members.nameIfPresent("zone") ?? Self.mainZone)
    case .survivor: return .survivor(try record(&members), of: try members.texts("of").map { Name($0) })
    case .pending:
      let count = try members.count("eq", max: .max)
      return .pending(count...count)
    case .pendingAtLeast:
      let least = try members.count("eq", max: .max)
      return .pending(least...Int.max)
    case .lastPushCount: return .lastPushCount(try members.count("eq", max: .max))
    case .lastPullCount: return .lastPullCount(try members.count("eq", max: .max))
    }
  }
}
