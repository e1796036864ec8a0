internal import OperationFormat

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

/// Assets and snapshots as objects, beside logs that may be kept in another way.
package struct ObjectsBesideLogs: Sendable {
  private let objects: any ObjectStore
  let assets: ObjectAssets
  let snapshots: ObjectSnapshots

  package init(_ objects: any ObjectStore, _ logs: any LogStates) {
    self.objects = objects
    assets = ObjectAssets(objects: objects, zones: logs)
    snapshots = ObjectSnapshots(objects: objects, zones: logs)
  }

  /// Puts a manifest that stands for entries which are to go.
  package func putManifest(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await snapshots.putManifest(manifest, of: snapshot)
  }

  /// Whether a snapshot has its manifest and all its parts. What they have is not read.
  package func isWhole(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await snapshots.isWhole(snapshot)
  }

  /// Removes the snapshots before an offset, at which a log begins now.
  package func removeSnapshots(
    of zone: ZoneID, _ incarnation: IncarnationID, before offset: UInt64
  ) async throws(RemoteError) {
    try await snapshots.removeAll(of: zone, incarnation, before: offset)
  }

  /// Removes all that is beside a log that is closed.
  package func removeAll(of incarnation: IncarnationID) async throws(RemoteError) {
    try await objects.removeAssets(of: incarnation)
  }
}

/// A remote that keeps assets and snapshots as objects.
package protocol RemoteWithObjects: RemoteLog {
  var beside: ObjectsBesideLogs { get }
}

extension RemoteWithObjects {
  // MARK: Assets

  public func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await beside.assets.state(of: asset)
  }

  public func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await beside.assets.putChunk(bytes, at: index, of: asset)
  }

  public func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await beside.assets.finish(manifest, of: zone, incarnation)
  }

  public func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    try await beside.assets.chunk(at: index, of: asset)
  }

  // MARK: Snapshots

  public func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await beside.snapshots.all(of: zone, incarnation)
  }

  public func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? {
    try await beside.snapshots.manifest(of: snapshot)
  }

  public func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    try await beside.snapshots.part(at: index, of: snapshot)
  }

  public func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await beside.snapshots.put(bytes, at: index, of: snapshot)
  }

  public func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    try await beside.snapshots.remove(snapshot, parts: parts)
  }

  public func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await beside.snapshots.finish(manifest, of: snapshot)
  }
}
