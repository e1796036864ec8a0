internal import HTTPTypes
public import OperationFormat
internal import RemoteWire
public import Replicator
internal import Synchronization

/// A remote over HTTP: the client of a server of Tributary.
///
/// ```swift
/// let remote = try HTTPRemote("https://sync.example.org", secret: secret, transport: transport)
/// let replicator = LogReplicator(store: store, remote: remote)
/// ```
///
/// Each call is one request. It is repeated here only if the server has refused it for some seconds; else the replicator does
/// that, after a while.
public final class HTTPRemote: RemoteLog {
  public let name: String
  private let exchange: HTTPExchange
  private let lastReceived = Mutex<UInt64?>(nil)
  private let asked = Mutex<ReadHeads?>(nil)

  /// - Parameters:
  ///   - address: `http://HOST`, `https://HOST:PORT`, or with a path before that of the server.
  ///   - secret: what the server knows the caller by; nil if it takes all.
  ///   - device: tells this device from others of the same account; any text without control characters, such as the
  ///     store's replica.
  ///   - patience: for how long an answer may make no progress.
  ///   - transport: sends the requests.
  ///   - clock: the time.
  /// - Throws: `RemoteError` `schemeUnknown` if the address is none.
  public init(
    _ address: String, secret: String? = nil, device: String? = nil, patience: Duration = .seconds(30),
    transport: any HTTPTransport, clock: NetworkClock = .system
  ) throws(RemoteError) {
    let address = try HTTPAddress(address)
    name = address.text
    exchange = HTTPExchange(
      address, secret: secret, device: device,
      WatchedTransport(transport, name: name, patience: patience, clock: clock))
  }

  /// Asks the server who it is: that it is one, that it speaks the same protocol, and that it knows the caller.
  public func probe() async throws(RemoteError) { try await exchange.checkServer() }

  public func lastClockMilliseconds() -> UInt64? { lastReceived.withLock { $0 } }

  // MARK: Zones

  public func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await exchange.call(ReadZones(after: token))
  }

  public func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await exchange.call(CreateZone(zone, proposing: proposed))
  }

  public func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await exchange.call(DeleteZone(LogName(zone, incarnation)))
  }

  public func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await exchange.call(PurgeZone(LogName(zone, incarnation)))
  }

  public func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await exchange.call(ResetZone(LogName(zone, incarnation)))
  }

  public func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await exchange.call(ReopenZone(LogName(zone, incarnation)))
  }

  // MARK: Segments

  public func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsOf(token)
    try segment.checkIsWhole()
    let outcome = try await exchange.call(Append(segment, after: token))
    if case .appended(let place) = outcome, let received = place.receivedMilliseconds {
      lastReceived.withLock { $0 = received }
    }
    return outcome
  }

  public func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await exchange.call(ReadLog(after: token, bytesMax: bytesMax))
  }

  public func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await exchange.call(PutBack(entry, after: token))
  }

  public func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await exchange.call(BeginLog(of: snapshot))
  }

  // MARK: Assets

  public func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await exchange.call(ReadAssetState(asset))
  }

  public func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await exchange.call(PutAssetChunk(bytes, at: index, of: asset))
  }

  public func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await exchange.call(FinishAsset(manifest, of: LogName(zone, incarnation)))
  }

  public func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]? {
    try await exchange.call(ReadAssetChunk(index, of: asset))
  }

  // MARK: Snapshots

  public func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await exchange.call(ReadSnapshots(LogName(zone, incarnation)))
  }

  public func snapshotManifest(of snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    try await exchange.call(ReadSnapshotManifest(of: snapshot))
  }

  public func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    try await exchange.call(ReadSnapshotPart(index, of: snapshot))
  }

  public func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await exchange.call(PutSnapshotPart(bytes, at: index, of: snapshot))
  }

  public func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await exchange.call(FinishSnapshot(manifest, of: snapshot))
  }

  public func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    try await exchange.call(RemoveSnapshot(snapshot, parts: parts))
  }

  public func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    try await exchange.call(TrimLog(manifest, of: snapshot))
  }

  // MARK: Hints

  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    let call = ReadHeads(of: tokens, list: list)
    asked.withLock { $0 = call }
    return try await exchange.call(call)
  }

  public func announce() async {
    let isWanted = exchange.wantsAnnouncement.withLock { isWanted in
      defer { isWanted = false }
      return isWanted
    }
    if isWanted { try? await exchange.call(Announce()) }
  }

  /// What the server tells, as server-sent events.
  public func changes() -> AsyncStream<RemoteHint> {
    HintListener(exchange) { [weak self] in self?.asked.withLock { $0 } }.hints()
  }
}
