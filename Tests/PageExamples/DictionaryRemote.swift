import EventStore
import Replicator
import StoreTesting
import Synchronization
import Testing

// The examples of TestingYourApp.md are between the marks: an app author's code, which may use only public
// API.

// page
/// A remote that keeps its logs in dictionaries: what a server of yours would keep in rows.
final class DictionaryRemote: RemoteLog {
  let name = "dictionary"
  private let logs: Mutex<DictionaryLogs>

  init(identity: RemoteID) { logs = Mutex(DictionaryLogs(identity)) }

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try logs.withLock { logs throws(RemoteError) in try logs.zoneEvents(after: token) }
  }

  func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try logs.withLock { logs throws(RemoteError) in try logs.createZone(zone, proposing: proposed) }
  }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try logs.withLock { logs throws(RemoteError) in try logs.deleteZone(zone, incarnation) }
  }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsWhole()
    return try logs.withLock { logs throws(RemoteError) in try logs.append(segment, after: token) }
  }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    try logs.withLock { logs throws(RemoteError) in try logs.segments(after: token, bytesMax) }
  }

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try logs.withLock { logs throws(RemoteError) in try logs.assetState(asset) }
  }

  func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try logs.withLock { logs throws(RemoteError) in try logs.put(bytes, at: index, of: asset) }
  }

  func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try logs.withLock { logs throws(RemoteError) in
      try logs.finish(manifest, RemoteAsset(manifest.asset, of: zone, incarnation))
    }
  }

  func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]? {
    try logs.withLock { logs throws(RemoteError) in
      _ = try logs.log(asset.zone, asset.incarnation)
      return logs.chunks[asset]?[index]
    }
  }

  // It does not push: replicators poll.
  func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }
}
// page end

// page
/// All that the remote has. Each verb is one step: with rows, one transaction of the database.
private struct DictionaryLogs {
  struct Log {
    let zone: ZoneID
    /// The segment of offset n is at n − 1.
    var segments: [PackedSegment] = []
    /// The log's chain at each offset, the first before all segments.
    var chains: [LogChain]
    var isClosed = false
  }

  var logs: [IncarnationID: Log] = [:]
  /// The chunks of each asset, and the manifests of those that are whole.
  var chunks: [RemoteAsset: [UInt64: [UInt8]]] = [:]
  var manifests: [RemoteAsset: AssetManifest] = [:]
  /// The open log of each zone that has one.
  var open: [ZoneID: IncarnationID] = [:]
  /// The list of zones, and the token after each event; the first token is that before all.
  var events: [ZoneEvent] = []
  var tokens: [DatabaseToken]

  init(_ identity: RemoteID) { tokens = [DatabaseToken(remote: identity, offset: 0, hash: .zero)] }

  mutating func note(_ kind: ZoneEvent.Kind, _ zone: ZoneID, _ incarnation: IncarnationID) {
    events.append(ZoneEvent(kind: kind, zone: zone, incarnation: incarnation))
    // A hash over all events so far: a list that was restored from an old copy and went on otherwise shows.
    let text = "\(tokens[events.count - 1].hash) \(kind.rawValue) \(incarnation)"
    tokens.append(
      DatabaseToken(
        remote: tokens[0].remote, offset: UInt64(events.count),
        hash: ContentHash(of: Array(text.utf8).span.bytes)))
  }

  func zoneEvents(after token: DatabaseToken?) throws(RemoteError) -> ZoneEventPage {
    let token = token ?? tokens[0]
    guard token.remote == tokens[0].remote else {
      throw RemoteError(.identityMismatch, "the token is another remote's", hint: "sync with that one")
    }
    guard token.offset < UInt64(tokens.count), tokens[Int(token.offset)] == token else {
      throw RemoteError(.wentBack, "the list of zones lacks event \(token.offset)", hint: "restore it")
    }
    return ZoneEventPage(
      events: Array(events[Int(token.offset)...]), token: tokens[events.count], hasMore: false)
  }

