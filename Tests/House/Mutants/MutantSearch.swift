import ChildProcesses
import Foundation

/// Runs the simulator for each mutant, until a seed fails that does not fail without the mutant.
struct MutantSearch {
  /// The path of the tool, built with all mutants.
  let replay: String
  let seeds: ClosedRange<UInt64>
  /// Whether a seed fails without a mutant, for worlds without and with assets.
  private var failsAnyway: [Bool: [UInt64: Bool]] = [:]

  init(replay: String, seeds: ClosedRange<UInt64>) {
    self.replay = replay
    self.seeds = seeds
  }

  struct Find {
    var mutant: Mutant
    /// How many seeds were run, including the failing one.
    var seeds: UInt64 = 0
    /// The kind of the failure; nil if no seed failed.
    var kind: String?
    /// How many of the seeds also fail without the mutant, so that they do not show it.
    var failingAnyway = 0

    var line: String {
      let name = mutant.name.padding(toLength: max(mutant.name.count, 28), withPad: " ", startingAt: 0)
      let anyway = failingAnyway > 0 ? "; \(failingAnyway) failed without it too" : ""
      guard let kind else { return "\(name)  NOT FOUND in \(seeds) seeds\(anyway)" }
      return "\(name)  found after \(seeds) seeds  as \(kind)\(anyway)"
    }

    func json() throws -> String {
      struct Line: Encodable {
        var bug: String
        var summary: String
        var isFound: Bool
        var kind: String?
        var seeds: UInt64
        var seedsFailingAnyway: Int
      }
      let line = Line(
        bug: mutant.name, summary: mutant.summary, isFound: kind != nil, kind: kind, seeds: seeds,
        seedsFailingAnyway: failingAnyway)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      return String(decoding: try encoder.encode(line), as: UTF8.self)
    }
  }

  mutating func find(_ mutant: Mutant) throws -> Find {
    var find = Find(mutant: mutant)
    var first = seeds.lowerBound
    while first <= seeds.upperBound {
      guard let failure = try firstFailure(of: first...seeds.upperBound, mutant) else {
        find.seeds = seeds.upperBound - seeds.lowerBound + 1
        return find
      }
      find.seeds = failure.seed - seeds.lowerBound + 1
      if try !fails(failure.seed, mutant.needsAssets) {
        find.kind = failure.kind
        return find
      }
      find.failingAnyway += 1
      first = failure.seed + 1
    }
    return find
  }

  private mutating func fails(_ seed: UInt64, _ withAssets: Bool) throws -> Bool {
    if let known = failsAnyway[withAssets]?[seed] { return known }
    let fails = try run(["--seeds", "\(seed)..\(seed)", "--repeat-every", "1"], nil, withAssets) != nil
    failsAnyway[withAssets, default: [:]][seed] = fails
    return fails
  }

  private func firstFailure(of seeds: ClosedRange<UInt64>, _ mutant: Mutant) throws -> Failure? {
    let range = "\(seeds.lowerBound)..\(seeds.upperBound)"
    return try run(["--seeds", range, "--stop-after", "1"], mutant.name, mutant.needsAssets)
  }

  private struct Failure: Decodable {
    var seed: UInt64
    var kind: String
  }

  private struct Page: Decodable {
    var failures: [Failure]
  }

  /// Runs the simulator, and returns the failure of the least seed.
  private func run(_ arguments: [String], _ mutant: String?, _ withAssets: Bool) throws -> Failure? {
    let command = ["simulate", "--json"] + arguments + (withAssets ? ["--assets"] : [])
    var environment = ProcessInfo.processInfo.environment
    environment["PLANTED_BUG"] = mutant
    let process = try ChildProcess(
      path: replay, command, environment: environment.map { "\($0)=\($1)" }, errors: .kept)
    let output = process.receiveAll()
    let end = process.wait()
    guard let page = try? JSONDecoder().decode(Page.self, from: Data(output)) else {
      throw HouseError(
        "\(replay) \(command.joined(separator: " ")) ended with \(end) and no report: \(process.errorText)",
        hint: "run it by hand with PLANTED_BUG=\(mutant ?? "") in the environment")
    }
    return page.failures.min { $0.seed < $1.seed }
  }

  /// Selects mutants: `all`, names separated by commas, or a part such as `3/10`: every tenth from the third
  /// on.
  static func choose(_ text: String, of mutants: [Mutant]) throws -> [Mutant] {
    if text == "all" { return mutants }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard let part = Int(parts[0]), let count = Int(parts[1]), count > 0, 1...count ~= part else {
        throw HouseError("“\(text)” is no part of the bugs", hint: "write 1/10 to 10/10 for a tenth of them")
      }
      return mutants.enumerated().filter { $0.offset % count == part - 1 }.map(\.element)
    }
    return try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
      guard let mutant = mutants.first(where: { $0.name == name }) else {
        throw HouseError(
          "there is no bug “\(name)” to plant",
          hint: "there are \(mutants.map(\.name).joined(separator: ", "))")
      }
      return mutant
    }
  }
}
