#if PLANTED_BUGS
  import EventStore
  import OperationFormat

  /// What came of the search for a planted bug.
  struct PlantedBugFind {
    private static let nameWidth = 28

    var bug: PlantedBug
    /// Of the first seed that failed, and does not without the bug; nil if there was none.
    var failure: SeedFailure?
    /// Seeds up to that one, or all.
    var seeds: UInt64 = 0
    /// Those of them that failed and fail without the bug too, so that they do not show it.
    var failingAnyway = 0
    var seconds = 0.0

    /// `bug  found after N seeds  as invariant`.
    var line: String {
      let name = bug.rawValue + String(repeating: " ", count: max(0, Self.nameWidth - bug.rawValue.count))
      let count = Display.count(seeds, "seed")
      let anyway = failingAnyway > 0 ? "; \(Display.count(failingAnyway, "seed")) failed without it too" : ""
      guard let failure else { return "\(name)  NOT FOUND in \(count)\(anyway)" }
      return "\(name)  found after \(count)  as \(failure.kind.name)\(anyway)"
    }

    var json: JSON {
      .members([
        "bug": .string(bug.rawValue), "summary": .string(bug.summary), "isFound": .bool(failure != nil),
        "seeds": .number(seeds), "seedsFailingAnyway": .number(failingAnyway),
        "seconds": .fraction(SimulationPage.text(seconds)), "failure": failure?.json,
      ])
    }
  }
#endif
