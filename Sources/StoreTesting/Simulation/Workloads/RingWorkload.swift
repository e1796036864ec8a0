public import EventStore
public import OperationFormat

/// A ring of records. Every write links all of them again in one transaction: every snapshot has one whole
/// ring of one write, never a mixture of two.
public struct RingWorkload: SimulationWorkload {
  public let name = "ring"
  public let zones: [ZoneID] = [ZoneID(name: "ring")]
  private let size = 5

  /// Creates the workload.
  public init() {}

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    var order = Array(0..<size)
    for index in 0..<size - 1 { order.swapAt(index, choices.next(in: index...size - 1)) }
    let generation = Value.int(Int64(choices.next(below: 1 << 30)))
    for (index, member) in order.enumerated() {
      let record = record(member)
      if try !transaction.contains(record) { try transaction.create(record, type: "link") }
      try transaction.set("next", of: record, to: .int(Int64(order[(index + 1) % size])))
      try transaction.set("generation", of: record, to: generation)
    }
  }

  public func check(_ transaction: borrowing ReadTransaction) throws {
    var next: [Int] = []
    var generations: [Value] = []
    for member in 0..<size {
      guard let record = try transaction.record(record(member)) else { continue }
      guard case .int(let other) = record["next"], let generation = record["generation"] else {
        throw SimulationFailure(.transactionsAreAtomic, "link \(member) of the ring is not whole")
      }
      next.append(Int(other))
      generations.append(generation)
    }
    // There is no ring before the first write is folded.
    if next.isEmpty { return }
    var at = 0
    var seen = 0
    while next.count == size, seen < size {
      at = next[at]
      seen += 1
      if at == 0 { break }
    }
    guard seen == size, generations.allSatisfy({ $0 == generations[0] }) else {
      throw SimulationFailure(
        .transactionsAreAtomic, "the ring is broken: \(next), generations \(generations)")
    }
  }

  private func record(_ member: Int) -> RecordID {
    RecordID(zone: zones[0], name: Name(rawValue: "link\(member)"))
  }
}
