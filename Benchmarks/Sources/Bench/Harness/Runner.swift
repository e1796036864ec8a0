import Foundation
import Stores

/// What a case came to.
struct Outcome {
  var title: String
  var group: Case.Group
  var unit: String
  var aims: [Case.Aim]
  /// How much a turn does.
  var count: Int
  /// Nanoseconds of each round's turn.
  var nanoseconds: [Participant.Name: [Double]] = [:]

  /// The middle of what a turn took, in nanoseconds a unit.
  func nanosecondsPerUnit(_ name: Participant.Name) -> Double? {
    nanoseconds[name].map { Spread($0.map { $0 / Double(count) }).median }
  }

  /// Our speed as a multiple of another's, round by round.
  func ratio(to name: Participant.Name) -> Spread? {
    guard let ours = nanoseconds[.tributary], let others = nanoseconds[name], name != .tributary else {
      return nil
    }
    return Spread(zip(ours, others).map { $1 / $0 })
  }

  func aim(to name: Participant.Name) -> Double? { aims.first { $0.than == name }?.ratio }
}

/// Some numbers: the middle one, and the least and the greatest.
struct Spread {
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
  var tell: (String) -> Void

  func run(_ one: Case) async throws -> Outcome {
    let directory = place.inner()
    defer { directory.remove() }
    tell(one.title)
    let (count, all) = try await one.make(directory, sizes)
    let participants = all.filter { self.participants.contains($0.name) }
    var outcome = Outcome(title: one.title, group: one.group, unit: one.unit, aims: one.aims, count: count)
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
        if round > 0 { outcome.nanoseconds[participant.name, default: []].append(Double(nanoseconds)) }
      }
      tell("\(one.title): round \(round) of \(sizes.rounds)")
    }
    return outcome
  }
}
