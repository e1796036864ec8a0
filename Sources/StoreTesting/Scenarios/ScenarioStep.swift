/// A step of a scenario, or an assertion.
struct ScenarioStep: Sendable {
  /// `create`, `assert field` and the like.
  var name: String
  /// From 1.
  var line: Int
  /// Who does it, one after the other; who is asked.
  var devices: [String]
  var action: ScenarioAction
  /// Whether it must throw, and leave everything as it was.
  var expectsError = false

  /// What the step takes that no runner has yet.
  var missingCapability: String? {
    switch action {
    case .unsupported(let capability): capability
    case .steps(let steps), .transaction(let steps): steps.lazy.compactMap(\.missingCapability).first
    default: nil
    }
  }
}
