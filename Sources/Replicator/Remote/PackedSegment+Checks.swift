internal import EventStore
package import OperationFormat

/// Checks that every implementation of `RemoteLog` needs.
extension PackedSegment {
  /// Throws unless the bytes are a whole segment that begins with the header. A remote checks that before it
  /// publishes a segment.
  ///
  /// - Throws: ``RemoteError`` `mismatch`.
  /// - Complexity: O(n) in the size
  public func checkIsWhole() throws(RemoteError) {
    do throws(FormatError) {
      let read = try SegmentFrame.read(bytes.span.bytes)
      if read.header == header { return }
    } catch {
      throw RemoteError(
        .mismatch, "the segment to append is no whole segment: \(error)", hint: error.hint, underlying: error)
    }
    throw RemoteError(
      .mismatch, "the segment to append has other bytes than its header says", hint: "pack the segment again")
  }

  /// Throws unless it is of a token's zone and incarnation. The header does not name the zone's owner.
  ///
  /// - Throws: ``RemoteError`` `mismatch`.
  public func checkIsOf(_ token: ChangeToken) throws(RemoteError) {
    guard header.incarnation == token.incarnation, header.zone.name == token.zone.name else {
      throw RemoteError(
        .mismatch,
        "the segment to append is of zone “\(header.zone)”, incarnation \(header.incarnation), and was to go into "
          + "the log of zone “\(token.zone)”, incarnation \(token.incarnation)",
        hint: "append a segment to the log that it was made for")
    }
  }

  /// The outcome of its append where a segment of the log has some of its sequences: their headers tell, so
  /// that no remote has to unpack a body. Nil if it has none of them.
  public func outcome(meeting other: PackedSegment, at place: SegmentPlace) -> AppendOutcome? {
    header.outcome(meeting: other.header, at: place)
  }
}

extension SegmentHeader {
  package func outcome(meeting other: SegmentHeader, at place: SegmentPlace) -> AppendOutcome? {
    guard replica == other.replica, epoch == other.epoch, sequences.overlaps(other.sequences) else {
      return nil
    }
    if sequences != other.sequences { return .overlaps(place) }
    guard contentHash == other.contentHash else { return .fork(place) }
    // The first one says the limit of its transactions: it is read before they count as sent.
    return limit == other.limit ? .alreadyThere(place) : .overlaps(place)
  }
}
