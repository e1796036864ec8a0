import Dispatch
import Stores

/// Two that should have come to the same did not.
struct Disagreement: Error, CustomStringConvertible {
  var description: String
}

/// Lets those of a case take turns: A B C, B C A, C A B, after a turn of each that is not counted.
struct Runner {
  var sizes: Sizes
  var place: Place
  /// Who takes part; all, unless one is looked at with a profiler.
  var participants: Set<Participant.Name> = Set(Participant.Name.allCases)
  /// Hears of each round that is over, 0 being the one that is not counted.
  var tell: (_ round: Int) throws -> Void

  func run(_ one: Case) async throws -> Outcome {
    let directory = place.inner()
    defer { directory.remove() }
    let (count, all) = try await one.make(directory, sizes)
    let participants = all.filter { self.participants.contains($0.name) }
    var outcome = Outcome(
      title: one.title, unit: one.unit, aims: one.aims, otherwise: one.otherwise, count: count)
    var facts: [Fact: (value: UInt64, by: Participant.Name)] = [:]
    for round in 0...sizes.rounds {
      for index in participants.indices {
        let participant = participants[(index + round) % participants.count]
        try await participant.prepare()
        let start = DispatchTime.now().uptimeNanoseconds
        try await participant.turn()
        let nanoseconds = DispatchTime.now().uptimeNanoseconds - start
        for (fact, value) in try await participant.finish() {
          if let known = facts[fact], known.value != value {
            throw Disagreement(
              description:
                "\(one.title): \(participant.name.rawValue) comes to other \(fact.rawValue) in round "
                + "\(round) than \(known.by.rawValue)")
          }
          facts[fact] = (value, participant.name)
        }
        // The first turn of each warms what there is to be warmed.
        if round > 0 {
          outcome.costs[participant.name, default: []].append(
            Double(nanoseconds) / Double(participant.count ?? count))
        }
      }
      try tell(round)
    }
    return outcome
  }
}
