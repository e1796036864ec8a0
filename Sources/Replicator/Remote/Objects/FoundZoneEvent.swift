internal import OperationFormat

/// What was found at an offset of the list of zones.
enum FoundZoneEvent: Sendable {
  /// An event with this offset, the hash of the one before that it names, and the hash of its own bytes.
  case event(ZoneEvent, previous: ContentHash, hash: ContentHash)
  /// It was given up: the bytes of its tombstone.
  case tombstone([UInt8])
  /// It cannot be read.
  case unreadable(RemoteError, hash: ContentHash)

  /// The hash by which the next event names it.
  var hash: ContentHash {
    switch self {
    case .event(_, _, let hash), .unreadable(_, let hash): hash
    case .tombstone(let bytes): ContentHash(of: bytes.span.bytes)
    }
  }

  /// The event; nil if it cannot be read, or was given up.
  var event: ZoneEvent? {
    if case .event(let event, _, _) = self { event } else { nil }
  }
}
