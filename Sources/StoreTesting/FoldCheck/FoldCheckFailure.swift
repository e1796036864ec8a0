/// A sequence that failed, as small as it could be made.
public struct FoldCheckFailure: Error, Sendable, CustomStringConvertible {
  /// The seed of the run.
  public let seed: UInt64
  /// The sequence's number.
  public let sequence: Int
  /// The fault that was planted, nil for none.
  let fault: FoldCheckFault?
  /// The schedules of which it is one; nil for random ones.
  let schedules: FoldSchedules?
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
    let which = schedules.map { "--schedules \($0.transactions) --syncs \($0.syncs)" } ?? "--seed \(seed)"
    var command = "replay foldcheck \(which) --only \(sequence)"
    if let fault { command += " --plant \(fault.rawValue)" }
    let place = schedules == nil ? "sequence \(sequence) of seed \(seed)" : "schedule \(sequence)"
    var lines = ["\(place) fails: \(command)"]
    lines.append(
      "  \(schedule.replicas) replicas, \(schedule.records) records, \(schedule.fields) fields; "
        + "\(schedule.steps.count) steps, of \(generatedSteps) generated:")
    for (index, step) in schedule.steps.enumerated() { lines.append("  \(index + 1). \(step)") }
    lines.append("  then all ship and fetch until nothing moves")
    lines.append("at: \(self.place)")
    lines.append("expected:")
    lines += expected.isEmpty ? ["  nothing"] : expected.map { "  \($0)" }
    lines.append("found:")
    lines += found.isEmpty ? ["  nothing"] : found.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }
}
