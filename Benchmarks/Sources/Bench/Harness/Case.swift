import Stores

/// Something that is measured, with what it needs.
struct Case {
  /// Where the stores of a case lie.
  enum Medium { case memory, disk }

  /// A sentence with the sizes in it.
  var title: String
  var medium = Medium.memory
  /// Makes those that take part. The place is theirs until the case ends.
  var make: (Place, Sizes) async throws -> [Comparison]

  init(
    title: String, medium: Medium = .memory, make: @escaping (Place, Sizes) async throws -> [Comparison]
  ) {
    self.title = title
    self.medium = medium
    self.make = make
  }

  /// A case of one comparison of speeds.
  init(
    title: String, medium: Medium = .memory, unit: String = "operations", aims: [Comparison.Aim] = [],
    otherwise: String? = nil,
    make: @escaping (Place, Sizes) async throws -> (count: Int, participants: [Participant])
  ) {
    self.init(title: title, medium: medium) { place, sizes in
      let (count, participants) = try await make(place, sizes)
      return [
        Comparison(
          title: title, unit: unit, aims: aims, otherwise: otherwise, count: count, participants: participants
        )
      ]
    }
  }
}

/// Something that some can do, with what is asked of us: a row of a table.
struct Comparison {
  enum Measure: String {
    /// How fast: our speed is a multiple of another's, and more is better.
    case speed
    /// How long: our time is a multiple of another's, and less is better.
    case time
    /// How many bytes: ours are a multiple of another's, and less is better.
    case bytes
  }

  /// What multiple of another's ours is to be, at least or at most.
  struct Aim {
    var than: Participant.Name
    var ratio: Double
  }

  var title: String
  var measure = Measure.speed
  /// What is counted, in the plural.
  var unit = "operations"
  var aims: [Aim] = []
  /// What Tributary otherwise is, where it takes part: “one writer”.
  var otherwise: String?
  /// How much a turn does.
  var count: Int
  var participants: [Participant]
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
