#if PLANTED_BUGS
  import EventStore
  import OperationFormat

  extension SimulateCommand {
    /// Seeds that a planted bug must be found within.
    private static let seedsOfBug: ClosedRange<UInt64> = 1...10_000

    /// Plants the bug of a worker.
    func plant() throws {
      guard let plantedBug else { return }
      PlantedBug.plant(try Self.bug(plantedBug))
    }

    /// Plants bugs, one after the other, and looks for each until a seed fails.
    func findBugs(_ text: String, _ console: Console) throws -> ToolError.Exit? {
      let bugs = try Self.bugs(text)
      let list =
        try seed.map { SeedList([$0...$0]) } ?? seeds.map { try SeedList($0) } ?? SeedList([Self.seedsOfBug])
      var finds: [PlantedBugFind] = []
      var limits = limits(of: list)
      limits.stopAfter = 1
      for bug in bugs {
        let (page, isWhole) = try run(
          list, console, limits: limits, workerArguments: ["--planted-bug", bug.rawValue],
          what: "\(finds.count + 1) of \(bugs.count): \(bug.rawValue)")
        let failure = page.tally.failures.min { $0.seed < $1.seed }
        let find = PlantedBugFind(bug: bug, failure: failure, seeds: page.tally.seeds, seconds: page.seconds)
        if !json {
          try console.output.line(find.line)
          try console.output.flush()
        }
        if !isWhole { throw Interrupted() }
        finds.append(find)
      }
      if json {
        try console.output.line(.object(["bugs": .array(finds.map(\.json))]))
      } else {
        let found = finds.count { $0.failure != nil }
        try console.output.line("\(found) of \(Display.count(finds.count, "bug")) found")
      }
      return finds.allSatisfy { $0.failure != nil } ? nil : .problem
    }

    private static func bug(_ name: String) throws(ToolError) -> PlantedBug {
      guard let bug = PlantedBug(rawValue: name) else {
        throw .input(
          "bugUnknown", "there is no bug “\(Display.plain(name, limit: 60))” to plant",
          hint: "there are \(PlantedBug.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return bug
    }

    /// Parses a bug's name, several between commas, `all`, or a part such as `3/10`: every tenth from the
    /// third on.
    static func bugs(_ text: String) throws(ToolError) -> [PlantedBug] {
      if text == "all" { return PlantedBug.allCases }
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      if parts.count == 2 {
        guard let part = Int(parts[0]), let count = Int(parts[1]), count > 0, 1...count ~= part else {
          throw .input(
            "partInvalid", "“\(Display.plain(text, limit: 60))” is no part of the bugs",
            hint: "write 1/10 to 10/10 for a tenth of them")
        }
        return PlantedBug.allCases.enumerated().filter { $0.offset % count == part - 1 }.map(\.element)
      }
      var bugs: [PlantedBug] = []
      for name in text.split(separator: ",", omittingEmptySubsequences: false) {
        bugs.append(try bug(String(name)))
      }
      return bugs
    }
  }
#endif
