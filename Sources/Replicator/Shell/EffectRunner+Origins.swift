import EventStore

/// Snapshots that zones begin with and that are damaged here: they are fetched again.
extension EffectRunner {
  /// Ends the folding that was cut short, and reads how far the store is, and which zones begin with a snapshot that is not
  /// whole here.
  func readState() async throws -> StoreSyncState {
    do {
      try await store.finishRenewal()
    } catch let error as StoreError where error.code == .damaged {
      // Records that are behind their log hold up all zones, and may need a snapshot.
      guard await mendOrigins() else { throw error }
      try await store.finishRenewal()
    }
    var state = try store.syncState()
    let broken = Set(brokenOrigins().map(\.zone))
    for index in state.zones.indices where broken.contains(state.zones[index].zone) {
      state.zones[index].hasBrokenOrigin = true
    }
    return state
  }

  private func brokenOrigins() -> [BrokenOrigin] {
    // Where that cannot be told, the next round looks again.
    (try? store.brokenOrigins()) ?? []
  }

  /// Fetches again what is damaged here of the snapshots that zones begin with.
  ///
  /// - Returns: whether any was put back.
  private func mendOrigins() async -> Bool {
    var isAnyPutBack = false
    for broken in brokenOrigins() {
      if await mendOrigin(of: broken.zone) { isAnyPutBack = true }
    }
    return isAnyPutBack
  }

  /// Fetches again what is damaged here of the snapshot that a zone begins with. Where the remote does not have it, or cannot be
  /// asked, that holds up nothing: who needs the snapshot says that it is damaged.
  ///
  /// - Returns: whether it was put back.
  @discardableResult
  func mendOrigin(of zone: ZoneID) async -> Bool {
    guard let broken = brokenOrigins().first(where: { $0.zone == zone }) else { return false }
    do {
      let isPutBack = try await mend(broken)
      store.noteAsked(for: broken)
      return isPutBack
    } catch {
      // The next round asks again.
      return false
    }
  }

  /// - Returns: whether the remote has it, and it was put back.
  private func mend(_ broken: BrokenOrigin) async throws -> Bool {
    let remote = remote
    for snapshot in try await remote.snapshots(of: broken.zone, broken.incarnation) ?? []
    where snapshot.offset == broken.offset {
      guard let manifest = try await remote.snapshotManifest(of: snapshot),
        try store.isManifest(manifest, of: broken)
      else { continue }
      do {
        try await store.putBack(manifest) { try await Self.part($0, of: snapshot, remote) }
        return true
      } catch {
        // It may be damaged there too; another store may have made the same one.
        if Self.stopsBeginning(error) { throw error }
      }
    }
    return false
  }
}
