import StoreTesting
import Testing

@Suite("Random sequences")
struct RandomSequences {
  @Test(
    "replicas agree with the oracle and with each other", arguments: WideTests.choose(1...3, otherwise: 1...1)
  )
  func areSound(seed: UInt64) {
    let report = FoldCheck(seed: seed).run(sequences: 0..<200)
    let failure = report.failure.map(\.description)
    #expect(failure == nil)
    #expect(report.sequences == 200)
  }

  @Test("a random seed is sound too")
  func randomSeedIsSound() {
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next()
    print("random sequences: seed \(seed)")
    let report = FoldCheck(seed: seed).run(sequences: 0..<WideTests.choose(300, otherwise: 100))
    let failure = report.failure.map(\.description)
    #expect(failure == nil)
  }

  @Test("they reach the places of possible faults")
  func coversWhatMatters() {
    let check = FoldCheck(seed: 6)
    var coverage = FoldCheckCoverage()
    for first in stride(from: 0, to: 1200, by: 100)
    where coverage.headsMax <= 4 || coverage.named.contains(where: { $0.count == 0 }) {
      coverage.add(check.run(sequences: first..<first + 100).coverage)
    }
    for (name, count) in coverage.named {
      #expect(count > 0, "no \(name) in 1,200 sequences")
    }
    #expect(coverage.headsMax > 4)
  }

  @Test("a sequence does not depend on earlier ones")
  func sequenceStandsAlone() {
    let check = FoldCheck(seed: 5)
    let all = check.run(sequences: 20..<23).coverage
    var one = FoldCheckCoverage()
    for number in 20..<23 { one.add(check.run(sequences: number..<number + 1).coverage) }
    #expect(all == one)
    let schedule = check.schedule(of: 22)
    #expect(schedule == FoldCheck(seed: 5).schedule(of: 22))
    #expect(schedule != check.schedule(of: 23))
    #expect(schedule != FoldCheck(seed: 6).schedule(of: 22))
  }

  @Test("half of the sequences have about eight transactions or fewer")
  func sequencesAreSmall() {
    let check = FoldCheck(seed: 7)
    let counts = (0..<301).map { number in
      check.run(sequences: number..<number + 1).coverage.transactions
    }.sorted()
    #expect((6...9).contains(counts[150]))
    #expect(counts.last! <= FoldSchedule.transactionsMax)
  }

  @Test("a run stops on request")
  func stopsWhenTold() {
    let report = FoldCheck(seed: 8).run(sequences: 0..<1500) { _ in false }
    #expect(report.sequences == 1)
  }
}
