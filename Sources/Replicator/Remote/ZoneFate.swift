public import EventStore

/// Why a zone's log is closed: nothing can be appended to it any more.
public enum ZoneFate: Hashable, Sendable {
  /// A user deleted the zone.
  case deleted
  /// The remote purged the zone.
  case purged
  /// The zone continues under another incarnation.
  case reset(IncarnationID)
}
