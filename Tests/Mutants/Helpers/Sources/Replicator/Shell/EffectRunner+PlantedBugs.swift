import EventStore

/// Longer code of planted bugs in effects.
extension EffectRunner {
  /// Treats a missing list of zones as one without zones.
  func deleteUnlisted(_ effect: RoundEffect, _ error: any Error) async {
    let codes: [RemoteError.Code] = [.notARemote, .identityMismatch, .wentBack]
    guard PlantedBug.emptyListingDeletesAll.isPlanted, case .fetchZoneEvents = effect,
      let error = error as? RemoteError, codes.contains(error.code)
    else { return }
    do {
      for state in try store.syncState().zones {
        if let token = state.token { _ = try await store.withdraw(state.zone, token.incarnation) }
      }
    } catch {
      // The zone stays as it is.
    }
  }

  /// Treats the error of an append as something else; nil for the right result.
  func take(_ error: any Error, of effect: ZoneEffect) async -> ZoneResult? {
    guard case .append(let segment, let offset) = effect, let error = error as? RemoteError else {
      return nil
    }
    if PlantedBug.timeoutAcknowledges.isPlanted, error.code == .unreachable {
      return .appended(.appended(SegmentPlace(offset: offset + 1)))
    }
    if PlantedBug.deniedDropsPending.isPlanted, error.code == .denied {
      do {
        try await store.forgetPending(segment.header)
      } catch {
        return .failed(SyncFailure(error))
      }
    }
    return nil
  }

  /// Skips a segment.
  func skip(_ header: SegmentHeader, at offset: UInt64, _ outcome: inout FoldOutcome) async throws {
    if let token = try await store.skip(header, at: offset) { outcome.token = token }
  }

  /// The header of an otherwise unreadable segment; nil if the header is unreadable too.
  static func header(of stored: StoredSegment) -> SegmentHeader? {
    let span = stored.bytes.span
    return try? SegmentFrame.readHeader(span.bytes)
  }
}
