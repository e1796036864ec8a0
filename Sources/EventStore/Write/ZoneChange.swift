import OperationFormat

/// What a write did to a zone as a whole, kept to repeat it after a commit that was undone.
enum ZoneChange: Hashable, Sendable {
  case make(ZoneID)
  case attach(ZoneID)
  case delete(ZoneID)
  /// A transaction was taken back, or brought back, and there was nothing to do.
  case noteUndo(of: Position)

  var isDeletion: Bool { if case .delete = self { true } else { false } }
}
