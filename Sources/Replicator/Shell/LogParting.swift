import EventStore

/// Finds where a remote's log parts from what a store has read of it: a remote that lost its last entries, or
/// whose history was forked or rewritten.
///
/// The chain of an entry covers all entries before it. So the two logs are alike up to some offset and differ
/// from then on, and that offset is found in as many calls as the last one has bits.
struct LogParting {
  let store: LocalStore
  let remote: any RemoteLog

  /// The error with the first offset at which the remote has something else, or nothing. As it is if that
  /// cannot be told, since an entry before cannot be read, or the store does not know the chain there.
  func located(_ error: RemoteError, in zone: ZoneID, _ incarnation: IncarnationID) async -> RemoteError {
    guard error.code == .wentBack, let known = error.offset, known > 1 else { return error }
    var (alike, other): (UInt64, UInt64) = (0, known)
    // Of what is before the snapshot with which its records begin, a store may not know all.
    let begin = (try? store.origin(of: zone))?.offset ?? 0
    if begin > 0, begin < known, let isAlike = await isAlike(at: begin, in: zone, incarnation) {
      if isAlike { alike = begin } else { other = begin }
    }
    while other - alike > 1 {
      // What is between, only the snapshot knows: they may differ from there on.
      guard
        let middle = try? store.knownOffset(
          near: alike + (other - alike) / 2, in: alike + 1..<other, of: zone, incarnation)
      else { break }
      guard let isAlike = await isAlike(at: middle, in: zone, incarnation) else { return error }
      if isAlike { alike = middle } else { other = middle }
    }
    let first = alike + 1
    guard first < known else { return error }
    return RemoteError(
      error.code, "\(error.message); the logs are alike up to offset \(alike), and differ from \(first) on",
      hint: error.hint, retryAfterMilliseconds: error.retryAfterMilliseconds, underlying: error.underlying,
      offset: first)
  }

  /// Whether the remote has, up to an offset, the log that the store has read; nil if that cannot be told.
  private func isAlike(
    at offset: UInt64, in zone: ZoneID, _ incarnation: IncarnationID
  ) async -> Bool? {
    guard !Task.isCancelled, let token = try? store.place(at: offset, of: zone, incarnation) else {
      return nil
    }
    do throws(RemoteError) {
      // A closed log answers without a look at the entry.
      if case .gone = try await remote.segments(after: token, bytesMax: 1) { return nil }
      return true
    } catch {
      // A snapshot stands for what the log does not have any more.
      if error.code == .expired { return true }
      return error.code == .wentBack ? false : nil
    }
  }
}
