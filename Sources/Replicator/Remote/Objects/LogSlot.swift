internal import OperationFormat

/// What lies at an offset of a zone's log: a segment, as far as it was read, or the end.
enum LogSlot<Segment: Sendable>: Sendable {
  case segment(Segment)
  /// Nothing comes after.
  case seal(ZoneFate)
  /// What was there is given up.
  case tombstone(StoredSegment)
}

/// What is known of a segment by the beginning of its object.
struct SegmentHead: Sendable {
  var header: SegmentHeader
  var receivedMilliseconds: UInt64?
}
