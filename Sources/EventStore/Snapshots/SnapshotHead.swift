package import OperationFormat

/// What a snapshot says of its log: the lanes, and the entries up to its offset.
package struct SnapshotHead: Sendable {
  let lanes: [SnapshotDecoder.FoundLane]
  let entries: [(lane: Int?, row: SegmentRow)]

  /// - Parameter fetch: gives a part as it is stored.
  /// - Throws: `FormatError` for a content that is damaged, or that no store wrote; what the closure throws.
  package init(_ manifest: SnapshotManifest, fetch: @escaping (Int) throws -> [UInt8]) throws {
    var decoder = SnapshotDecoder(manifest, fetch: fetch)
    var entries: [(lane: Int?, row: SegmentRow)] = []
    lanes = try decoder.readLanes()
    try decoder.readEntries(of: lanes) { _, lane, row in entries.append((lane, row)) }
    self.entries = entries
  }

  /// A lane as the entries make it.
  package struct LaneSummary: Sendable {
    package var replica: ReplicaID
    package var epoch: UInt32
    /// Its last sequence that readers take.
    package var last: UInt64
    /// The offset of the entry by which readers close it.
    package var closedAt: UInt64?
    /// From which sequences on its transactions had seen more, and how much.
    package var bases: [(first: UInt64, base: UInt64)]
    /// Its segments: their offsets, sequences and hashes.
    package var segments: [(offset: UInt64, first: UInt64, last: UInt64, hash: ContentHash)] = []
  }

  /// The lanes with their segments that readers take.
  package var laneSummaries: [LaneSummary] {
    var found = lanes.map { lane in
      LaneSummary(
        replica: lane.id.replica, epoch: lane.id.epoch, last: lane.last, closedAt: lane.closure,
        bases: lane.bases.map { ($0.sequence, $0.base) })
    }
    for (index, entry) in entries.enumerated() {
      guard let lane = entry.lane, entry.row.rejection == nil else { continue }
      found[lane].segments.append((UInt64(index) + 1, entry.row.first, entry.row.last, entry.row.hash))
    }
    return found
  }

  /// The hash of the entry at an offset, from 1.
  package func hash(at offset: UInt64) -> ContentHash { entries[Int(offset) - 1].row.hash }

  /// When each entry came, in milliseconds since 1970; nil if it does not say so.
  package var received: [UInt64?] { entries.map(\.row.receivedMilliseconds) }

  /// The hash and the chain of each entry, and whether the remote states the chain there.
  package var links: [(hash: ContentHash, chain: LogChain?, isStated: Bool)] {
    entries.map { ($0.row.hash, $0.row.chain, $0.row.isChainStated) }
  }
}
