import OperationFormat

/// A segment repeats transactions that the store knows by a snapshot alone: whether they are the same, only the log says.
private struct NeededEntry: Error {
  var offset: UInt64
}

extension StoreError {
  static func needed(_ offset: UInt64, _ zone: ZoneID) -> StoreError {
    StoreError(
      .retired, "a segment of zone “\(zone)” repeats what the store has only in a snapshot",
      hint: "it is compared with the entry at offset \(offset), which the remote has",
      underlying: NeededEntry(offset: offset))
  }

  /// The offset of the entry that is to be read again, so that a segment can be compared with it: see
  /// `RemoteSegment.earlier`; nil for another error.
  package var neededOffset: UInt64? { (underlying as? NeededEntry)?.offset }
}
