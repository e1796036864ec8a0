public import EventStore

/// A remote in memory, for tests and previews. Any number of replicators of the process may share it.
///
/// It is not a mock: it keeps its log by the same algorithm as a folder.
public struct MemoryRemote: RemoteLog {
  package let log: ObjectRemote
  package let objects: MemoryObjects

  /// Makes an empty remote.
  ///
  /// - Parameters:
  ///   - identity: which remote it is.
  ///   - name: its name in messages.
  ///   - counter: counts the calls.
  ///   - receivedMilliseconds: the remote's clock, in milliseconds since 1970; nil to keep no receive times.
  public init(
    identity: RemoteID, name: String = "memory", counter: RemoteCallCounter? = nil,
    receivedMilliseconds: (@Sendable () -> UInt64)? = nil
  ) {
    objects = MemoryObjects(name: name)
    objects.replace(.marker, with: RemoteMarker(remote: identity).bytes)
    log = ObjectRemote(objects, counter: counter, receivedMilliseconds: receivedMilliseconds)
  }

  /// The same remote as another process would see it: without this one's cached list of zones.
  public func reopened() -> MemoryRemote { MemoryRemote(self) }

  private init(_ other: MemoryRemote) {
    objects = other.objects
    log = ObjectRemote(objects, receivedMilliseconds: other.log.receivedMilliseconds)
  }

  public var name: String { log.name }

  public func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await log.zoneEvents(after: token)
  }

  public func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await log.createZone(zone, proposing: proposed)
  }

  public func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.deleteZone(zone, incarnation)
    if log.zones.isDeleted(incarnation) { objects.removeAssets(of: incarnation) }
  }

  public func append(
    _ segment: PackedSegment, after offset: UInt64
  ) async throws(RemoteError) -> AppendOutcome {
    try await log.append(segment, after: offset)
  }

  public func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await log.segments(after: token, bytesMax: bytesMax)
  }

  public func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await log.assetState(asset)
  }

  public func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await log.putAssetChunk(bytes, at: index, of: asset)
  }

  public func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await log.finishAsset(manifest, of: zone, incarnation)
  }

  public func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    try await log.assetChunk(at: index, of: asset)
  }

  public func changes() -> AsyncStream<Void> { log.changes() }
}

extension MemoryRemote: LogOfObjects {}
