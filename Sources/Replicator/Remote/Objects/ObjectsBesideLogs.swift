package import OperationFormat

/// What assets and snapshots need to know of the logs that they are beside.
package protocol LogStates: Sendable {
  /// Why a log is closed; nil if it is open.
  ///
  /// - Parameter offset: an offset at which the caller checks that the log exists; 0 if it does not.
  /// - Throws: ``RemoteError`` `zoneUnknown`.
  func fate(
    of zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneFate?

  /// The snapshot with which a log begins; nil if it begins with its first entry.
  func begin(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> RemoteSnapshot?
}

/// Assets and snapshots as objects, beside logs that are kept in another way.
package struct ObjectsBesideLogs: Sendable {
  private let objects: any ObjectStore
  private let assets: ObjectAssets
  private let snapshots: ObjectSnapshots

  package init(_ objects: any ObjectStore, _ logs: any LogStates) {
    self.objects = objects
    assets = ObjectAssets(objects: objects, zones: logs)
    snapshots = ObjectSnapshots(objects: objects, zones: logs)
  }

  // MARK: Assets

  package func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await assets.state(of: asset)
  }

  package func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await assets.putChunk(bytes, at: index, of: asset)
  }

  package func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await assets.finish(manifest, of: zone, incarnation)
  }

  package func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]? {
    try await assets.chunk(at: index, of: asset)
  }

  // MARK: Snapshots

  package func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot] {
    try await snapshots.all(of: zone, incarnation)
  }

  package func manifest(of snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    try await snapshots.manifest(of: snapshot)
  }

  package func part(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]? {
    try await snapshots.part(at: index, of: snapshot)
  }

  package func put(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await snapshots.put(bytes, at: index, of: snapshot)
  }

  package func finish(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await snapshots.finish(manifest, of: snapshot)
  }

  /// Puts a manifest that stands for entries which are to go.
  package func putManifest(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await snapshots.putManifest(manifest, of: snapshot)
  }

  package func remove(_ snapshot: RemoteSnapshot, parts: Int?) async throws(RemoteError) {
    try await snapshots.remove(snapshot, parts: parts)
  }

  /// Whether a snapshot has its manifest and all its parts. What they have is not read.
  package func isWhole(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    guard let manifest = try await snapshots.manifest(of: snapshot) else { return false }
    for index in manifest.parts.indices {
      guard try await objects.exists(.snapshotPart(index, of: snapshot)) else { return false }
    }
    return true
  }

  /// Removes all that is beside a log that is closed.
  package func removeAll(of incarnation: IncarnationID) async throws(RemoteError) {
    try await objects.removeAssets(of: incarnation)
  }
}
