import OperationFormat

/// What a write did to a zone as a whole, kept to repeat it after a commit that was undone.
enum ZoneChange: Hashable, Sendable {
  case make(ZoneID)
  case attach(ZoneID)
  case detach(ZoneID)
  /// Its copy here was removed, and the remote has it.
  case evict(ZoneID)
  case delete(ZoneID)
  /// A transaction was taken back, or brought back, and there was nothing to do.
  case noteUndo(of: Position)

  /// Whether records are gone with it.
  var isDeletion: Bool {
    switch self {
    case .delete, .evict: true
    case .make, .attach, .detach, .noteUndo: false
    }
  }
}
