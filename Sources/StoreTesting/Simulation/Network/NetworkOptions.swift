/// What a world's network is like.
struct NetworkOptions {
  /// How long a call and its answer take at most, each, where no fault delays them.
  var latencyMilliseconds: Int
  private var rates: [SimulationFault: Int]

  /// The faults of a network.
  private static let faults: [SimulationFault] = [
    .requestLost, .answerLost, .requestRepeated, .requestDelayed, .requestDelayedForDays, .bodyCut,
    .bodyFlipped, .throttled, .unavailable, .denied,
  ]

  init(_ configuration: SimulationConfiguration) {
    latencyMilliseconds = configuration.latencyMilliseconds
    rates = configuration.rates.filter { Self.faults.contains($0.key) }
  }

  /// How often a fault of the network occurs, in 1,000 calls.
  subscript(_ fault: SimulationFault) -> Int { rates[fault] ?? 0 }
}
