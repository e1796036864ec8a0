import Replicator

/// A remote before another one, for tests: it forwards the calls that it does not change.
protocol ForwardingRemote: RemoteLog {
  var remote: any RemoteLog { get }
}

extension ForwardingRemote {
  var name: String { remote.name }

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await remote.zoneEvents(after: token)
  }

  func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await remote.createZone(zone, proposing: proposed)
  }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await remote.deleteZone(zone, incarnation)
  }

  func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try await remote.append(segment, after: token)
  }

  func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await remote.segments(after: token, bytesMax: bytesMax)
  }

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await remote.assetState(asset)
  }

  func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await remote.putAssetChunk(bytes, at: index, of: asset)
  }

  func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await remote.finishAsset(manifest, of: zone, incarnation)
  }

  func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    try await remote.assetChunk(at: index, of: asset)
  }

  func changes() -> AsyncStream<RemoteHint> { remote.changes() }

  func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    try await remote.heads(of: tokens, list: list)
  }

  func announce() async { await remote.announce() }
}
