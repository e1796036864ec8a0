import EventStore
import StoreTesting

/// The result of one seed, as a worker prints it on a line.
struct SeedReport: Equatable {
  var seed: UInt64
  var steps: Int
  var simulatedMilliseconds: Int64
  var traceHash: UInt64
  var counts: SimulationCounts
  var failure: SeedFailure?

  init(_ result: SimulationResult) {
    seed = result.seed
    steps = result.steps
    simulatedMilliseconds = result.simulatedMilliseconds
    traceHash = result.traceHash
    counts = SimulationCounts(result.coverage)
    failure = result.failure.map { SeedFailure(result.seed, $0) }
  }

  var json: JSON {
    .members([
      "seed": .number(seed), "steps": .number(steps), "milliseconds": .number(simulatedMilliseconds),
      "hash": .number(traceHash), "counts": counts.json, "failure": failure?.json,
    ])
  }

  /// Parses a worker's line.
  init(line: String) throws(JSONError) {
    var members = try JSONMembers(try JSONScanner.read(Array(line.utf8)), in: "")
    seed = try members.integer("seed")
    steps = try members.integer("steps")
    simulatedMilliseconds = try members.integer("milliseconds")
    traceHash = try members.integer("hash")
    var counts = try members.members("counts")
    self.counts = try SimulationCounts(&counts)
    if !members.isMissing("failure") {
      var failure = try members.members("failure")
      self.failure = try SeedFailure(&failure)
    }
    try members.finish()
  }
}
