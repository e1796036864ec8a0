public import OperationFormat

/// Which zones a replicator syncs.
public enum ZoneSelection: Hashable, Sendable {
  /// All that are attached here, and all that the remote has.
  case all
  /// Only these. Other zones here stay as they are, and other zones of the remote do not appear here.
  case only(Set<ZoneID>)

  func contains(_ zone: ZoneID) -> Bool {
    switch self {
    case .all: true
    case .only(let zones): zones.contains(zone)
    }
  }

  /// The zones, as the store takes them; nil for all.
  var chosen: Set<ZoneID>? {
    switch self {
    case .all: nil
    case .only(let zones): zones
    }
  }
}
