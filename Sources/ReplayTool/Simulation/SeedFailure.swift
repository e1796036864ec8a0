import EventStore
import StoreTesting

/// The failure of a seed.
struct SeedFailure: Equatable {
  enum Kind: Equatable {
    /// An invariant did not hold.
    case invariant(SimulationFailure.Invariant)
    /// The world ended the process that it ran in.
    case processEnded
    /// The world did not end in time.
    case noEnd
    /// Two runs of the seed differed.
    case notDeterministic

    /// A stable word for people and programs.
    var name: String {
      switch self {
      case .invariant(let invariant): "\(invariant)"
      case .processEnded: "processEnded"
      case .noEnd: "noEnd"
      case .notDeterministic: "notDeterministic"
      }
    }
  }

  var seed: UInt64
  var kind: Kind
  var message: String
  /// The step after which the failure was seen; nil if the world did not survive to report it.
  var step: Int?

  init(_ seed: UInt64, _ kind: Kind, _ message: String, step: Int? = nil) {
    self.seed = seed
    self.kind = kind
    self.message = message
    self.step = step
  }

  init(_ seed: UInt64, _ failure: SimulationFailure) {
    self.init(seed, .invariant(failure.invariant), failure.message, step: failure.step)
  }

  /// `seed 17 (step 301): tokenIsNotAhead: …`.
  var line: String {
    "seed \(seed)\(step.map { " (step \($0))" } ?? ""): \(kind.name): \(Display.plain(message))"
  }

  var json: JSON {
    var number: Int?
    if case .invariant(let invariant) = kind { number = invariant.rawValue }
    return .members([
      "seed": .number(seed), "kind": .string(kind.name), "invariant": number.map { .number($0) },
      "message": .string(message), "step": step.map { .number($0) },
    ])
  }

  /// Reads the failure of an invariant from a worker's line.
  init(_ members: inout JSONMembers) throws(JSONError) {
    seed = try members.integer("seed")
    message = try members.string("message")
    step = try members.integerIfPresent("step")
    _ = try members.string("kind")
    guard let invariant = SimulationFailure.Invariant(rawValue: try members.integer("invariant")) else {
      throw members.wrong("invariant", "the number of an invariant")
    }
    kind = .invariant(invariant)
    try members.finish()
  }
}
