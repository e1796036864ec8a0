import Dispatch
import Stores

/// The error when two participants have different results.
struct Disagreement: Error, CustomStringConvertible {
  var description: String
}

/// Lets the participants of a case take turns: A B C, B C A, C A B. A turn of each, which does not count,
/// comes first.
struct Runner {
  var sizes: Sizes
  var place: Place
  /// The participants: all, or only one, for a profiler.
  var participants: Set<Participant.Name> = Set(Participant.Name.allCases)
  /// Called after each round; round 0 does not count.
  var tell: (_ round: Int) throws -> Void

  func run(_ one: Case) async throws -> [Outcome] {
    let directory = place.inner()
    defer { directory.remove() }
    var outcomes: [Outcome] = []
    for comparison in try await one.make(directory, sizes) { outcomes.append(try await run(comparison)) }
    return outcomes
  }

  private func run(_ comparison: Comparison) async throws -> Outcome {
    var outcome = Outcome(comparison)
    let participants = comparison.participants.filter { self.participants.contains($0.name) }
    var facts: [Fact: (value: UInt64, by: Participant.Name)] = [:]
    // The first turn of each is a warm-up. Bytes are the same in each round, so one round is enough.
    for round in comparison.measure == .bytes ? 1...1 : 0...sizes.rounds {
      for index in participants.indices {
        let participant = participants[(index + round) % participants.count]
        try await participant.prepare()
        let start = DispatchTime.now().uptimeNanoseconds
        try await participant.turn()
        let nanoseconds = DispatchTime.now().uptimeNanoseconds - start
        let bytes = try participant.bytes?()
        for (fact, value) in try await participant.finish() {
          if let known = facts[fact], known.value != value {
            throw Disagreement(
              description:
                "\(comparison.title): \(participant.name.rawValue) has other \(fact.rawValue) in round "
                + "\(round) than \(known.by.rawValue)")
          }
          facts[fact] = (value, participant.name)
        }
        guard round > 0 else { continue }
        let cost = comparison.measure == .bytes ? Double(bytes ?? 0) : Double(nanoseconds)
        outcome.costs[participant.name, default: []].append(
          cost / Double(participant.count ?? comparison.count))
      }
      try tell(round)
    }
    return outcome
  }
}
