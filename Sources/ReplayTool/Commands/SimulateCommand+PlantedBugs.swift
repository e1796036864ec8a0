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

    /// Plants bugs, one after the other, and looks for each until a seed fails that does not fail without it.
    func findBugs(_ text: String, _ console: Console) throws -> ToolError.Exit? {
      let bugs = try Self.bugs(text)
      let list =
        try seed.map { SeedList([$0...$0]) } ?? seeds.map { try SeedList($0) } ?? SeedList([Self.seedsOfBug])
      var finds: [PlantedBugFind] = []
      // Whether a seed fails in code that has no bug planted, without and with assets.
      var failsAnyway: [Bool: [UInt64: Bool]] = [:]
      for bug in bugs {
        let find = try find(
          bug, in: list, &failsAnyway[bug.isOfAssets, default: [:]],
          what: "\(finds.count + 1) of \(bugs.count): \(bug.rawValue)", console)
        if !json {
          try console.output.line(find.line)
          try console.output.flush()
        }
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

    private func find(
      _ bug: PlantedBug, in list: SeedList, _ failsAnyway: inout [UInt64: Bool], what: String,
      _ console: Console
    ) throws -> PlantedBugFind {
      var find = PlantedBugFind(bug: bug)
      var rest = list
      while rest.count > 0 {
        var limits = limits(of: rest)
        limits.stopAfter = 1
        let (page, isWhole) = try run(
          rest, console, limits: limits,
          workerArguments: ["--planted-bug", bug.rawValue] + assetArguments(bug), what: what)
        find.seconds += page.seconds
        guard isWhole else { throw Interrupted() }
        guard let failure = page.tally.failures.min(by: { $0.seed < $1.seed }) else {
          find.seeds += rest.count
          return find
        }
        // Seeds above it that ran beside it are run again: there are few of them.
        var seed: UInt64?
        repeat {
          seed = rest.takeFirst()
          find.seeds += 1
        } while seed != failure.seed
        if try !fails(failure.seed, with: assetArguments(bug), &failsAnyway, console) {
          find.failure = failure
          return find
        }
        find.failingAnyway += 1
      }
      return find
    }

    /// What a worker takes besides, where a bug shows in worlds with assets alone.
    private func assetArguments(_ bug: PlantedBug) -> [String] {
      bug.isOfAssets && !assets ? ["--assets"] : []
    }

    /// Whether a seed fails with no bug planted: then its failure shows none.
    private func fails(
      _ seed: UInt64, with arguments: [String], _ known: inout [UInt64: Bool], _ console: Console
    ) throws -> Bool {
      if let known = known[seed] { return known }
      var limits = limits(of: SeedList([seed...seed]))
      limits.repeatEvery = 1
      let (page, isWhole) = try run(
        SeedList([seed...seed]), console, limits: limits, workerArguments: arguments, what: "without a bug")
      guard isWhole else { throw Interrupted() }
      known[seed] = !page.tally.failures.isEmpty
      return !page.tally.failures.isEmpty
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
