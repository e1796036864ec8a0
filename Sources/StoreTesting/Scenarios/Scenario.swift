import EventStore

/// A story of devices that write, go offline, sync, and must agree at the end.
public struct Scenario: Sendable {
  public var id: String
  /// What it is about.
  public var area: String
  /// Where it comes from; nil for one of our own.
  public var after: String?
  /// Names of its devices, in their order.
  public var devices: [String]
  /// What a runner must be able to do beyond the steps and assertions.
  public var needs: [String]

  /// The capabilities that a file may ask for and that this runner has.
  static let capabilities = Set(FieldKind.allCases.flatMap(\.scenarioCapabilities) + ["parent-references"])
  var steps: [ScenarioStep]
  var expectations: [ScenarioStep]

  /// What it takes that no runner has yet, nil if nothing; the first in the order of the file.
  var missingCapability: String? {
    needs.first { !Self.capabilities.contains($0) }
      ?? (steps + expectations).lazy.compactMap(\.missingCapability).first
  }
}
