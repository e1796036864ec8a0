/// Where a generator takes its choices from: a seed, or a record of choices made before.
///
/// A recorded run is made smaller by lowering its choices, so 0 should mean the simplest.
public protocol ChoiceSource {
  /// Returns a number from 0 up to and without `bound`, which must be positive.
  mutating func next(below bound: Int) -> Int
}

extension ChoiceSource {
  /// Returns a number of a closed range.
  public mutating func next(in range: ClosedRange<Int>) -> Int {
    range.lowerBound + next(below: range.upperBound - range.lowerBound + 1)
  }

  /// Returns true in `percent` of 100 cases.
  public mutating func chance(_ percent: Int) -> Bool { next(below: 100) < percent }

  /// Returns a number of a closed range, small ones more often.
  mutating func few(_ range: ClosedRange<Int>) -> Int { min(next(in: range), next(in: range)) }
}
