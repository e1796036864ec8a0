public import EventStore
public import OperationFormat

/// Bank transfers as double entries. Each makes a debit and a credit in one transaction, so the entries of
/// every read view of every store add up to 0.
public struct LedgerWorkload: SimulationWorkload {
  public let name = "ledger"
  public let zones: [ZoneID] = [ZoneID(name: "ledger")]

  /// Creates the workload.
  public init() {}

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    for _ in 0..<choices.next(in: 1...3) {
      let number = choices.next(below: 1 << 30)
      let (debit, credit) = (entry(number, "debit"), entry(number, "credit"))
      // The number of a transfer is random: an existing one is of another transfer.
      if try transaction.contains(debit) { continue }
      let amount = Int64(choices.next(in: 1...100))
      try transaction.create(debit, type: "entry", fields: ["amount": .int(-amount)])
      try transaction.create(credit, type: "entry", fields: ["amount": .int(amount)])
    }
  }

  public func check(_ transaction: borrowing ReadTransaction) throws {
    var sum: Int64 = 0
    var count = 0
    try transaction.forEachRecord(in: zones[0], type: "entry") { record in
      guard case .int(let amount) = record["amount"] else {
        throw SimulationFailure(.transactionsAreAtomic, "entry \(record.id) has no amount")
      }
      sum += amount
      count += 1
      return true
    }
    guard sum == 0, count.isMultiple(of: 2) else {
      throw SimulationFailure(.transactionsAreAtomic, "\(count) entries add up to \(sum)")
    }
  }

  private func entry(_ number: Int, _ side: String) -> RecordID {
    RecordID(zone: zones[0], name: Name(rawValue: "\(number)-\(side)"))
  }
}
