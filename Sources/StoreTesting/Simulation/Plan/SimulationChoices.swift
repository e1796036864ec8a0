/// The numbers that decide what happens: drawn from a seed and kept, so that they can be replayed and made
/// smaller.
///
/// The least choice is the simplest: no fault, the first record, one operation. After the last kept number, a
/// replay chooses the least each time, so that a failing run can shrink.
public struct SimulationChoices: ChoiceSource, Sendable {
  /// The numbers that were chosen so far, or that are replayed.
  private(set) var values: [Int]
  private var random: SeededRandom?
  private var next = 0

  /// Draws from a stream and keeps what it drew.
  init(_ random: SeededRandom) {
    values = []
    self.random = random
  }

  /// Replays.
  init(replaying values: [Int]) { self.values = values }

  /// Chooses a number from 0 up to and without `bound`, which must be positive.
  public mutating func next(below bound: Int) -> Int {
    precondition(bound > 0, "there is no number below \(bound)")
    defer { next += 1 }
    if next < values.count { return min(values[next], bound - 1) }
    guard random != nil else { return 0 }
    let value = random!.next(below: bound)
    values.append(value)
    return value
  }

  /// Whether something happens that has a chance of `perMille` in 1,000. For a chance of 0 it draws nothing.
  public mutating func happens(perMille: Int) -> Bool {
    perMille > 0 && next(below: 1000) >= 1000 - perMille
  }

  /// Chooses one of some elements; the first is the simplest.
  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[next(below: elements.count)]
  }

  /// Chooses an index by weights.
  mutating func pick(weights: [Int]) -> Int {
    var left = next(below: weights.reduce(0, +))
    for (index, weight) in weights.enumerated() {
      if left < weight { return index }
      left -= weight
    }
    return 0
  }
}
