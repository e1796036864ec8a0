public import EventStore
public import OperationFormat

/// Random changes of few records and fields, which make the most conflicts. Operations are drawn as in
/// ``FoldCheck``. A set of the last field becomes a change of one of its cells that merge, and some deletions
/// become moves to the other zone. Some writes let a record refer to another one, and move that.
public struct CellWorkload: SimulationWorkload {
  public let name = "cells"
  public let zones: [ZoneID] = [ZoneID(name: "cells"), ZoneID(name: "more")]
  public let allowsRestoring = true

  /// Records of each zone, and fields of each record.
  private let records = 4
  private let fields = 3

  /// Creates the workload.
  public init() {}

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    // Mostly in one zone; sometimes in both.
    let zones = choices.next(below: 8) == 7 ? zones : [choices.next(below: 4) == 3 ? zones[1] : zones[0]]
    let cells = CellOperations(records: records, fields: fields, from: &choices)
    if choices.next(below: 10) == 9 { transaction.author = "somebody" }
    let operations = cells.draw(upTo: choices.next(below: 4) == 3 ? 20 : 4, from: &choices)
    var made = 0
    for (index, drawn) in operations.enumerated() {
      let zone = zones[index % zones.count]
      let operation = merging(drawn, index)
      if [.create, .moveAway].contains(operation.kind) { made += 1 }
      // No write may make a record again more often.
      if made > Self.makingsMax { break }
      // A record that leaves one zone moves to the other.
      try transaction.perform(operation, in: zone, movingTo: self.zones.first { $0 != zone })
      // A write reads what it wrote. What a reference reads depends on its target.
      guard operation.setsRegister, !operation.value.value.mayNameRecords else { continue }
      let record = RecordID(zone: zone, name: operation.recordName)
      guard try transaction.reads(operation.value.value, of: operation.fieldName, in: record) else {
        throw SimulationFailure(.transactionsAreAtomic, "a write does not read what it wrote: \(operation)")
      }
    }
    if choices.next(below: 8) == 7, made + 3 <= Self.makingsMax {
      try moveTarget(zones[0] == self.zones[0] ? self.zones : self.zones.reversed(), &transaction, &choices)
    }
  }

  /// Lets a record of the first zone refer to one there, which then moves to the other, unless that has one.
  private func moveTarget(
    _ zones: [ZoneID], _ transaction: inout WriteTransaction, _ choices: inout SimulationChoices
  ) throws {
    let holder = RecordID(zone: zones[0], name: Name("r\(choices.next(below: records))"))
    let target = RecordID(zone: zones[0], name: Name("r\(choices.next(below: records))"))
    for record in [target, holder] where try !transaction.contains(record) {
      try transaction.create(record, type: "t0")
    }
    let rule = choices.pick([ReferenceRule.cascade, .nullify])
    try transaction.set("f0", of: holder, to: .reference(Reference(record: target.name, rule: rule)))
    let copy = RecordID(zone: zones[1], name: target.name)
    // A holder that was made again may have shown a cascade that hides the target.
    guard try transaction.contains(target), try !transaction.contains(copy) else { return }
    try transaction.move(target, to: copy.zone)
  }

  private static let makingsMax = Limits.foldStepsMax / FoldWork.stepsOfMakingAgain - 1

  static let merges: [FoldOperation.Kind] = [
    .add, .insert, .insertText, .put, .insertElements, .remove, .removeText, .removeKey, .moveElement,
    .insertText,
    .replaceElement, .insertElements, .removeElements, .contribute,
  ]

  /// A set of the last field, as a change that merges; every other deletion, as a move.
  private func merging(_ operation: FoldOperation, _ index: Int) -> FoldOperation {
    if case .end(nil) = operation.action, !index.isMultiple(of: 2) {
      return FoldOperation(.moveAway, record: operation.record)
    }
    guard operation.setsRegister, Int(operation.field) == fields - 1 else { return operation }
    let number = Int(operation.value.rawValue) + index
    // One record gets many contributions: only where two follow each other can their order be wrong.
    let kind = operation.record == 1 ? .contribute : Self.merges[number % Self.merges.count]
    // What is added to a counter is a small number.
    let value = kind.row.uses.contains(.number) ? FoldValue(rawValue: UInt8(1 + number % 7)) : operation.value
    return FoldOperation(
      kind, record: operation.record, field: operation.field, type: operation.type, value: value,
      element: UInt8(number % FoldCells.elements))
  }
}
