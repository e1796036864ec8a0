internal import EventStore
internal import OperationFormat

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

  /// Whether both are the same segment: an append of it again is ``AppendOutcome/alreadyThere(_:)``.
  public func isSame(as other: PackedSegment) -> Bool {
    header.replica == other.header.replica && header.epoch == other.header.epoch
      && header.sequences == other.header.sequences && header.contentHash == other.header.contentHash
  }

  /// Whether the transactions that both segments have are equal. A segment that disagrees with one of the log
  /// is a fork: ``AppendOutcome/fork(_:)``.
  ///
  /// Segments of one replica and epoch may overlap in any way, because a cut that was forgotten is made again
  /// with other limits. Segments of different replicas or epochs have nothing in common, and agree.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` or `newerSegment` if one of them cannot be read.
  /// - Complexity: O(n) in the sizes if they overlap, O(1) if not
  public func agrees(with other: PackedSegment) throws(RemoteError) -> Bool {
    let theirs = other.header
    guard header.replica == theirs.replica, header.epoch == theirs.epoch,
      header.sequences.overlaps(theirs.sequences)
    else { return true }
    if header.sequences == theirs.sequences { return header.contentHash == theirs.contentHash }
    do throws(FormatError) {
      let transactions = try SegmentPacker.unpack(other.bytes).transactions
      return try agrees(with: transactions, from: theirs.sequences.lowerBound)
    } catch {
      throw RemoteError(
        error.code == .newerFormat ? .newerSegment : .damagedSegment,
        "sequences \(theirs.sequences.lowerBound) to \(theirs.sequences.upperBound) cannot be compared: "
          + "\(error)",
        hint: error.hint, underlying: error)
    }
  }

  /// Whether it has the same bytes as other transactions of its lane for the sequences that both have.
  ///
  /// - Parameter first: the sequence of the first of the others.
  func agrees(with others: [[UInt8]], from first: UInt64) throws(FormatError) -> Bool {
    let own = try SegmentPacker.unpack(bytes).transactions
    let (start, end) = (
      max(first, header.sequences.lowerBound),
      min(first + UInt64(others.count) - 1, header.sequences.upperBound)
    )
    return own[Int(start - header.sequences.lowerBound)...Int(end - header.sequences.lowerBound)]
      .elementsEqual(others[Int(start - first)...Int(end - first)])
  }
}
