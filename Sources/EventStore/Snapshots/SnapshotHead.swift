package import OperationFormat

/// What a snapshot says of its log: the lanes, and the entries up to its offset.
package struct SnapshotHead: Sendable {
  let lanes: [SnapshotDecoder.FoundLane]
  let entries: [(offset: UInt64, lane: Int?, row: SegmentRow)]
  /// Up to which offset it has only the entries that something names; 0 if it has all.
  package let foldedThrough: UInt64
  /// Up to where the records are compacted; 0 if they are not.
  package let floor: UInt64

  /// - Parameter fetch: gives a part as it is stored.
  /// - Throws: `FormatError` for a content that is damaged, or that no store wrote; what the closure throws.
  package init(_ manifest: SnapshotManifest, fetch: @escaping (Int) throws -> [UInt8]) throws {
    try self.init(SnapshotDecoder(manifest, fetch: fetch))
  }

  /// Reads it from a snapshot whose parts are elsewhere: as many as that needs.
  ///
  /// - Parameter content: gives what is in a part.
  /// - Throws: `FormatError` for a content that no store wrote; what the closure throws.
  package static func read(
    _ manifest: SnapshotManifest, content: (_ index: Int) async throws -> [UInt8]
  ) async throws -> SnapshotHead {
    try await SnapshotDecoder.withFirstParts(of: manifest, content) {
      try SnapshotHead(SnapshotDecoder(manifest, content: $0))
    }
  }

  private init(_ decoder: consuming SnapshotDecoder) throws {
    var decoder = decoder
    let manifest = decoder.manifest
    var entries: [(offset: UInt64, lane: Int?, row: SegmentRow)] = []
    (foldedThrough, floor) = (manifest.foldedThrough, manifest.floor ?? 0)
    lanes = try decoder.readLanes()
    try decoder.readEntries(of: lanes) { entries.append(($0, $1, $2)) }
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
    for entry in entries {
      guard let lane = entry.lane, entry.row.rejection == nil else { continue }
      found[lane].segments.append((entry.offset, entry.row.first, entry.row.last, entry.row.hash))
    }
    return found
  }

  /// The hash of the entry at an offset; nil if it is not there.
  package func hash(at offset: UInt64) -> ContentHash? {
    let index = entries.prefixCount { $0.offset < offset }
    return index < entries.count && entries[index].offset == offset ? entries[index].row.hash : nil
  }

  /// The entries that are there one after the other, up to its offset.
  private var dense: ArraySlice<(offset: UInt64, lane: Int?, row: SegmentRow)> {
    entries[entries.prefixCount { $0.offset <= foldedThrough }...]
  }

  /// When each entry behind ``foldedThrough`` came, in milliseconds since 1970; nil if it does not say so.
  package var received: [UInt64?] { dense.map(\.row.receivedMilliseconds) }

  /// The hash and the chain of each entry behind ``foldedThrough``, whether the remote states the chain there, and whether
  /// the entry was given up.
  package var links: [(hash: ContentHash, chain: LogChain?, isStated: Bool, isGivenUp: Bool)] {
    dense.map { ($0.row.hash, $0.row.chain, $0.row.isChainStated, $0.row.isQuarantined) }
  }
}
