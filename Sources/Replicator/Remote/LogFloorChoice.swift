internal import EventStore
package import OperationFormat

/// Chooses where a remote's log may begin.
///
/// Of the entries before, none may be young, and none may be unseen by a writer that has written lately: that one reads on in
/// the log. Who is away for longer begins with a snapshot, and keeps what it has not sent.
package struct LogFloorChoice: Sendable {
  /// The time now, in milliseconds since 1970.
  package var now: UInt64
  /// What is not older is young, and a writer that wrote since counts as there.
  package var olderThanMilliseconds: UInt64

  package init(now: UInt64, olderThanMilliseconds: UInt64) {
    self.now = now
    self.olderThanMilliseconds = olderThanMilliseconds
  }

  /// Why no more of a log goes.
  package enum Limit: Hashable, Sendable {
    /// There are fewer than two snapshots, and none has a floor.
    case snapshots
    /// The next entries are young.
    case age
    /// Writers have not seen the next entries.
    case writers([ReplicaID])
  }

  /// - Parameter snapshots: those of the log, the newest first: their offsets, and up to where their records are compacted.
  ///   The log begins at the one before the newest at the latest: the newest serves new stores, and where it cannot be read,
  ///   the other one does. If only the newest has a floor, the log may begin with it: the one before has all that compaction
  ///   let go.
  /// - Returns: the last offset at which the log may begin; and why it is not that one.
  func lastOffset(
    among snapshots: [(offset: UInt64, floor: UInt64?)], of log: LogOutline
  ) -> (offset: UInt64, limit: Limit?) {
    guard let newest = snapshots.first else { return (1, .snapshots) }
    let former = snapshots.first { $0.offset < newest.offset }
    let isCompacted = newest.floor ?? 0 > former?.floor ?? 0
    guard let before = isCompacted ? newest.offset : former?.offset else { return (1, .snapshots) }
    let times = log.times(at: now)
    // Up to this, an entry is old.
    let old = olderThanMilliseconds == 0 ? .max : now - min(now, olderThanMilliseconds)
    let last = min(before, log.lastOffset(by: old, times) + 1)
    let waiting = log.writers(behind: last, after: old, times)
    guard let least = waiting.map(\.base).min() else { return (last, last < before ? .age : nil) }
    return (max(1, least), .writers(Set(waiting.map(\.replica)).sorted()))
  }
}
