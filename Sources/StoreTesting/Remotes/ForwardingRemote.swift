package import OperationFormat
package import Replicator

/// A remote before another one, for tests: it forwards the calls that it does not change.
package protocol ForwardingRemote: RemoteLog {
  var remote: any RemoteLog { get }
}

extension ForwardingRemote {
  package var name: String { remote.name }

  package func probe() async throws(RemoteError) { try await remote.probe() }

  package func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await remote.zoneEvents(after: token)
  }

  package func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await remote.createZone(zone, proposing: proposed)
  }

  package func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await remote.deleteZone(zone, incarnation)
  }

  package func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await remote.purgeZone(zone, incarnation)
  }

  package func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await remote.resetZone(zone, incarnation)
  }

  package func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await remote.reopenZone(zone, incarnation)
  }

  package func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try await remote.append(segment, after: token)
  }

  package func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await remote.segments(after: token, bytesMax: bytesMax)
  }

  package func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await remote.beginLog(with: snapshot)
  }

  package func lastClockMilliseconds() -> UInt64? { remote.lastClockMilliseconds() }

  package func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await remote.putBack(entry, after: token)
  }

  package func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await remote.assetState(asset)
  }

  package func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await remote.putAssetChunk(bytes, at: index, of: asset)
  }

  package func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await remote.finishAsset(manifest, of: zone, incarnation)
  }

  package func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    try await remote.assetChunk(at: index, of: asset)
  }

  package func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await remote.snapshots(of: zone, incarnation)
  }

  package func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? {
    try await remote.snapshotManifest(of: snapshot)
  }

  package func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    try await remote.snapshotPart(at: index, of: snapshot)
  }

  package func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await remote.putSnapshotPart(bytes, at: index, of: snapshot)
  }

  package func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await remote.finishSnapshot(manifest, of: snapshot)
  }

  package func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    try await remote.removeSnapshot(snapshot, parts: parts)
  }

  package func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    try await remote.trim(to: snapshot, manifest)
  }

  package func changes() -> AsyncStream<RemoteHint> { remote.changes() }

  package func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    try await remote.heads(of: tokens, list: list)
  }

  package func announce() async { await remote.announce() }
}
