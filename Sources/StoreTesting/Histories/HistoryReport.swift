package import OperationFormat

/// The result of running a history.
package struct HistoryReport: Sendable {
  /// Commits read.
  package internal(set) var commits = 0
  /// Transactions written: one for each commit and zone.
  package internal(set) var transactions = 0
  /// Operations in them.
  package internal(set) var operations = 0
  /// Cells that have losers at the end.
  package internal(set) var conflicts = 0
  /// Segments shipped, and their bytes.
  package internal(set) var segments = 0
  package internal(set) var bytesShipped = 0
  /// Others' transactions that devices folded, summed over the devices.
  package internal(set) var folded = 0
  /// Rounds of sync.
  package internal(set) var rounds = 0
  /// Calls of the remote.
  package internal(set) var remoteCalls = 0
  /// Names of the devices, in their order; each is the name of its store's directory too.
  package internal(set) var devices: [String] = []
  /// Files of the final tree.
  package internal(set) var files = 0
  /// The digest of each zone, as the first device has it.
  package internal(set) var digests: [(zone: ZoneID, digest: ContentHash)] = []
  /// The most contested record: the one with the most heads, or else the one with the most writes.
  package internal(set) var mostContested: RecordID?
  /// The first difference that was found; nil if every device equals the final tree and the others.
  package internal(set) var difference: HistoryDifference?

  /// One hash over all zones and their digests.
  package var stateDigest: ContentHash {
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

/// A difference between a device and what it should have.
package struct HistoryDifference: Hashable, Sendable, CustomStringConvertible {
  package let device: String
  /// The record, or the zone.
  package let place: String
  package let expected: String
  package let found: String

  package var description: String { "\(place) on \(device): expected \(expected), found \(found)" }
}
