internal import OperationFormat

/// What lies at an offset of a zone's log.
enum LogEntry {
  /// A segment of which the beginning was read.
  case segment(SegmentHeader, receivedMilliseconds: UInt64?)
  /// A segment that was read whole.
  case whole(StoredSegment)
  /// The end of the log.
  case seal(ZoneFate)

  /// Bytes that have all that is said before a segment's body.
  static let prefixBytes = SegmentEnvelope.headerBytesMax + SegmentHeader.headerBytesMax
  /// The most bytes of an object of a log.
  static let bytesMax = prefixBytes + Limits.segmentPackedBytesMax + ContentHash.byteCount

  /// Understands an object by its first ``prefixBytes``.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` if it is not what must lie at that offset of that log, `newerFormat`.
  static func look(
    at bytes: [UInt8], _ name: ObjectName, _ zone: ZoneID, _ incarnation: IncarnationID, _ offset: UInt64
  ) throws(RemoteError) -> LogEntry {
    let span = bytes.span.bytes
    do throws(FormatError) {
      if LogSeal.isSeal(span) { return .seal(try readSeal(span, offset)) }
      let envelope = try SegmentEnvelope.readHeader(span)
      try checkIsSame(offset, envelope.offset, "envelope.offset")
      let header = try SegmentFrame.readHeader(span.extracting(envelope.segment.lowerBound...))
      try check(header, zone, incarnation)
      return .segment(header, receivedMilliseconds: envelope.receivedMilliseconds)
    } catch {
      throw .damaged(.damagedSegment, name, error)
    }
  }

  /// Understands a whole object.
  ///
  /// - Throws: ``RemoteError``, as ``look(at:_:_:_:_:)``.
  static func read(
    _ bytes: [UInt8], _ name: ObjectName, _ zone: ZoneID, _ incarnation: IncarnationID, _ offset: UInt64
  ) throws(RemoteError) -> LogEntry {
    let span = bytes.span.bytes
    do throws(FormatError) {
      if LogSeal.isSeal(span) { return .seal(try readSeal(span, offset)) }
      let envelope = try SegmentEnvelope.read(span)
      try checkIsSame(offset, envelope.offset, "envelope.offset")
      let header = try SegmentFrame.readHeader(span.extracting(envelope.segment))
      try check(header, zone, incarnation)
      return .whole(
        StoredSegment(
          offset: offset, receivedMilliseconds: envelope.receivedMilliseconds,
          bytes: Array(bytes[envelope.segment])))
    } catch {
      throw .damaged(.damagedSegment, name, error)
    }
  }
}
