/// The result of a comparison.
struct Outcome {
  var title: String
  var measure: Comparison.Measure
  var unit: String
  var aims: [Comparison.Aim]
  var otherwise: String?
  /// The work of a turn.
  var count: Int
  /// The cost of each round's turn, in nanoseconds or bytes for each unit.
  var costs: [Participant.Name: [Double]] = [:]

  init(_ comparison: Comparison) {
    title = comparison.title
    measure = comparison.measure
    unit = comparison.unit
    aims = comparison.aims
    otherwise = comparison.otherwise
    count = comparison.count
  }

  /// The cost of a turn, in nanoseconds or bytes for each unit.
  func cost(_ name: Participant.Name) -> Spread? { costs[name].map(Spread.init) }

  /// Our speed, time or bytes as a multiple of the other's, computed for each round.
  func ratio(to name: Participant.Name) -> Spread? {
    guard let ours = costs[.tributary], let others = costs[name], name != .tributary else {
      return nil
    }
    return Spread(zip(ours, others).map { measure == .speed ? $1 / $0 : $0 / $1 })
  }

  func aim(to name: Participant.Name) -> Double? { aims.first { $0.than == name }?.ratio }

  /// Whether a ratio meets the aim.
  func isMet(_ ratio: Double, _ aim: Double) -> Bool { measure == .speed ? ratio >= aim : ratio <= aim }
}

/// The median of some numbers, with the least and the greatest.
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
