import EventStore
import OperationFormat

/// Segments that are folded in one commit.
struct FoldBatch {
  struct Part {
    fileprivate(set) var segment: RemoteSegment
    /// Nil for a tombstone.
    let header: SegmentHeader?
    /// Its size at the remote.
    let byteCount: Int
    /// What folding it takes: nothing if it is rejected by its content.
    let steps: Int
    var unpackedBytes: Int { segment.rejection == nil ? Int(header?.unpackedBytes ?? 0) : 0 }

    /// Unpacks a segment, and checks that it is the one that was asked for: at this offset of the token's log.
    init(_ stored: StoredSegment, at expected: UInt64, of token: ChangeToken) throws {
      byteCount = stored.bytes.count
      if FrameKind(of: stored.bytes.span.bytes) == .tombstone {
        segment = try FoldBatch.quarantined(stored, at: expected, of: token)
        (header, steps) = (nil, 0)
        return
      }
      let (segment, header, steps) = try FoldBatch.unpack(stored, of: token.zone)
      guard stored.offset == expected, header.zone.name == token.zone.name,
        header.incarnation == token.incarnation
      else {
        throw RemoteError(
          .mismatch,
          "the segment at offset \(stored.offset) is of zone “\(header.zone)”, incarnation "
            + "\(header.incarnation); expected was offset \(expected) of zone “\(token.zone)”, incarnation "
            + "\(token.incarnation)",
          hint: "the remote mixes up its segments: check it with `replay remote`")
      }
      (self.segment, self.header) = (segment, header)
      self.steps = segment.rejection == nil ? steps : 0
    }
  }

  /// The segment with the transactions of an earlier one, to compare what it repeats.
  static func adding(_ earlier: Part, to part: Part) throws(FormatError) -> Part {
    var part = part
    guard earlier.segment.writer == part.segment.writer else { return part }
    for bytes in earlier.segment.transactions {
      var reader = ByteReader(bytes.span.bytes)
      let header = try TransactionHeader.read(from: &reader, in: part.segment.zone)
      part.segment.earlier[header.sequence] = bytes
    }
    return part
  }

  /// The segment with a note that the remote does not have an entry any more that it repeats.
  static func noting(gone offset: UInt64, in part: Part) -> Part {
    var part = part
    part.segment.goneEntries.insert(offset)
    return part
  }

  private(set) var parts: [Part] = []
  private(set) var unpackedBytes = 0
  private(set) var steps = 0

  mutating func append(_ part: Part) {
    parts.append(part)
    unpackedBytes += part.unpackedBytes
    steps += part.steps
  }

  /// Unpacks a segment. If it arrived whole and cannot be unpacked, it is malformed for every replica. If it
  /// was damaged, if a later version may understand it, or if memory is short, that is an error.
  private static func unpack(
    _ stored: StoredSegment, of zone: ZoneID
  ) throws(FormatError) -> (RemoteSegment, SegmentHeader, steps: Int) {
    do throws(FormatError) {
      let unpacked = try SegmentPacker.unpack(stored.bytes)
      return (RemoteSegment(unpacked, stored, of: zone), unpacked.header, unpacked.steps)
    } catch {
      // The frame's hash covers all of it: it arrived whole.
      let (header, _) = try SegmentFrame.read(stored.bytes.span.bytes)
      guard SegmentPacker.isMalformed(error) else { throw error }
      return (RemoteSegment(malformed: header, stored, of: zone), header, 0)
    }
  }

  /// The empty entry that a tombstone is.
  private static func quarantined(
    _ stored: StoredSegment, at expected: UInt64, of token: ChangeToken
  ) throws -> RemoteSegment {
    let tombstone = try LogTombstone.read(stored.bytes.span.bytes)
    guard stored.offset == expected, tombstone.offset == expected, tombstone.incarnation == token.incarnation
    else {
      throw RemoteError(
        .mismatch, "the tombstone at offset \(stored.offset) is another entry's",
        hint: "the remote mixes up its segments: check it with `replay remote`", offset: expected)
    }
    return .quarantined(
      token.zone, token.incarnation, at: expected, tombstone: ContentHash(of: stored.bytes.span.bytes))
  }
}

extension RemoteSegment {
  /// A segment as the store folds it: what its header says, and its offset.
  package init(_ unpacked: UnpackedSegment, _ stored: StoredSegment, of zone: ZoneID) {
    let header = unpacked.header
    self.init(
      zone: zone, incarnation: header.incarnation, offset: stored.offset, hash: header.contentHash,
      receivedMilliseconds: stored.receivedMilliseconds, base: header.base, baseProof: header.baseProof,
      version: header.version, previousHash: header.previousHash, transactions: unpacked.transactions)
    limit = header.limit
    statement = header.statement.hash
    statedChain = stored.chain
    writer = StoreIdentity(replica: header.replica, epoch: header.epoch)
    saidSequences = header.sequences
    if unpacked.steps > Limits.foldStepsMax {
      transactions = []
      rejection = .work
    }
  }

  /// A segment that arrived as its writer made it, and whose content does not fit its header.
  fileprivate init(malformed header: SegmentHeader, _ stored: StoredSegment, of zone: ZoneID) {
    self.init(UnpackedSegment(header: header, transactions: [], steps: 0), stored, of: zone)
    rejection = .content
  }
}
