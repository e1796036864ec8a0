import EventStore
import OperationFormat

/// Segments that repeat an entry which the store's log does not have any more: it is read again to be compared.
extension EffectRunner {
  /// A segment with the transactions of an earlier entry, which it repeats; or with a note that the remote does not have that
  /// any more.
  func compared(_ part: FoldBatch.Part, with offset: UInt64) async throws -> FoldBatch.Part {
    let zone = part.segment.zone
    guard let (token, hash) = try store.read({ try $0.lastToken(of: zone, before: offset) }),
      let stored = try await entry(offset, readOnFrom: token)
    else { return FoldBatch.noting(gone: offset, in: part) }
    let found = try FoldBatch.Part(stored, at: offset, of: token)
    let known = part.segment.earlier.count
    let compared = try FoldBatch.adding(found, to: part)
    guard found.header?.contentHash == hash, compared.segment.earlier.count > known else {
      throw RemoteError(
        .mismatch, "the entry at offset \(offset) of zone “\(zone)” is not the one that was there",
        hint: "the remote was changed: check it with `replay remote`", offset: offset)
    }
    return compared
  }

  /// An entry of a log; nil if the remote does not have it any more.
  ///
  /// - Parameter token: before it. What is in between, such as an entry at a floor that was given up, is read too: this store
  ///   does not know a place there.
  private func entry(_ offset: UInt64, readOnFrom token: ChangeToken) async throws -> StoredSegment? {
    var token = token
    while true {
      let isNext = token.offset + 1 == offset
      let page: FetchOutcome
      do throws(RemoteError) {
        page = try await remote.segments(after: token, bytesMax: isNext ? 1 : pageBytesMax)
      } catch {
        guard error.code == .expired else { throw error }
        return nil
      }
      guard case .segments(let segments, _) = page, let last = segments.last else { return nil }
      let end = token.offset + UInt64(segments.count)
      if end >= offset { return segments[Int(offset - token.offset) - 1] }
      let header = try FoldBatch.Part(last, at: end, of: token).header
      token = ChangeToken(
        zone: token.zone, incarnation: token.incarnation, offset: end,
        hash: header?.contentHash ?? ContentHash(of: last.bytes.span.bytes), chain: last.chain)
    }
  }
}
