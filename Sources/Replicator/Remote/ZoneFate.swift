public import EventStore

/// Why a zone's log is closed: nothing can be appended to it any more.
public enum ZoneFate: Hashable, Sendable {
  /// A user deleted the zone.
  case deleted
  /// The remote purged the zone.
  case purged
  /// The account may not read the zone any more. The event comes in the account's list of zones, and the log
  /// itself has no seal: others may still append to it. If the account may read it again, the list says so.
  case revoked
  /// The zone continues under another incarnation.
  case reset(IncarnationID)

  /// Whether the log may be opened again, so that it continues.
  var mayReopen: Bool {
    switch self {
    case .deleted, .purged: true
    case .revoked, .reset: false
    }
  }

  /// What a replicator does unless the app chooses something else: a user who deletes a zone, or takes its rights
  /// back, means all devices; what the remote does is no user's wish.
  public var standardAnswer: ZoneEndAnswer {
    switch self {
    case .deleted, .revoked: .remove
    case .purged, .reset: .keep
    }
  }
}
