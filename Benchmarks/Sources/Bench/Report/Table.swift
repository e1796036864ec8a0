import Foundation

/// The outcomes as a page.
struct Page {
  var outcomes: [Outcome]

  /// A table in Markdown, which is legible as it stands.
  var markdown: String {
    var lines = [
      "| case | Tributary | of raw LMDB's speed | of GRDB's speed |",
      "|---|---|---|---|",
    ]
    for outcome in outcomes {
      let own = outcome.nanosecondsPerUnit(.tributary).map { Self.rate($0, outcome.unit) } ?? "–"
      lines.append("| \(outcome.title) | \(own) | \(cell(outcome, .lmdb)) | \(cell(outcome, .sqlite)) |")
    }
    return lines.joined(separator: "\n")
  }

  private func cell(_ outcome: Outcome, _ name: Participant.Name) -> String {
    guard let ratio = outcome.ratio(to: name) else { return "–" }
    var text = "\(Self.number(ratio.median)) (\(Self.number(ratio.least))–\(Self.number(ratio.greatest)))"
    if let aim = outcome.aim(to: name) {
      text += ratio.median >= aim ? ", aim \(Self.number(aim))" : ", **aim \(Self.number(aim))**"
    }
    return text
  }

  static func number(_ value: Double) -> String { String(format: value >= 100 ? "%.0f" : "%.2f", value) }

  /// How many a second.
  private static func rate(_ nanoseconds: Double, _ unit: String) -> String {
    let rate = 1e9 / nanoseconds
    let text =
      rate >= 1e6 ? String(format: "%.2f million", rate / 1e6) : String(format: "%.0f", rate)
    return "\(text) \(unit) a second"
  }
}
