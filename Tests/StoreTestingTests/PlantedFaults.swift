import Testing

@testable import StoreTesting

@Suite("Planted faults")
struct PlantedFaults {
  @Test("each is found, and shrunk", arguments: FoldCheckFault.allCases)
  func isFound(fault: FoldCheckFault) throws {
    let check = FoldCheck(seed: 1, fault: fault)
    let report = check.run(sequences: 0..<2000)
    let failure = try #require(report.failure, "\(fault) was not found in \(report.sequences) sequences")
    #expect(failure.schedule.steps.count <= stepsMax(fault), "\(failure)")
    // The rest still fails, and only because of the fault.
    var coverage = FoldCheckCoverage()
    let again = check.run(failure.schedule, coverage: &coverage)
    #expect(again != nil)
    let sound = FoldCheck(seed: 1).run(failure.schedule, coverage: &coverage)
    #expect(sound == nil)
  }

  /// Some need the writes of more than two replicas: five heads of which one is removed, or two places with
  /// something between them.
  private func stepsMax(_ fault: FoldCheckFault) -> Int {
    fault == .apartRowsReturn || fault == .lastPlaceCounts ? 8 : 6
  }

  @Test("no smaller schedule fails: each remaining step matters")
  func isMinimal() throws {
    let check = FoldCheck(seed: 1, fault: .baseTooLow)
    let failure = try #require(check.run(sequences: 0..<2000).failure)
    for step in failure.schedule.steps.indices {
      var schedule = failure.schedule
      schedule.steps.remove(at: step)
      var coverage = FoldCheckCoverage()
      let found = check.run(schedule, coverage: &coverage)
      #expect(found == nil, "step \(step + 1) of\n\(failure)\ncan be left out")
    }
  }

  @Test("a failure has its command, the events, and what was expected")
  func failureIsReadable() throws {
    let failure = try #require(FoldCheck(seed: 1, fault: .everythingSeen).run(sequences: 0..<2000).failure)
    let lines = failure.description.split(separator: "\n")
    let command = "replay foldcheck --seed 1 --only \(failure.sequence) --plant everythingSeen"
    #expect(lines[0].hasSuffix(command))
    let steps = lines.filter { $0.contains(" writes at ") }
    #expect(steps.count == failure.schedule.steps.count)
    #expect(lines.contains("expected:") && lines.contains("found:"))
    #expect(failure.expected.count > failure.found.count)
  }
}
