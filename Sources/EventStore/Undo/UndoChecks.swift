import OperationFormat

/// Whether places are still as they were when an undo was planned. It reads each list and each field once.
struct UndoChecks {
  private var units: [UndoneField: UndoneUnits] = [:]
  private var heads: [UndoneField: [Value?: [OperationID]]] = [:]

  private struct UndoneField: Hashable {
    let record: RecordID
    let field: Name
    let kind: FieldKind
  }

  mutating func allows(_ step: UndoPlan.Step, _ write: LocalWrite) throws -> Bool {
    switch step.expected {
    case nil: return true
    case .existence(let heads)?:
      let reader = try write.reader()
      return try reader.heads(of: .existence, step.record).map(\.operation) == heads
    case .cell(let cell, let heads)?:
      return try self.heads(of: cell, step.record, write) == heads
    case .items(let items)?:
      guard let field = step.field else { return false }
      let place = UndoneField(record: step.record, field: field, kind: .list)
      if units[place] == nil {
        let reader = try write.reader()
        units[place] = try UndoneUnits(field, .list, of: step.record, in: reader)
      }
      let now = units[place]!.items
      return items.allSatisfy { now[$0.key] == $0.value }
    }
  }

  private mutating func heads(
    of cell: UndoneCell, _ record: RecordID, _ write: LocalWrite
  ) throws -> [OperationID] {
    let place = UndoneField(record: record, field: cell.field, kind: cell.kind)
    if heads[place] == nil {
      let reader = try write.reader()
      heads[place] = try reader.headsByElement(of: cell, record).mapValues { $0.map(\.operation) }
    }
    return heads[place]![cell.element] ?? []
  }
}
