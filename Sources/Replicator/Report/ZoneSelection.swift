public import OperationFormat

/// Which zones a replicator syncs.
public enum ZoneSelection: Hashable, Sendable {
  /// All that are attached here, and all that the remote has.
  case all
  /// Only these. Other zones here stay as they are, and other zones of the remote are offered: see ``attached``.
  case only(Set<ZoneID>)
  /// Those that are attached here. Zones that others make are offered: they are listed
  /// (`RecordReading.zones(_:)`), and fetched once the app attaches them.
  case attached

  /// Whether a round syncs a zone.
  func contains(_ zone: ZoneSyncState) -> Bool {
    switch self {
    case .all: true
    case .only(let zones): zones.contains(zone.zone)
    case .attached: zone.attachment != .offered
    }
  }

  /// The zones of the remote that are to be synced if they are new here, as the store takes them; nil for all.
  var chosen: Set<ZoneID>? {
    switch self {
    case .all: nil
    case .only(let zones): zones
    case .attached: []
    }
  }
}
