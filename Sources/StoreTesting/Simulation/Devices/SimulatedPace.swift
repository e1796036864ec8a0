/// Bounds how many rounds are made: some for each call, and some with time.
struct SimulatedPace {
  /// The shortest time in which a replicator makes a round that nothing calls for, in milliseconds.
  private static let leastMilliseconds: Int64 = 50
  private static let creditMax = 20 * leastMilliseconds
  private var credit = creditMax
  private var milliseconds: Int64 = 0

  /// Something called for a round. It may come with what was called for before, and once more after.
  mutating func call() { credit += 2 * Self.leastMilliseconds }

  /// A round begins.
  ///
  /// - Returns: whether it may.
  mutating func begin(at now: Int64) -> Bool {
    credit = min(credit + now - milliseconds, max(credit, Self.creditMax)) - Self.leastMilliseconds
    milliseconds = now
    return credit >= 0
  }
}
