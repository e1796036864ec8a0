import EventStore

/// One write of an app, with what it chooses, and what it does.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedWrite: @unchecked Sendable {
  private(set) var choices: SimulationChoices
  /// The operations of each transaction that it makes.
  private var operationCounts: [Int] = []

  /// Makes a write whose choices come from a drawn seed.
  convenience init(seededBy choices: inout SimulationChoices) {
    self.init(SimulationChoices(SeededRandom(seed: UInt64(choices.next(below: 1 << 30)))))
  }

  init(_ choices: SimulationChoices) { self.choices = choices }

  func choose(_ workloads: [any SimulationWorkload]) -> any SimulationWorkload { choices.pick(workloads) }

  /// Makes the zones that are missing, has them synced, and writes.
  func run(_ workload: any SimulationWorkload, _ transaction: inout WriteTransaction) throws {
    for zone in workload.zones {
      // Sometimes a zone stays local for a while.
      let isNew = try transaction.createZone(zone)
      if choices.next(below: 8) < (isNew ? 7 : 1) { try transaction.attachZone(zone) }
    }
    try run(&transaction) { try workload.write(&$0, &choices) }
  }

  /// Writes, and notes what the log must get.
  func run(_ transaction: inout WriteTransaction, _ body: (inout WriteTransaction) throws -> Void) throws {
    try body(&transaction)
    operationCounts = transaction.operationCounts
  }

  /// The outcome, as the app gets it.
  func outcome(isLogged: Bool?) -> WriteOutcome {
    WriteOutcome(operationCounts: operationCounts, isLogged: isLogged)
  }

  /// The outcome of a write that ended with an error. Only `commitUncertain` leaves open whether it was
  /// committed.
  func outcome(of error: any Error) -> WriteOutcome {
    outcome(isLogged: (error as? StoreError)?.code == .commitUncertain ? nil : false)
  }
}
