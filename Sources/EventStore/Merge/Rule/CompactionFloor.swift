import OperationFormat

/// Up to which offset of a zone's log the records of a state are folded together: the last floor that counted. All heads
/// that compaction wrote stand there.
package struct CompactionFloor: Hashable, Sendable {
  package var incarnation: IncarnationNumber
  package var offset: UInt64
  /// Where in the log the transaction is that named it; 0 if a snapshot says it.
  package var place: UInt64
  /// Whether all records are compacted that can be. Until then each is, before it changes.
  package var isDone = false

  package init(incarnation: IncarnationNumber, offset: UInt64, place: UInt64 = 0) {
    (self.incarnation, self.offset, self.place) = (incarnation, offset, place)
  }

  /// Whether the transaction at an offset of the zone's log is compacted. One with no offset is not.
  func covers(_ place: UInt64?) -> Bool {
    place.map { $0 <= offset } ?? false
  }

  /// Whether a writer with a base has seen what is compacted.
  func isReached(by base: BaseNumbers?) -> Bool {
    guard let base else { return false }
    return base.incarnation == incarnation && base.offset >= offset
  }
}

extension Head {
  /// The head that compaction writes in its place: with its time and its replica, and no sequence.
  ///
  /// - Parameter index: tells several heads of a cell apart.
  func compacted(_ index: Int = 0) -> Head {
    Head(
      timestamp: timestamp,
      id: HeadID(replica: id.replica, epoch: id.epoch, sequence: 0, index: UInt32(clamping: index)))
  }
}

extension HeadID {
  /// Whether compaction wrote the head: it stands at the floor, and no transaction has made it.
  var isCompacted: Bool { sequence == 0 }
}
