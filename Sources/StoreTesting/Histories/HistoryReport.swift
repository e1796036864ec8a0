public import OperationFormat

/// What came of running a history.
public struct HistoryReport: Sendable {
  /// Commits read.
  public internal(set) var commits = 0
  /// Transactions written: one a commit and zone.
  public internal(set) var transactions = 0
  /// Operations in them.
  public internal(set) var operations = 0
  /// Cells that have losers at the end.
  public internal(set) var conflicts = 0
  /// Segments shipped, and their bytes.
  public internal(set) var segments = 0
  public internal(set) var bytesShipped = 0
  /// Others' transactions that devices folded, summed over the devices.
  public internal(set) var folded = 0
  /// Rounds of sync.
  public internal(set) var rounds = 0
  /// Calls of the remote.
  public internal(set) var remoteCalls = 0
  /// Names of the devices, in their order; each is the name of its store's directory too.
  public internal(set) var devices: [String] = []
  /// Files of the final tree.
  public internal(set) var files = 0
  /// The digest of each zone, as the first device has it.
  public internal(set) var digests: [(zone: ZoneID, digest: ContentHash)] = []
  /// The record that most was written about at the same time: the one with the most heads; else the one most written.
  public internal(set) var mostContested: RecordID?
  /// The first difference that was found; nil if every device equals the final tree and the others.
  public internal(set) var difference: HistoryDifference?

  /// One hash over all zones and their digests.
  public var stateDigest: ContentHash {
    var hasher = ContentHasher()
    for (zone, digest) in digests {
      var writer = ByteWriter()
      writer.append(text: zone.description)
      hasher.update(writer.span)
      hasher.update(Array(digest.description.utf8).span.bytes)
    }
    return hasher.finish()
  }
}

/// Where a device is not what it should be.
public struct HistoryDifference: Hashable, Sendable, CustomStringConvertible {
  public let device: String
  /// The record, or the zone.
  public let place: String
  public let expected: String
  public let found: String

  public var description: String { "\(place) on \(device): expected \(expected), found \(found)" }
}
