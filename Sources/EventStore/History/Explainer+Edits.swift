import OperationFormat

/// What an operation removes from a list or a text.
extension LogOperation {
  /// What the operation removes, replaces or moves in a list or a text; nil if nothing.
  ///
  /// - Parameter hasUnits: whether anything was inserted so far; set if the operation inserts.
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

extension Explainer {
  /// The kind of a list or a text from which everything was removed; nil for other fields.
  func emptiedKind(of field: Name, in record: RecordID) throws -> FieldKind? {
    guard let number = try read.readView.number(of: field) else { return nil }
    return try read.readView.withStoredRow(of: record) { row, _ in
      for kind in FieldKind.allCases where kind.layout == .units {
        let cell = CellNumber(number, kind)
        guard let winner = try row.winner(of: cell) else { continue }
        if try !cell.shows(winner, in: row) { return kind }
      }
      return nil
    }
  }
}
