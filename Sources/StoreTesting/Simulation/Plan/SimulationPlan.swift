/// Everything that decides what happens in a world: the plan of a seed, or a smaller one made from it.
struct SimulationPlan: Hashable, Sendable {
  /// The streams of a seed. They are independent, so that fewer draws from one do not change the others.
  enum Stream: UInt64, CaseIterable {
    case configuration = 1
    case schedule
    case workload
    case timing
    case network
    case disk
    case identities
    case aftermath
    case damage
    case oldRemote
    case importChain
    case bounds
    case lostZone
    case inTheWay
    case hints
    case looksBack
    case copies
    case restored
    case retired
    case snapshots
    case trimmed
    case remoteClock
    case detached
    case history
    case compacted
    case purged
    case reset
    case repeated
    case parted
  }

  let seed: UInt64
  var configuration: SimulationConfiguration
  var steps: [SimulationStep]
  /// What was drawn while the world ran, by stream. A stream that is absent is drawn from the seed.
  var recorded: [Stream: [Int]] = [:]

  init(seed: UInt64, _ options: SimulationOptions) {
    self.seed = seed
    let random = SeededRandom(seed: seed)
    var choices = SimulationChoices(random.stream(Stream.configuration.rawValue))
    configuration = SimulationConfiguration(&choices, options)
    steps = configuration.makeSteps(random.stream(Stream.schedule.rawValue))
    var looksBack = SimulationChoices(random.stream(Stream.looksBack.rawValue))
    configuration.addLooksBack(to: &steps, options, &looksBack)
    var remoteClock = SimulationChoices(random.stream(Stream.remoteClock.rawValue))
    configuration.addRemoteClock(options, &remoteClock)
  }

  func random(_ stream: Stream) -> SeededRandom { SeededRandom(seed: seed).stream(stream.rawValue) }

  /// The choices of a stream while the world runs.
  func choices(_ stream: Stream) -> SimulationChoices {
    recorded[stream].map(SimulationChoices.init(replaying:)) ?? SimulationChoices(random(stream))
  }

  /// What a step chooses.
  func choices(ofStep index: Int) -> SimulationChoices {
    steps[index].choices.map(SimulationChoices.init(replaying:))
      ?? SimulationChoices(random(.workload).stream(UInt64(index)))
  }
}
