public import EventStore
public import OperationFormat

/// Random changes of few records and fields: what makes the most conflicts.
public struct CellWorkload: SimulationWorkload {
  public let name = "cells"
  public let zones: [ZoneID] = [ZoneID(name: "cells"), ZoneID(name: "more")]

  public let allowsRestoring = true

  private let records: [Name] = ["r0", "r1", "r2", "r3"]
  private let fields: [Name] = ["f0", "f1", "f2"]
  private let types: [Name] = ["t0", "t1"]

  /// Creates the workload.
  public init() {}

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    // Mostly one zone; now and then one write in two.
    let zones = choices.next(below: 8) == 7 ? zones : [choices.next(below: 4) == 3 ? zones[1] : zones[0]]
    let count = choices.next(below: 4) == 3 ? choices.next(in: 1...20) : choices.next(in: 1...3)
    if choices.next(below: 10) == 9 { transaction.author = "somebody" }
    for index in 0..<count {
      try change(
        RecordID(zone: zones[index % zones.count], name: choices.pick(records)), &transaction, &choices)
    }
  }

  private func change(
    _ record: RecordID, _ transaction: inout WriteTransaction, _ choices: inout SimulationChoices
  ) throws {
    let isThere = try transaction.contains(record)
    switch choices.next(below: 10) {
    case 0..<7:
      if !isThere { try transaction.create(record, type: choices.pick(types)) }
      let field = choices.pick(fields)
      let value = value(&choices)
      try transaction.set(field, of: record, to: value)
      // A write reads what it wrote.
      let found = try transaction.value(of: field, in: record)
      guard found == (value == .null ? nil : value) else {
        throw SimulationFailure(
          .transactionsAreAtomic, "field \(field) of \(record) was set and reads \(found as Any)")
      }
    case 7: if isThere { try transaction.clear(choices.pick(fields), of: record) }
    case 8: if isThere { try transaction.delete(record) }
    default:
      // A record that is made again begins without what was seen of it.
      if isThere { try transaction.delete(record) }
      try transaction.create(record, type: choices.pick(types))
    }
  }

  /// Small values, and some around the sizes at which a value is kept in another way.
  private func value(_ choices: inout SimulationChoices) -> Value {
    switch choices.next(below: 20) {
    case 0..<14: .int(Int64(choices.next(below: 8)))
    case 14: .null
    case 15: .string("")
    case 16: .bytes([UInt8](repeating: 7, count: choices.pick([1020, 1021, 1022, 1023, 1024, 1025, 1500])))
    case 17: .string(String(repeating: "v", count: choices.pick([4000, 4090, 4096, 4100])))
    case 18: .array([.int(1), .string("two"), .bool(true)])
    default: .double(choices.pick([0, -0.0, 1.5, .infinity]))
    }
  }
}
