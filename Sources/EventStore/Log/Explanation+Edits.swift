import OperationFormat

/// What took from a list or a text.
extension LogOperation {
  /// What it removes, replaces or moves of a list or a text; nil if nothing.
  ///
  /// - Parameter hasUnits: whether anything was inserted so far; set where this inserts.
  func edit(of field: Name, _ kind: FieldKind, hasUnits: inout Bool) -> Explanation.Edit.Kind? {
    switch self {
    case .create, .moveHere: return hasUnits ? .cleared : nil
    case .update(_, _, field, let change):
      switch (kind, change) {
      case (.text, .insertText), (.list, .insertElements):
        hasUnits = true
        return nil
      case (.text, .removeText(let runs)), (.list, .removeElements(let runs)):
        return .removed(units: runs.reduce(0) { $0 &+ $1.count })
      case (.list, .replaceElement): return .replaced
      case (.list, .moveElement): return .moved
      default: return nil
      }
    default: return nil
    }
  }
}

extension ReadView {
  /// Whether a field is a list or a text that all was removed from; nil if it is neither, or has anything.
  func emptiedKind(of field: Name, in record: RecordID) throws -> FieldKind? {
    guard let number = try number(of: field) else { return nil }
    return try withStoredRow(of: record) { row, _ in
      for kind in [FieldKind.list, .text] {
        let cell = CellNumber(number, kind)
        guard let winner = try RecordLayout.winner(of: cell, in: row) else { continue }
        if try !cell.shows(winner, in: row) { return kind }
      }
      return nil
    }
  }
}
