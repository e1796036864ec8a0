import Stores

/// Something that some can do, with what is asked of us.
struct Case {
  /// Where the stores of a case lie.
  enum Medium { case memory, disk }

  /// How much faster than another Tributary is to be: 0.85 is 85 % of its speed.
  struct Aim {
    var than: Participant.Name
    var ratio: Double
  }

  /// A sentence with the sizes in it.
  var title: String
  var medium = Medium.memory
  /// What is counted, in the plural.
  var unit = "operations"
  var aims: [Aim] = []
  /// What Tributary otherwise is, where it takes part: “one writer”.
  var otherwise: String?
  /// Makes those that take part. The place is theirs until the case ends.
  var make: (Place, Sizes) async throws -> (count: Int, participants: [Participant])
}

/// How large everything is. A smoke run is small enough for every change, and checks all the same.
struct Sizes {
  var records = 100_000
  var rounds = 7
  /// What a turn does is divided by this.
  var divisor = 1

  static let full = Sizes()
  static let smoke = Sizes(records: 2000, rounds: 1, divisor: 50)

  /// So many of what a turn does, and at least one.
  func count(_ full: Int) -> Int { max(1, full / divisor) }
}
