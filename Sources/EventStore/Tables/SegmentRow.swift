import OperationFormat

/// What the store keeps of a segment of a remote log that it folded or shipped.
struct SegmentRow: Hashable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32
  var first: UInt64
  var last: UInt64
  var hash: ContentHash
  /// When the remote first received it, in milliseconds since 1970; nil if the remote keeps no such times.
  var receivedMilliseconds: UInt64?
  /// Why every replica rejects it; nil for a folded segment. A rejected segment places no transactions.
  var rejection: SegmentRejection?
  /// The log's chain there; nil as long as it is not known, as for a segment that was acknowledged before
  /// those ahead of it were read.
  var chain: LogChain?
  /// Whether the remote stated the chain. If not, it follows from what was read, and a later entry that states
  /// one may have been written over an entry that was given up since.
  var isChainStated = true
  /// Up to where its transactions have seen the log that name a greater base: see `FormerPlace`; nil if none does.
  var limit: UInt64?
  /// Whether an earlier program wrote the row, which kept no chain. Then the chain follows from the rows: see
  /// ``SegmentTable/chain(at:in:_:)``.
  var isOfFirstVersion = false

  init(
    replica: ReplicaNumber, epoch: UInt32, first: UInt64, last: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil, chain: LogChain? = nil
  ) {
    self.replica = replica
    self.epoch = epoch
    self.first = first
    self.last = last
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.rejection = rejection
    self.chain = chain
  }

  /// The row of an entry that was given up: it has no replica and no sequences.
  ///
  /// - Parameter hash: the hash of its tombstone.
  static func quarantined(_ hash: ContentHash, chain: LogChain? = nil) -> SegmentRow {
    SegmentRow(
      replica: ReplicaNumber(rawValue: 0), epoch: 0, first: 0, last: 0, hash: hash, receivedMilliseconds: nil,
      chain: chain)
  }

  /// Whether the entry was given up, and has no sequences.
  var isEmpty: Bool {
    first == 0 && last == 0 && replica.rawValue == 0 && epoch == 0 && receivedMilliseconds == nil
  }

  /// Whether it is the same segment, whatever else is known of it.
  func isSame(as other: SegmentRow) -> Bool {
    hash == other.hash && replica == other.replica && epoch == other.epoch && first == other.first
      && last == other.last
  }

  /// Whether the entry was given up. A segment's sequences count from 1.
  var isQuarantined: Bool { first == 0 }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 2; 3 if the remote did not state the chain; 2 more with a limit; a row of version 1 has no chain |
  // | varint ×4 | replica's number, epoch, first and last sequence; all 0 for an entry that was given up |
  // | 32 | content hash |
  // | 32 | chain; zeros where it is not known |
  // | varint | receive time + 1 in milliseconds since 1970, 0 where there is none |
  // | varint | limit; only in versions 4 and 5 |
  // | 1 | why it was rejected: `SegmentRejection`; absent where it was folded |

  func append(to writer: inout ByteWriter) {
    let isFirst = isOfFirstVersion && chain == nil
    writer.append(isFirst ? 1 : (isChainStated ? 2 : 3) + (limit == nil ? 0 : 2))
    writer.append(varint: UInt64(replica.rawValue))
    writer.append(varint: UInt64(epoch))
    writer.append(varint: first)
    writer.append(varint: last)
    writer.append(hash)
    if chain != nil || !isOfFirstVersion { writer.append(chain?.hash ?? .zero) }
    writer.append(varint: receivedMilliseconds.map { $0 &+ 1 } ?? 0)
    if let limit, !isFirst { writer.append(varint: limit) }
    if let rejection { writer.append(rejection.rawValue) }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    let version = try reader.readVersion(upTo: 5, "segment row")
    (isOfFirstVersion, isChainStated) = (version == 1, version == 2 || version == 4)
    replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("segment.replica"))
    epoch = try reader.readUInt32Varint("segment.epoch")
    first = try reader.readVarint("row")
    last = try reader.readVarint("row")
    hash = try ContentHash.read(from: &reader, "token.hash")
    if !isOfFirstVersion {
      let found = try ContentHash.read(from: &reader, "segment.chain")
      chain = found == .zero ? nil : LogChain(hash: found)
    }
    let received = try reader.readVarint("row")
    receivedMilliseconds = received == 0 ? nil : received - 1
    if version > 3 { limit = try reader.readVarint("segment.limit") }
    if reader.remaining > 0 {
      let byte = try reader.readUInt8("segment.rejection")
      guard let reason = SegmentRejection(rawValue: byte) else {
        throw FormatError(
          .unknownTag, at: reader.position - 1, in: "segment.rejection", expected: "1 to 9", found: "\(byte)")
      }
      rejection = reason
    }
    try reader.finish("row")
  }
}

extension SegmentRow {
  /// Adds what another row of the same entry knows besides: the first time it was received, and its chain.
  mutating func add(_ other: SegmentRow) {
    if let received = other.receivedMilliseconds, received < receivedMilliseconds ?? .max {
      receivedMilliseconds = received
    }
    limit = limit ?? other.limit
    if chain == nil { (chain, isChainStated) = (other.chain, other.isChainStated) }
  }
}
