internal import Synchronization

/// Makes entries durable that were read, once for each: their writer may have crashed before it did.
///
/// A token must not name an entry that a power cut can remove, since another may take its place.
final class DurableEntries: Sendable {
  private let objects: any ObjectStore
  /// The last entry of each log, and of the list of zones, that is known to be durable.
  private let last = Mutex<[ObjectName: UInt64]>([:])

  init(_ objects: any ObjectStore) { self.objects = objects }

  /// Waits until entries are durable.
  ///
  /// - Parameters:
  ///   - offsets: the entries.
  ///   - log: the log, or the list of zones, that has them.
  ///   - name: gives the name of the entry at an offset.
  /// - Complexity: a call for each directory that has new ones
  func wait(
    for offsets: ClosedRange<UInt64>, of log: ObjectName, _ name: (UInt64) -> ObjectName
  ) async throws(RemoteError) {
    let known = last.withLock { $0[log] ?? 0 }
    var first = max(offsets.lowerBound, known + 1)
    while first <= offsets.upperBound {
      let end = min(offsets.upperBound, ObjectName.lastOffset(besides: first))
      try await objects.makeLasting(name(end))
      first = end + 1
    }
    last.withLock { $0[log] = max($0[log] ?? 0, offsets.upperBound) }
  }
}
