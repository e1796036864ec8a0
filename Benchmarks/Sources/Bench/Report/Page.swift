import Foundation

/// The outcomes for people and for programs.
struct Page {
  var machine: Machine
  var outcomes: [Outcome]

  private static let rivals: [Participant.Name] = [.lmdb, .sqlite, .other]

  /// A table in Markdown, which is legible as it stands.
  var markdown: String {
    var lines = [
      "\(machine.processor), \(machine.cores) cores, \(machine.system); memory: \(machine.memory), disk: \(machine.disk)",
      "",
      "| case | Tributary | times raw LMDB's speed | times GRDB's | times our own |",
      "|---|---|---|---|---|",
    ]
    for outcome in outcomes {
      let own = outcome.cost(.tributary).map { Self.rate($0.median, outcome.unit) } ?? "–"
      let cells = Self.rivals.map { cell(outcome, $0) }
      lines.append("| \(outcome.title) | \(own) | \(cells.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n")
  }

  private func cell(_ outcome: Outcome, _ name: Participant.Name) -> String {
    guard let ratio = outcome.ratio(to: name) else { return "–" }
    var text = "\(Self.number(ratio.median)) (\(Self.number(ratio.least))–\(Self.number(ratio.greatest)))"
    if name == .other, let otherwise = outcome.otherwise { text += " of \(otherwise)" }
    guard let aim = outcome.aim(to: name) else { return text }
    return text + (ratio.median >= aim ? ", aim \(Self.number(aim))" : ", **aim \(Self.number(aim))**")
  }

  private static func number(_ value: Double) -> String {
    String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value)
  }

  /// How many a second.
  private static func rate(_ nanoseconds: Double, _ unit: String) -> String {
    let rate = 1e9 / nanoseconds
    return (rate >= 1e6 ? String(format: "%.2f million", rate / 1e6) : String(format: "%.0f", rate))
      + " \(unit) a second"
  }

  /// One object: the machine, and each case with nanoseconds a unit and ratios.
  var json: String {
    get throws {
      struct Case: Encodable {
        var title: String
        var unit: String
        var count: Int
        var otherwise: String?
        var nanosecondsPerUnit: [String: Spread]
        var timesTheSpeedOf: [String: Spread]
        var aims: [String: Double]
      }
      struct Document: Encodable {
        var machine: Machine
        var cases: [Case]
      }
      func byName<Value>(_ value: (Participant.Name) -> Value?) -> [String: Value] {
        var values: [String: Value] = [:]
        for name in Participant.Name.allCases { values["\(name)"] = value(name) }
        return values
      }
      let cases = outcomes.map { outcome in
        Case(
          title: outcome.title, unit: outcome.unit, count: outcome.count, otherwise: outcome.otherwise,
          nanosecondsPerUnit: byName(outcome.cost), timesTheSpeedOf: byName(outcome.ratio(to:)),
          aims: byName(outcome.aim(to:)))
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(Document(machine: machine, cases: cases)), as: UTF8.self)
    }
  }
}
