public import OperationFormat
public import Replicator
internal import Synchronization

/// A remote behind a bad network: calls get lost, their answers too, some arrive twice, late or cut.
///
/// What goes wrong is a function of the seed and of the order of the calls.
public final class FaultyRemote: RemoteLog {
  /// How often something goes wrong, in calls of 100.
  public struct Rates: Hashable, Sendable {
    /// The call is never made, and ends with `unreachable`.
    public var requestLost = 0
    /// The call is made, and ends with `unreachable`.
    public var answerLost = 0
    /// The call is made twice, and one of the answers is given.
    public var duplicated = 0
    /// A page of segments ends early, or its last segment's bytes do.
    public var cutShort = 0
    /// The remote says that no log has anything new.
    public var headsLate = 0
    /// Other tasks run first.
    public var delayed = 0
    /// The call is not made, and ends with `later`.
    public var later = 0
    /// The call is not made, and ends with `overQuota` if it would write.
    public var overQuota = 0
    /// The call is not made, and ends with `unauthenticated`.
    public var unauthenticated = 0
    /// The call is not made, and ends with `readOnly` if it would write.
    public var readOnly = 0
    /// The append is not made, and ends with `keyOutdated`.
    public var keyOutdated = 0
    /// The append is not made, and ends with `segmentRefused`.
    public var segmentRefused = 0

    /// Nothing goes wrong.
    public init() {}

    /// A network on which every call may go wrong in every way that passes.
    public static let bad: Rates = {
      var rates = Rates()
      (rates.requestLost, rates.answerLost, rates.duplicated) = (10, 10, 10)
      (rates.cutShort, rates.delayed, rates.later, rates.headsLate) = (20, 30, 5, 20)
      return rates
    }()
  }

  /// How long it asks to wait after `later`.
  public static let retryAfterMilliseconds: Int64 = 1500

  private struct State {
    var rates: Rates
    var random: SeededRandom
    var faults = 0
  }

  private let remote: any RemoteLog
  private let state: Mutex<State>

  /// Puts a bad network in front of a remote.
  public init(_ remote: any RemoteLog, seed: UInt64, rates: Rates = .bad) {
    self.remote = remote
    state = Mutex(State(rates: rates, random: SeededRandom(seed: seed)))
  }

  public var name: String { remote.name }

  /// How often something goes wrong from now on.
  public var rates: Rates {
    get { state.withLock { $0.rates } }
    set { state.withLock { $0.rates = newValue } }
  }

  /// How much went wrong so far, delays aside.
  public var faults: Int { state.withLock { $0.faults } }

  /// The remote itself is checked, not the network before it.
  public func probe() async throws(RemoteError) { try await remote.probe() }

