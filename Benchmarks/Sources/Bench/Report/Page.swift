import Foundation

/// Formats the outcomes for people and for programs.
struct Page {
  var machine: Machine
  var outcomes: [Outcome]

  private static let rivals: [Participant.Name] = [.lmdb, .sqlite, .other]

  /// Two tables in Markdown, also readable as plain text: one of speeds, one of times and bytes.
  var markdown: String {
    let machine =
      "\(machine.processor), \(machine.cores) cores, \(machine.system); memory: \(machine.memory), disk: \(machine.disk)"
    let speeds = table(
      outcomes.filter { $0.measure == .speed },
      "| case | Tributary | times raw LMDB's speed | times GRDB's | times another |")
    let costs = table(
      outcomes.filter { $0.measure != .speed },
      "| time or bytes: less is better | Tributary | times raw LMDB's | times GRDB's | times another |")
    return ([machine] + [speeds, costs].compactMap { $0 }).joined(separator: "\n\n")
  }

  private func table(_ outcomes: [Outcome], _ head: String) -> String? {
    if outcomes.isEmpty { return nil }
    var lines = [head, "|---|---|---|---|---|"]
    for outcome in outcomes {
      let cells = Self.rivals.map { cell(outcome, $0) }
      lines.append("| \(outcome.title) | \(Self.own(outcome)) | \(cells.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n")
  }

  private static func own(_ outcome: Outcome) -> String {
    guard let cost = outcome.cost(.tributary)?.median else { return "–" }
    return switch outcome.measure {
    case .speed: rate(cost, outcome.unit)
    case .time: "\(number(cost / 1000)) µs of \(outcome.unit)"
    case .bytes: "\(number(cost)) bytes of \(outcome.unit)"
    }
  }

  private func cell(_ outcome: Outcome, _ name: Participant.Name) -> String {
    guard let ratio = outcome.ratio(to: name) else { return "–" }
    var text = Self.number(ratio.median)
    if outcome.measure != .bytes { text += " (\(Self.number(ratio.least))–\(Self.number(ratio.greatest)))" }
    if name == .other, let otherwise = outcome.otherwise { text += " of \(otherwise)" }
    guard let aim = outcome.aim(to: name) else { return text }
    return text
      + (outcome.isMet(ratio.median, aim) ? ", aim \(Self.number(aim))" : ", **aim \(Self.number(aim))**")
  }

  private static func number(_ value: Double) -> String {
    String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value)
  }

  /// The number of units in a second.
  private static func rate(_ nanoseconds: Double, _ unit: String) -> String {
    let rate = 1e9 / nanoseconds
    return (rate >= 1e6 ? String(format: "%.2f million", rate / 1e6) : String(format: "%.0f", rate))
      + " \(unit) a second"
  }

  /// One JSON object: the machine, and each comparison with its costs and ratios.
  var json: String {
    get throws {
      struct Case: Encodable {
        var title: String
        var measure: String
        var unit: String
        var count: Int
        var otherwise: String?
        /// In nanoseconds, or in bytes if they are measured.
        var costPerUnit: [String: Spread]
        /// The multiple of the others' speed, time or bytes.
        var multipleOf: [String: Spread]
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
          title: outcome.title, measure: outcome.measure.rawValue, unit: outcome.unit, count: outcome.count,
          otherwise: outcome.otherwise, costPerUnit: byName(outcome.cost),
          multipleOf: byName(outcome.ratio(to:)),
          aims: byName(outcome.aim(to:)))
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(Document(machine: machine, cases: cases)), as: UTF8.self)
    }
  }
}
