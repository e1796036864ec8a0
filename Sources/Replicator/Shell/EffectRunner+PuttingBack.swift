import EventStore
import OperationFormat

/// Putting back what a remote has lost at the end of a log: it was restored from an older copy, say.
extension EffectRunner {
  /// Puts back the entries that a log has lost after it parts from what this store has read.
  ///
  /// They get the offsets that they had, and the same bytes but for how they are packed: the log's chain proves it.
  /// If another entry has taken such an offset meanwhile, nothing is put back: the two logs part there for good.
  ///
  /// - Parameters:
  ///   - token: up to where the store has read the log.
  ///   - error: says that the log went back.
  /// - Returns: nil if nothing was put back.
  func putBack(in token: ChangeToken, after error: RemoteError) async throws -> FoldOutcome? {
    let zone = token.zone
    // Who reads it again says that the remote is right.
    guard try !store.isRereading(zone) else { return nil }
    let located = await LogParting(store: store, remote: remote).located(error, in: zone, token.incarnation)
    guard let parting = located.offset, parting <= token.offset else { return nil }
    var outcome = FoldOutcome(token: token)
    // With what was sent while the zone was parked.
    let last = try store.read { try $0.remoteLogs() }.first { $0.incarnation == token.incarnation }?.last
    do {
      for offset in parting...max(token.offset, last ?? 0) {
        try Task.checkCancellation()
        guard try await putBack(offset, of: token) else { break }
        outcome.putBack += 1
      }
    } catch {
      // What keeps it from being put back says less than that it is lost.
      switch error {
      case is StoreError, is FormatError: break
      case let error as RemoteError where ![.unreachable, .later, .cancelled].contains(error.code): break
      default: throw error
      }
    }
    return outcome.putBack > 0 ? outcome : nil
  }

  /// - Returns: whether the log has the entry now.
  private func putBack(_ offset: UInt64, of token: ChangeToken) async throws -> Bool {
    let (zone, incarnation) = (token.zone, token.incarnation)
    let before =
      offset > 1
      ? try store.place(at: offset - 1, of: zone, incarnation) : ChangeToken.start(of: zone, incarnation)
    let copy = try store.read {
      try $0.segmentCopy(at: offset, of: zone, incarnation, isProven: true)
    }
    guard let before, let copy else { return false }
    let entry = StoredSegment(
      offset: offset, receivedMilliseconds: copy.receivedMilliseconds, chain: copy.chain,
      bytes: try SegmentPacker.pack(copy.cut).bytes)
    return try await remote.putBack(entry, after: before)
  }
}
