import EventStore
import OperationFormat
import Replicator
import Synchronization

/// A remote that counts its calls.
struct CountingRemote: RemoteLog {
  /// Counts for many remotes.
  final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var calls: Int { count.load(ordering: .relaxed) }

    func add() { count.wrappingAdd(1, ordering: .relaxed) }
  }

  private let remote: any RemoteLog
  private let counter: Counter

  init(_ remote: any RemoteLog, _ counter: Counter) {
    self.remote = remote
    self.counter = counter
  }

  var name: String { remote.name }

  func probe() async throws(RemoteError) { try await remote.probe() }

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    counter.add()
    return try await remote.zoneEvents(after: token)
  }

  func createZone(_ zone: ZoneID, proposing proposed: IncarnationID) async throws(RemoteError)
    -> IncarnationID
  {
    counter.add()
    return try await remote.createZone(zone, proposing: proposed)
  }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    counter.add()
    try await remote.deleteZone(zone, incarnation)
  }

  func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    counter.add()
    try await remote.reopenZone(zone, incarnation)
  }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    counter.add()
    return try await remote.append(segment, after: token)
  }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    counter.add()
    return try await remote.segments(after: token, bytesMax: bytesMax)
  }

  func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    counter.add()
    return try await remote.putBack(entry, after: token)
  }

  func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    counter.add()
    return try await remote.beginLog(with: snapshot)
  }

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    counter.add()
    return try await remote.assetState(asset)
  }

  func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    counter.add()
    try await remote.putAssetChunk(bytes, at: index, of: asset)
  }

  func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    counter.add()
    return try await remote.finishAsset(manifest, of: zone, incarnation)
  }

  func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    counter.add()
    return try await remote.assetChunk(at: index, of: asset)
  }

  func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    counter.add()
    return try await remote.snapshots(of: zone, incarnation)
  }

  func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? {
    counter.add()
    return try await remote.snapshotManifest(of: snapshot)
  }

  func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    counter.add()
    return try await remote.snapshotPart(at: index, of: snapshot)
  }

  func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    counter.add()
    try await remote.putSnapshotPart(bytes, at: index, of: snapshot)
  }

  func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    counter.add()
    try await remote.finishSnapshot(manifest, of: snapshot)
  }

  func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    counter.add()
    try await remote.removeSnapshot(snapshot, parts: parts)
  }

  func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    counter.add()
    return try await remote.trim(to: snapshot, manifest)
  }

  func changes() -> AsyncStream<RemoteHint> { remote.changes() }

  func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    counter.add()
    return try await remote.heads(of: tokens, list: list)
  }

  func announce() async {
    counter.add()
    await remote.announce()
  }
}
