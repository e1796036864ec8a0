/// What is wrong with a file of scenarios.
public struct ScenarioError: Error, Sendable, CustomStringConvertible {
  /// What kind of error it is. More may come.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// The file is no YAML.
    public static let notYAML = Code(rawValue: "notYAML")
    /// It is YAML, but not of this format.
    public static let scenarioInvalid = Code(rawValue: "scenarioInvalid")
    /// It is larger, deeper or longer than a scenario may be.
    public static let tooLarge = Code(rawValue: "tooLarge")
  }

  public let code: Code
  /// The line at fault, from 1; 0 where it is the file as a whole.
  public let line: Int
  /// What is wrong, with the offending value.
  public let message: String
  /// What to do.
  public let hint: String

  /// Creates an error.
  public init(_ code: Code, line: Int, _ message: String, hint: String) {
    self.code = code
    self.line = line
    self.message = message
    self.hint = hint
  }

  public var description: String {
    line > 0 ? "line \(line): \(message) (\(code)). \(hint)" : "\(message) (\(code)). \(hint)"
  }

  /// Where the format is described.
  private static let pageHint =
    "the page “Scenario files” has all steps and assertions: "
    + "Sources/StoreTesting/StoreTesting.docc/ScenarioFiles.md"

  static func invalid(_ line: Int, _ message: String, hint: String = pageHint) -> ScenarioError {
    ScenarioError(.scenarioInvalid, line: line, message, hint: hint)
  }
}
