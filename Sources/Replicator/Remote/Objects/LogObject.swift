internal import OperationFormat

/// Decodes the objects of zones' logs.
enum LogObject {
  /// The most bytes before a segment's body.
  static let prefixBytes = SegmentEnvelope.headerBytesMax + SegmentHeader.headerBytesMax
  /// The largest object of a log.
  static let bytesMax = SegmentEnvelope.bytesMax

  /// Decodes the first ``prefixBytes`` of an object.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` if it is not an entry of that log and offset; `newerFormat`,
  ///   which ``RemoteError/ofSegment`` turns into `newerSegment`.
  static func look(
    at prefix: ObjectPrefix, _ name: ObjectName, _ zone: ZoneID, _ incarnation: IncarnationID,
    _ offset: UInt64
  ) throws(RemoteError) -> LogSlot<SegmentHead> {
    let span = prefix.bytes.span.bytes
    do throws(FormatError) {
      if FrameKind(of: span) == .seal { return .seal(try readSeal(span, offset), at: offset) }
      if FrameKind(of: span) == .tombstone {
        return .tombstone(StoredSegment(offset: offset, receivedMilliseconds: nil, bytes: prefix.bytes))
      }
      let envelope = try SegmentEnvelope.readHeader(span)
      try checkIsSame(envelope.offset, offset, at: 0, "envelope.offset")
      let totalBytes = UInt64(envelope.headerBytes + envelope.segmentBytes)
      try checkIsSame(prefix.totalBytes, totalBytes, at: 0, "envelope.segmentBytes")
      let header = try SegmentFrame.readHeader(span.extracting(envelope.headerBytes...))
      try check(header, zone, incarnation)
      return .segment(
        SegmentHead(
          header: header, receivedMilliseconds: envelope.receivedMilliseconds, chain: envelope.chain,
          isOfferedAgain: envelope.isOfferedAgain))
    } catch {
      throw .damaged(.damagedSegment, name, error)
    }
  }

  /// Decodes a whole object.
  ///
  /// - Throws: ``RemoteError``, as ``look(at:_:_:_:_:)``.
  static func read(
    _ bytes: [UInt8], _ name: ObjectName, _ zone: ZoneID, _ incarnation: IncarnationID, _ offset: UInt64
  ) throws(RemoteError) -> LogSlot<StoredSegment> {
    let span = bytes.span.bytes
    do throws(FormatError) {
      if FrameKind(of: span) == .seal { return .seal(try readSeal(span, offset), at: offset) }
      if FrameKind(of: span) == .tombstone {
        try checkTombstone(span, incarnation, offset)
        return .tombstone(StoredSegment(offset: offset, receivedMilliseconds: nil, bytes: bytes))
      }
      let (envelope, segment) = try SegmentEnvelope.read(span)
      try checkIsSame(envelope.offset, offset, at: 0, "envelope.offset")
      // Its hash too: an object that is damaged anywhere may have an amendment.
      let header = try SegmentFrame.read(span.extracting(segment)).header
      try check(header, zone, incarnation)
      return .segment(
        StoredSegment(
          offset: offset, receivedMilliseconds: envelope.receivedMilliseconds,
          chain: envelope.chain, bytes: Array(bytes[segment])))
    } catch {
      throw .damaged(.damagedSegment, name, error)
    }
  }

  /// The head of a segment that was read whole.
  static func head(of stored: StoredSegment) throws(RemoteError) -> SegmentHead {
    do throws(FormatError) {
      return SegmentHead(
        header: try SegmentFrame.readHeader(stored.bytes.span.bytes),
        receivedMilliseconds: stored.receivedMilliseconds, chain: stored.chain)
    } catch {
      throw RemoteError(
        .damagedSegment, "the segment at offset \(stored.offset) cannot be read: \(error)",
        hint: RemoteError.repairHint(at: stored.offset, inLog: true, isDamaged: true), underlying: error,
        offset: stored.offset)
    }
  }

  /// Throws unless bytes are the tombstone of an entry; of an event of the list of zones if `incarnation` is
  /// nil.
  static func checkTombstone(
    _ bytes: RawSpan, _ incarnation: IncarnationID?, _ offset: UInt64
  ) throws(FormatError) {
    let tombstone = try LogTombstone.read(bytes)
    try checkIsSame(tombstone.offset, offset, at: 0, "tombstone.offset")
    guard tombstone.incarnation == incarnation else {
      throw FormatError(
        .invalid, at: 0, in: "tombstone.incarnation", expected: "that of its log", found: "another")
    }
  }

  // MARK: Seals and checks

  /// The bytes of a seal.
  static func seal(_ kind: LogSeal.Kind, _ offset: UInt64) -> [UInt8] {
    LogSeal(offset: offset, kind: kind).encode()
  }

  private static func readSeal(_ bytes: RawSpan, _ offset: UInt64) throws(FormatError) -> ZoneFate {
    let seal = try LogSeal.read(bytes)
    try checkIsSame(seal.offset, offset, at: 0, "seal.offset")
    return ZoneFate(seal.kind)
  }

  private static func check(
    _ header: SegmentHeader, _ zone: ZoneID, _ incarnation: IncarnationID
  ) throws(FormatError) {
    try zone.checkHasName(of: header.zone, at: 0, "segment.zone")
    try checkIsSame(header.incarnation, incarnation, at: 0, "segment.incarnation")
  }
}
