/// Bounds how many rounds are made: some for each request, and more with time.
struct SimulatedPace {
  /// The shortest time between rounds without a request, in milliseconds.
  private static let leastMilliseconds: Int64 = 50
  private static let creditMax = 20 * leastMilliseconds
  private var credit = creditMax
  private var milliseconds: Int64 = 0

  /// Notes a request for a round. An earlier request may be served by the same round, and one more round may
  /// follow.
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
