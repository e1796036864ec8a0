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
    /// There are fewer than two snapshots.
    case snapshots
    /// The next entries are young.
    case age
    /// Writers have not seen the next entries.
    case writers([ReplicaID])
  }

  /// - Parameter offsets: those of the log's snapshots, the newest first. The log begins at the one before the newest at the
  ///   latest: the newest serves new stores, and where it cannot be read, the other one does.
  /// - Returns: the last offset at which the log may begin; and why it is not that of the one before the newest.
  func lastOffset(among offsets: [UInt64], of log: LogOutline) -> (offset: UInt64, limit: Limit?) {
    guard let newest = offsets.first, let before = offsets.first(where: { $0 < newest }) else {
      return (1, .snapshots)
    }
    let times = log.times(at: now)
    // Up to this, an entry is old.
    let old = olderThanMilliseconds == 0 ? .max : now - min(now, olderThanMilliseconds)
    let last = min(before, UInt64(times.prefix { $0 <= old }.count) + 1)
    let waiting = log.writers(behind: last, after: old, times)
    guard let least = waiting.map(\.base).min() else { return (last, last < before ? .age : nil) }
    return (max(1, least), .writers(Set(waiting.map(\.replica)).sorted()))
  }
}
