import Stores

/// A benchmark, with everything that it needs.
struct Case {
  /// Where the stores of a case are kept.
  enum Medium { case memory, disk }

  /// A sentence with the sizes in it.
  var title: String
  var medium = Medium.memory
  /// Makes the comparisons with their participants. They may use the place until the case ends.
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

/// A task for several participants, with our aims: a row of a table.
struct Comparison {
  enum Measure: String {
    /// Speed: ours as a multiple of the other's; more is better.
    case speed
    /// Time: ours as a multiple of the other's; less is better.
    case time
    /// Bytes: ours as a multiple of the other's; less is better.
    case bytes
  }

  /// The multiple of the other's value that we want, at least or at most.
  struct Aim {
    var than: Participant.Name
    var ratio: Double
  }

  var title: String
  var measure = Measure.speed
  /// The unit of the count, in the plural.
  var unit = "operations"
  var aims: [Aim] = []
  /// The name of Tributary's second variant, if there is one: “one writer”.
  var otherwise: String?
  /// How many units of work a turn does.
  var count: Int
  var participants: [Participant]
}

/// The sizes of everything. A smoke run is small enough to run for every change, and checks the results too.
struct Sizes {
  var records = 100_000
  var rounds = 7
  /// The work of a turn is divided by this.
  var divisor = 1

  static let full = Sizes()
  static let smoke = Sizes(records: 2000, rounds: 1, divisor: 50)

  /// The reduced work of a turn, at least one unit.
  func count(_ full: Int) -> Int { max(1, full / divisor) }
}