  public func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await perform { remote throws(RemoteError) in try await remote.zoneEvents(after: token) }
  }

  public func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.createZone(zone, proposing: proposed)
    }
  }

  public func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.deleteZone(zone, incarnation)
    }
  }

  public func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.purgeZone(zone, incarnation)
    }
  }

  public func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.resetZone(zone, incarnation)
    }
  }

  public func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.reopenZone(zone, incarnation)
    }
  }

  public func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    if happens(\.keyOutdated) {
      throw RemoteError(.keyOutdated, "the zone has another key", hint: "fetch the key, and cut again")
    }
    if happens(\.segmentRefused) {
      throw RemoteError(.segmentRefused, "\(name) does not take the segment", hint: "export what is in it")
    }
    return try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.append(segment, after: token)
    }
  }

  public func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await perform { remote throws(RemoteError) in
      try await remote.segments(after: token, bytesMax: bytesMax)
    }
    guard case .segments(var page, _) = outcome, !page.isEmpty, happens(\.cutShort) else { return outcome }
    let last = page.count - 1
    if page.count > 1 && chance(50) {
      page.removeLast(1 + below(last))
      return .segments(page, hasMore: true)
    }
    page[last].bytes.removeLast(1 + below(page[last].bytes.count))
    return outcome.with(page)
  }

  public func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.putBack(entry, after: token)
    }
  }

  public func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.beginLog(with: snapshot)
    }
  }

  public func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await perform { remote throws(RemoteError) in try await remote.assetState(asset) }
  }

  public func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.putAssetChunk(bytes, at: index, of: asset)
    }
  }

  public func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.finishAsset(manifest, of: zone, incarnation)
    }
  }

  public func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    let bytes = try await perform { remote throws(RemoteError) in
      try await remote.assetChunk(at: index, of: asset)
    }
    guard var bytes, !bytes.isEmpty, happens(\.cutShort) else { return bytes }
    bytes.removeLast(1 + below(bytes.count))
    return bytes
  }

  public func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await perform { remote throws(RemoteError) in
      try await remote.snapshots(of: zone, incarnation)
    }
  }

  public func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? {
    try await perform { remote throws(RemoteError) in
      try await remote.snapshotManifest(of: snapshot)
    }
  }

  public func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    try await perform { remote throws(RemoteError) in
      try await remote.snapshotPart(at: index, of: snapshot)
    }
  }

  public func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.putSnapshotPart(bytes, at: index, of: snapshot)
    }
  }

  public func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.finishSnapshot(manifest, of: snapshot)
    }
  }

  public func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.removeSnapshot(snapshot, parts: parts)
    }
  }

  public func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    try await perform(writes: true) { remote throws(RemoteError) in
      try await remote.trim(to: snapshot, manifest)
    }
  }

  public func changes() -> AsyncStream<RemoteHint> { remote.changes() }

  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    let heads = try await perform { remote throws(RemoteError) in
      try await remote.heads(of: tokens, list: list)
    }
    guard heads != nil, happens(\.headsLate) else { return heads }
    return RemoteHeads(
      zones: tokens.map { ZoneHead($0.incarnation, offset: $0.offset) }, isListUnchanged: true)
  }

  public func announce() async {
    // It fails silently.
    if happens(\.requestLost) { return }
    await remote.announce()
  }

  /// Makes a call, as well as the network lets it.
  private func perform<Answer: Sendable>(
    writes: Bool = false,
    _ call: (any RemoteLog) async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    if happens(\.delayed, isFault: false) { await yieldAWhile() }
    if happens(\.requestLost) { throw lost("the request") }
    if happens(\.later) {
      throw RemoteError(
        .later, "\(name) has too much to do", hint: "try again later",
        retryAfterMilliseconds: Self.retryAfterMilliseconds)
    }
    if happens(\.unauthenticated) {
      throw RemoteError(.unauthenticated, "\(name) does not know who calls", hint: "sign in")
    }
    if writes, happens(\.readOnly) {
      throw RemoteError(.readOnly, "\(name) may only be read", hint: "ask its owner")
    }
    if writes, happens(\.overQuota) {
      throw RemoteError(.overQuota, "\(name) is full", hint: "free space there")
    }
    var answer = try await call(remote)
    if happens(\.duplicated) {
      await yieldAWhile()
      let second = try await call(remote)
      if chance(50) { answer = second }
    }
    if happens(\.delayed, isFault: false) { await yieldAWhile() }
    if happens(\.answerLost) { throw lost("the answer") }
    return answer
  }

  private func lost(_ what: String) -> RemoteError {
    RemoteError(.unreachable, "\(what) of \(name) was lost", hint: "try again")
  }

  private func yieldAWhile() async {
    for _ in 0..<below(20) { await Task.yield() }
  }

  private func happens(_ rate: KeyPath<Rates, Int>, isFault: Bool = true) -> Bool {
    state.withLock { state in
      let happens = state.random.chance(state.rates[keyPath: rate])
      if happens && isFault { state.faults += 1 }
      return happens
    }
  }

  private func chance(_ percent: Int) -> Bool { state.withLock { $0.random.chance(percent) } }

  private func below(_ bound: Int) -> Int { state.withLock { $0.random.next(below: bound) } }
}

extension FetchOutcome {
  /// The same with other segments.
  fileprivate func with(_ page: [StoredSegment]) -> FetchOutcome {
    guard case .segments(_, let hasMore) = self else { return self }
    return .segments(page, hasMore: hasMore)
  }
}
