/// Checks that a log has what its acknowledged writes made, and nothing else: invariants 1 and 11.
enum WriteChecker {
  /// Checks the writes of a device that ended since the last check.
  static func check(_ device: SimulatedDevice) throws {
    let (outcomes, logged) = (device.writeOutcomes, device.view.logged)
    (device.writeOutcomes, device.view.logged) = ([], [])
    try check(outcomes, logged: logged, "d\(device.number)")
  }

  /// - Parameters:
  ///   - outcomes: the writes that ended, in the order of their commits.
  ///   - logged: the operations of each transaction of the store's own that its log got meanwhile.
  ///   - store: the store's name, for the failure.
  static func check(_ outcomes: [WriteOutcome], logged: [Int], _ store: String) throws {
    var left = logged[...]
    for write in outcomes where write.isLogged != false {
      if left.starts(with: write.operationCounts) {
        left = left.dropFirst(write.operationCounts.count)
      } else if write.isLogged == true {
        throw SimulationFailure(
          .acknowledgedIsInLog,
          "\(store) acknowledged a write of \(write.operationCounts) operations, and its log got "
            + "\(Array(left))"
        )
      }
    }
    guard left.isEmpty else {
      throw SimulationFailure(
        .transactionsAreAtomic,
        "the log of \(store) got transactions of \(Array(left)) operations that no write made")
    }
  }
}
