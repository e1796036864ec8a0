/// A step of a scenario, or an assertion.
struct ScenarioStep: Sendable {
  /// `create`, `assert field` and the like.
  var name: String
  /// From 1.
  var line: Int
  /// The devices that do it one after the other, or that an assertion asks.
  var devices: [String]
  var action: ScenarioAction
  /// Whether it must throw, and leave everything as it was.
  var expectsError = false

  /// What the step takes that no runner has yet.
  var missingCapability: String? {
    switch action {
    case .unsupported(let capability): capability
    case .steps(let steps), .transaction(let steps): steps.lazy.compactMap(\.missingCapability).first
    case .write, .clock, .setOnline, .push, .pull, .beginPush, .acknowledgePush, .sync, .quiesce, .redeliver,
      .restart, .wipeLocal, .loseToken, .createZone, .deleteZone, .check:
      nil
    }
  }

  /// The writes of a step of a transaction, in order, repetitions included; nil if something in it is no
  /// write.
  var writes: [ScenarioWrite]? {
    switch action {
    case .write(let write): [write]
    case .steps(let steps), .transaction(let steps): Self.writes(of: steps)
    // A scenario with such a step is skipped as a whole.
    case .unsupported: []
    case .clock, .setOnline, .push, .pull, .beginPush, .acknowledgePush, .sync, .quiesce, .redeliver,
      .restart, .wipeLocal, .loseToken, .createZone, .deleteZone, .check:
      nil
    }
  }

  /// The writes of several steps; nil if something in them is no write.
  static func writes(of steps: [ScenarioStep]) -> [ScenarioWrite]? {
    var writes: [ScenarioWrite] = []
    for step in steps {
      guard let more = step.writes else { return nil }
      writes += more
    }
    return writes
  }
}
