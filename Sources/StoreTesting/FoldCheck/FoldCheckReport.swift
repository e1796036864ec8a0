/// What a run of ``FoldCheck`` did and found.
public struct FoldCheckReport: Sendable {
  /// How many sequences were run.
  public var sequences = 0
  /// What occurred in them, counted.
  package var coverage = FoldCheckCoverage()
  /// The first failure, made small; nil if there was none. The run ends with it.
  public var failure: FoldCheckFailure?

  /// Creates the report of a run that did nothing.
  package init() {}

  /// Adds the report of another run. Of two failures, it keeps the one with the lower sequence.
  package mutating func add(_ other: FoldCheckReport) {
    sequences += other.sequences
    coverage.add(other.coverage)
    guard let failure else {
      failure = other.failure
      return
    }
    if let found = other.failure, found.sequence < failure.sequence { self.failure = found }
  }
}
