#if PLANTED_BUGS
  import EventStore
  import OperationFormat

  /// What came of the search for a planted bug.
  struct PlantedBugFind {
    private static let nameWidth = 28

    var bug: PlantedBug
    /// Of the first seed that failed; nil if none did.
    var failure: SeedFailure?
    /// Seeds that were run.
    var seeds: UInt64
    var seconds: Double

    /// `bug  found after N seeds  as invariant`.
    var line: String {
      let name = bug.rawValue + String(repeating: " ", count: max(0, Self.nameWidth - bug.rawValue.count))
      guard let failure else { return "\(name)  NOT FOUND in \(Display.count(seeds, "seed"))" }
      return
        "\(name)  found after \(Display.count(seeds, "seed"))  as \(failure.kind.name), by seed \(failure.seed)"
    }

    var json: JSON {
      .members([
        "bug": .string(bug.rawValue), "summary": .string(bug.summary), "isFound": .bool(failure != nil),
        "seeds": .number(seeds), "seconds": .fraction(SimulationPage.text(seconds)), "failure": failure?.json,
      ])
    }
  }
#endif