  mutating func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) throws(RemoteError) -> IncarnationID {
    if let incarnation = open[zone] { return incarnation }
    if let log = logs[proposed] {
      // An earlier call made it, its answer was lost, and the zone was deleted since.
      if log.zone == zone { return proposed }
      throw RemoteError(.mismatch, "\(proposed) is another zone's", hint: "propose new random bits")
    }
    logs[proposed] = Log(zone: zone, chains: [.start(of: proposed)])
    open[zone] = proposed
    note(.created, zone, proposed)
    return proposed
  }

  mutating func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) throws(RemoteError) {
    if try log(zone, incarnation).isClosed { return }
    logs[incarnation]?.isClosed = true
    open[zone] = nil
    note(.deleted, zone, incarnation)
  }

  mutating func append(_ segment: PackedSegment, after token: ChangeToken) throws(RemoteError)
    -> AppendOutcome
  {
    let log = try log(token.zone, token.incarnation)
    try segment.checkIsOf(token)
    let count = UInt64(log.segments.count)
    guard token.offset <= count else { throw Self.wentBack(token.zone, token.offset) }
    for (index, found) in log.segments.enumerated().dropFirst(Int(token.offset)) {
      let place = SegmentPlace(offset: UInt64(index) + 1, chain: log.chains[index + 1])
      if let outcome = segment.outcome(meeting: found, at: place) { return outcome }
    }
    if log.isClosed { return .gone(.deleted) }
    let chain = LogChain(
      segment.header.statement.hash, at: count + 1, after: log.chains[log.segments.count])
    logs[token.incarnation]?.segments.append(segment)
    logs[token.incarnation]?.chains.append(chain)
    return .appended(SegmentPlace(offset: count + 1, chain: chain))
  }

  func segments(after token: ChangeToken, _ bytesMax: Int) throws(RemoteError) -> FetchOutcome {
    let log = try log(token.zone, token.incarnation)
    guard token.offset <= UInt64(log.segments.count) else { throw Self.wentBack(token.zone, token.offset) }
    let start = Int(token.offset)
    // A token without a chain is of an earlier program: the hash of its segment has to do.
    let isKnown = token.chain.map { $0 == log.chains[start] }
    guard isKnown ?? (log.segments[start - 1].header.contentHash == token.hash) else {
      throw Self.wentBack(token.zone, token.offset)
    }
    if log.isClosed && start == log.segments.count { return .gone(.deleted) }
    var page: [StoredSegment] = []
    var bytes = 0
    for segment in log.segments[start...] {
      bytes += segment.bytes.count
      if !page.isEmpty && bytes > bytesMax { break }
      let offset = token.offset + UInt64(page.count) + 1
      let chain = log.chains[Int(offset)]
      page.append(
        StoredSegment(offset: offset, receivedMilliseconds: nil, chain: chain, bytes: segment.bytes))
    }
    return .segments(page, hasMore: start + page.count < log.segments.count || log.isClosed)
  }

  func assetState(_ asset: RemoteAsset) throws(RemoteError) -> RemoteAssetState {
    if try log(asset.zone, asset.incarnation).isClosed { return .gone(.deleted) }
    if let manifest = manifests[asset] { return .whole(manifest) }
    let count = AssetManifest.chunkCount(of: asset.reference)
    return .partial(chunks: (0..<count).first { chunks[asset]?[$0] == nil } ?? count)
  }

  mutating func put(_ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset) throws(RemoteError) {
    _ = try log(asset.zone, asset.incarnation)
    guard !bytes.isEmpty, bytes.count == AssetManifest.byteCount(ofChunk: index, of: asset.reference) else {
      throw RemoteError(.mismatch, "chunk \(index) has \(bytes.count) bytes", hint: "put it whole")
    }
    chunks[asset, default: [:]][index] = bytes
  }

  mutating func finish(
    _ manifest: AssetManifest, _ asset: RemoteAsset
  ) throws(RemoteError) -> RemoteAssetState {
    let state = try assetState(asset)
    guard state == .partial(chunks: UInt64(manifest.chunks.count)) else { return state }
    manifests[asset] = manifest
    return .whole(manifest)
  }

  func log(_ zone: ZoneID, _ incarnation: IncarnationID) throws(RemoteError) -> Log {
    if let log = logs[incarnation], log.zone == zone { return log }
    throw RemoteError(.zoneUnknown, "there is no zone \(zone) \(incarnation)", hint: "create it")
  }

  static func wentBack(_ zone: ZoneID, _ offset: UInt64) -> RemoteError {
    RemoteError(.wentBack, "zone \(zone) lacks segment \(offset)", hint: "restore the newest copy")
  }
}
// page end

// page
@Suite("The dictionary remote")
struct DictionaryRemoteContract {
  @Test("keeps the contract", arguments: RemoteLogConformance.checks)
  func isKept(_ check: RemoteLogConformance.Check) async throws {
    try await RemoteLogConformance { clients in
      let remote = DictionaryRemote(identity: RemoteID(rawValue: 1))
      return (0..<clients).map { _ in remote }
    }.run(check)
  }

  @Test("keeps it behind a bad network", arguments: RemoteLogConformance.checks)
  func isKeptBehindABadNetwork(_ check: RemoteLogConformance.Check) async throws {
    try await RemoteLogConformance(triesMax: 200) { clients in
      let remote = DictionaryRemote(identity: RemoteID(rawValue: 1))
      return (0..<clients).map { FaultyRemote(remote, seed: UInt64($0)) }
    }.run(check)
  }

  @Test("keeps it in worlds where everything fails", arguments: 1...3 as ClosedRange<UInt64>)
  func isKeptInWorlds(_ seed: UInt64) {
    var options = SimulationOptions()
    options.steps = 100
    options.makeRemote = { DictionaryRemote(identity: RemoteID(rawValue: 1)) }
    let result = Simulation(options).run(seed: seed)
    #expect(result.failure == nil)
  }
}
// page end
