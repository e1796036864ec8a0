/// The operation of a transaction in the model of compaction.
enum ContentOperation: Hashable {
  /// Names a floor: an offset of the log.
  case compact(floor: Int)
  /// - Parameter unit: the unit after which it inserts one, or which it removes.
  case change(Change, record: Int, unit: UnitName?)

  /// The record that it changes.
  var record: Int? { if case .change(_, let record, _) = self { record } else { nil } }

  /// What is done to all cells of a record at once.
  enum Change: Hashable {
    /// Creates the record, then as ``grow``.
    case make
    /// Sets the register, adds to the counter, inserts the element, and inserts a unit into the text.
    case grow
    /// Sets the register, adds to the counter, removes the element, and removes a unit from the text.
    case shrink
    case delete
    /// Lets a record that was deleted be alive again, and changes no field: an undo.
    case revive
  }
}

extension ContentOperation: CustomStringConvertible {
  var description: String {
    switch self {
    case .compact(let floor): "floor \(floor)"
    case .change(let change, let record, let unit):
      "\(change) \(["x", "y"][record])"
        + (unit.map { " at unit \($0.number) of \(Step.name($0.writer))" } ?? "")
    }
  }
}
