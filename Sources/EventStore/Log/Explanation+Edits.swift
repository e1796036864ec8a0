import OperationFormat

/// What took from a list or a text.
extension LogOperation {
  /// What it removes, replaces or moves of a list or a text; nil if nothing.
  ///
  /// - Parameter hasUnits: whether anything was inserted so far; set where this inserts.
  func edit(of field: Name, _ kind: FieldKind, hasUnits: inout Bool) -> Explanation.Edit.Kind? {
    if makesRecord { return hasUnits ? .cleared : nil }
    guard case .update(_, _, field, let change) = self else { return nil }
    switch kind.with({ $0.edit(by: change) }) {
    case .inserted:
      hasUnits = true
      return nil
    case .removed(let units): return .removed(units: units)
    case .replaced: return .replaced
    case .moved: return .moved
    case nil: return nil
    }
  }
}

extension ReadView {
  /// Whether a field is a list or a text that all was removed from; nil if it is neither, or has anything.
  func emptiedKind(of field: Name, in record: RecordID) throws -> FieldKind? {
    guard let number = try number(of: field) else { return nil }
    return try withStoredRow(of: record) { row, _ in
      for kind in FieldKind.allCases where kind.layout == .units {
        let cell = CellNumber(number, kind)
        guard let winner = try RecordLayout.winner(of: cell, in: row) else { continue }
        if try !cell.shows(winner, in: row) { return kind }
      }
      return nil
    }
  }
}
