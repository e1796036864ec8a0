/// What must never be, with the shortest schedule that leads to it.
struct Violation: Error, CustomStringConvertible {
  enum Kind: Hashable {
    case endless, stuck, lost, twice, rejected, tooEarly, causalityLost, causalityInvented, unequal
    case changed, different, cameBack, late
  }

  let kind: Kind
  let text: String
  var schedule: [String] = []

  var description: String {
    "\(kind): \(text)\n"
      + schedule.enumerated().map { "  \($0.offset + 1). \($0.element)" }.joined(separator: "\n")
  }
}
