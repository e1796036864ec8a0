import OperationFormat

/// Renames the units of lists and texts in transactions that get another epoch.
///
/// A lane numbers what it inserts into a cell from 0. Of a lane that is cut in two, the first part keeps its units; those
/// of the second part are counted from 0 again, as the new lane's.
struct UnitRenaming {
  private struct Cell: Hashable {
    var record: Name
    var field: Name
    var isText: Bool
  }

  /// The lane that is cut in two.
  let old: UnitMaker
  /// The second part's lane, for transactions of a third one; nil for those of the second part itself.
  var new: UnitMaker?
  /// How many units of each cell stay the old lane's.
  private var kept: [Cell: UInt64] = [:]

  /// - Parameters:
  ///   - transactions: those that get another epoch: all of the old lane's from one on.
  ///   - count: how many units the old lane has inserted into a list or a text of a record, in all.
  init(
    of old: UnitMaker, in transactions: [LogTransaction],
    count: (_ record: Name, _ field: Name, _ isText: Bool) throws -> UInt64
  ) throws {
    self.old = old
    var made: [Cell: UInt64] = [:]
    for operation in transactions.lazy.flatMap(\.operations) {
      guard let (cell, units) = Self.insertion(operation) else { continue }
      made[cell, default: 0] += units
    }
    for (cell, units) in made {
      let all = try count(cell.record, cell.field, cell.isText)
      kept[cell] = all - min(units, all)
    }
  }

  /// The operations with their units renamed; nil if they name none of the lane.
  func renamed(_ operations: [LogOperation]) -> [LogOperation]? {
    var renamed = operations
    for (index, operation) in operations.enumerated() {
      guard case .update(let record, let type, let field, let change) = operation,
        let cell = Self.cell(of: change, record, field)
      else { continue }
      // A cell that the second part inserts nothing into has units of the first part alone.
      let kept = kept[cell] ?? .max
      renamed[index] = .update(record: record, type: type, field: field, rename(change, kept))
    }
    return renamed == operations ? nil : renamed
  }

  // MARK: One change

  private func rename(_ change: FieldChange, _ kept: UInt64) -> FieldChange {
    switch change {
    case .insertElements(let values, let origin):
      .insertElements(values, after: origin.map { rename($0, kept) })
    case .moveElement(let element, let origin):
      .moveElement(rename(element, kept), after: origin.map { rename($0, kept) })
    case .replaceElement(let element, let value): .replaceElement(rename(element, kept), value)
    case .removeElements(let runs): .removeElements(runs.flatMap { rename($0, kept) })
    case .insertText(let text, let origin): .insertText(text, after: origin.map { rename($0, kept) })
    case .removeText(let runs): .removeText(runs.flatMap { rename($0, kept) })
    case .set, .add, .insert, .remove, .put, .removeKey, .contribute: change
    }
  }

  private func isOld(_ unit: UnitReference) -> Bool {
    unit.maker == old || unit.maker == nil && new == nil
  }

  private func rename(_ unit: UnitReference, _ kept: UInt64) -> UnitReference {
    guard isOld(unit) else { return unit }
    return unit.number < kept
      ? UnitReference(maker: old, number: unit.number)
      : UnitReference(maker: new, number: unit.number - kept)
  }

  private func rename(_ run: UnitSpan, _ kept: UInt64) -> [UnitSpan] {
    let first = run.first.number
    guard isOld(run.first), first < kept, run.count > kept - first else {
      return [UnitSpan(first: rename(run.first, kept), count: run.count)]
    }
    return [
      UnitSpan(first: rename(run.first, kept), count: kept - first),
      UnitSpan(first: UnitReference(maker: new, number: 0), count: run.count - (kept - first)),
    ]
  }

  // MARK: Cells

  private static func cell(of change: FieldChange, _ record: Name, _ field: Name) -> Cell? {
    switch change {
    case .insertElements, .moveElement, .replaceElement, .removeElements:
      Cell(record: record, field: field, isText: false)
    case .insertText, .removeText: Cell(record: record, field: field, isText: true)
    case .set, .add, .insert, .remove, .put, .removeKey, .contribute: nil
    }
  }

  /// Where an operation inserts units, and how many.
  private static func insertion(_ operation: LogOperation) -> (Cell, UInt64)? {
    guard case .update(let record, _, let field, let change) = operation,
      let cell = cell(of: change, record, field)
    else { return nil }
    switch change {
    case .insertElements(let values, _): return (cell, UInt64(values.count))
    case .moveElement: return (cell, 1)
    case .insertText(let text, _): return (cell, UInt64(text.unicodeScalars.count))
    default: return nil
    }
  }
}
