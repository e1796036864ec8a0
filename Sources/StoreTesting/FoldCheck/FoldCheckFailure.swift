/// A sequence that failed, as small as it could be made.
public struct FoldCheckFailure: Error, Sendable, CustomStringConvertible {
  /// The seed of the run.
  public let seed: UInt64
  /// The sequence's number.
  public let sequence: Int
  /// The fault that was planted, nil for none.
  let fault: FoldCheckFault?
  /// The smallest schedule found that fails.
  package let schedule: FoldSchedule
  /// How many steps the generated schedule had.
  public let generatedSteps: Int
  /// Where it fails.
  public let place: String
  /// The heads that the oracle expects.
  public let expected: [String]
  /// The heads that the fold has.
  public let found: [String]

  /// Some lines of text: the command that runs it again, the steps, expected and found.
  public var description: String {
    var command = "replay foldcheck --seed \(seed) --only \(sequence)"
    if let fault { command += " --plant \(fault.rawValue)" }
    var lines = ["sequence \(sequence) of seed \(seed) fails: \(command)"]
    lines.append(
      "  \(schedule.replicas) replicas, \(schedule.records) records, \(schedule.fields) fields; "
        + "\(schedule.steps.count) steps, of \(generatedSteps) generated:")
    for (index, step) in schedule.steps.enumerated() { lines.append("  \(index + 1). \(step)") }
    lines.append("  then all ship and fetch until nothing moves")
    lines.append("at: \(place)")
    lines.append("expected:")
    lines += expected.isEmpty ? ["  nothing"] : expected.map { "  \($0)" }
    lines.append("found:")
    lines += found.isEmpty ? ["  nothing"] : found.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }
}
