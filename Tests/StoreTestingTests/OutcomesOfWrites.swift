import Testing

@testable import StoreTesting

@Suite("The results of writes match the log")
struct OutcomesOfWrites {
  private func invariant(_ outcomes: [WriteOutcome], logged: [Int]) -> SimulationFailure.Invariant? {
    do {
      try WriteChecker.check(outcomes, logged: logged, "d0")
      return nil
    } catch {
      return (error as? SimulationFailure)?.invariant
    }
  }

  private let done = WriteOutcome(operationCounts: [2, 1], isLogged: true)
  private let failed = WriteOutcome(operationCounts: [4], isLogged: false)
  private let unknown = WriteOutcome(operationCounts: [3], isLogged: nil)
  private let empty = WriteOutcome(operationCounts: [], isLogged: true)

  @Test("An acknowledged write is there completely")
  func acknowledged() {
    #expect(invariant([done, empty, done], logged: [2, 1, 2, 1]) == nil)
    #expect(invariant([done], logged: []) == .acknowledgedIsInLog)
    #expect(invariant([done], logged: [2]) == .acknowledgedIsInLog)
    #expect(invariant([done], logged: [1, 2]) == .acknowledgedIsInLog)
    #expect(invariant([done, done], logged: [2, 1]) == .acknowledgedIsInLog)
  }

  @Test("A failed write is not there")
  func failedOnes() {
    #expect(invariant([failed, done], logged: [2, 1]) == nil)
    #expect(invariant([failed], logged: [4]) == .transactionsAreAtomic)
    #expect(invariant([], logged: [1]) == .transactionsAreAtomic)
  }

  @Test("A write with an unknown outcome is there completely, or not at all")
  func unknownOnes() {
    #expect(invariant([unknown], logged: []) == nil)
    #expect(invariant([unknown, done], logged: [3, 2, 1]) == nil)
    #expect(invariant([unknown, done], logged: [2, 1]) == nil)
    #expect(
      invariant([WriteOutcome(operationCounts: [2, 1], isLogged: nil)], logged: [2]) == .transactionsAreAtomic
    )
  }
}
