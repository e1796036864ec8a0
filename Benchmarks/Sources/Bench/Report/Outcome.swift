/// What a case came to.
struct Outcome {
  var title: String
  var unit: String
  var aims: [Case.Aim]
  var otherwise: String?
  /// How much a turn does.
  var count: Int
  /// What each round's turn took, in nanoseconds a unit.
  var costs: [Participant.Name: [Double]] = [:]

  /// What a turn took, in nanoseconds a unit.
  func cost(_ name: Participant.Name) -> Spread? { costs[name].map(Spread.init) }

  /// Our speed as a multiple of another's, round by round.
  func ratio(to name: Participant.Name) -> Spread? {
    guard let ours = costs[.tributary], let others = costs[name], name != .tributary else {
      return nil
    }
    return Spread(zip(ours, others).map { $1 / $0 })
  }

  func aim(to name: Participant.Name) -> Double? { aims.first { $0.than == name }?.ratio }
}

/// Some numbers: the middle one, and the least and the greatest.
struct Spread: Codable {
  var median: Double
  var least: Double
  var greatest: Double

  init(_ numbers: [Double]) {
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    least = sorted[0]
    greatest = sorted[sorted.count - 1]
  }
}
