/// Whether a zone is synced.
public enum ZoneAttachment: UInt8, Hashable, Sendable {
  /// Only this store has it, and nothing of it is shipped.
  case local = 0
  /// It is synced.
  case attached = 1
  /// The remote has it, and the app chose not to sync it. It is in no query.
  case offered = 2
  /// The app has deleted it, and the remote does not know yet. It is in no query.
  case deleting = 3
}
