internal import OperationFormat

/// What is at an offset of a zone's log: a segment, as far as it was read, a seal or a tombstone.
enum LogSlot<Segment: Sendable>: Sendable {
  case segment(Segment)
  /// The log is closed by the seal at an offset. That of a log which was discarded stands for all that is missing before it.
  case seal(ZoneFate, at: UInt64)
  /// The entry was given up.
  case tombstone(StoredSegment)
}

/// What the beginning of a segment's object says.
struct SegmentHead: Sendable {
  var header: SegmentHeader
  var receivedMilliseconds: UInt64?
  var chain: LogChain?
  /// Whether its transactions were in an entry before.
  var isOfferedAgain = false
}
