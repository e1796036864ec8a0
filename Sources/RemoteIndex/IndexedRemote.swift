public import OperationFormat
public import Replicator

/// The remote of one account at a server: logs and the list of zones in an index, snapshots and assets as objects.
public struct IndexedRemote: RemoteLog, RemoteWithObjects {
  /// A page of the list of zones has no more events.
  private static let eventsMax = 1000

  public let name: String
  private let account: String
  private let index: any LogIndex
  private let logs: AccountLogs
  package let beside: ObjectsBesideLogs

  /// - Parameter place: where snapshots and assets are.
  public init(_ account: String, _ index: any LogIndex, in place: ObjectPlace) {
    self.init(account, index, place.objects)
  }

  package init(_ account: String, _ index: any LogIndex, _ objects: any ObjectStore) {
    (self.account, self.index) = (account, index)
    name = index.name
    logs = AccountLogs(account: account, index: index)
    beside = ObjectsBesideLogs(objects, logs)
  }

  // MARK: Zones

  public func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    let list = try await index.list(of: account)
    let start = token ?? .start(of: list.remote)
    guard start.remote == list.remote else {
      throw RemoteError(
        .identityMismatch, "\(name) is the remote \(list.remote), not \(start.remote) as before",
        hint:
          "give the address and the secret with which the store was synced before. If that remote is lost for good, "
          + "`replay sync STORE --remote REMOTE --leave-remote` moves the store to this one (`leaveRemote()` in an app)"
      )
    }
    // With the event of the token, which is compared.
    let first = start.offset == 0 ? 0 : start.offset - 1
    let found = try await index.events(of: account, after: first, count: Self.eventsMax + 1)
    var page = ZoneEventPage(events: [], token: start, hasMore: false, startOffset: start.offset)
    for (position, bytes) in found.enumerated() {
      let event = try read(bytes, at: first + UInt64(position) + 1)
      if event.offset == start.offset {
        guard event.hash == start.hash else { throw wentBack(start.offset) }
      } else {
        page.events.append(event.event)
        (page.token.offset, page.token.hash) = (event.offset, event.hash)
      }
    }
    if start.offset > 0, found.isEmpty { throw wentBack(start.offset) }
    page.hasMore = page.token.offset < list.events
    return page
  }

  private func read(
    _ bytes: [UInt8], at offset: UInt64
  ) throws(RemoteError) -> (event: ZoneEvent, offset: UInt64, hash: ContentHash) {
    do throws(FormatError) {
      let found = try ZoneEvent.read(bytes.span.bytes)
      if found.offset == offset { return (found.event, offset, found.hash) }
    } catch {
      throw RemoteError(
        .damaged, "event \(offset) of the list of zones at \(name) cannot be read: \(error)",
        hint: "restore the server's database from a backup", underlying: error, offset: offset)
    }
    throw RemoteError(
      .damaged, "event \(offset) of the list of zones at \(name) is another one",
      hint: "restore the server's database from a backup", offset: offset)
  }

  private func wentBack(_ offset: UInt64) -> RemoteError {
    RemoteError(
      .wentBack, "the list of zones at \(name) does not have event \(offset) that was read before",
      hint: "it may have been restored from an older copy", offset: offset)
  }

  public func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await index.createZone(logs.zone(zone, proposed))
  }

  public func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await index.close(logs.zone(zone, incarnation), .deleted)
    // Nobody needs what is beside it; what stays only takes space.
    try? await beside.removeAll(of: incarnation)
  }

  public func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discard(zone, incarnation, .purged)
  }

  public func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discard(zone, incarnation, .reset)
  }

  private func discard(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ fate: ZoneFate
  ) async throws(RemoteError) {
    let log = logs.zone(zone, incarnation)
    try await index.close(log, fate)
    while try await index.removeStep(of: log) {}
    try await beside.removeAll(of: incarnation)
    guard try await index.state(of: log).fate == nil else { return }
    throw RemoteError(
      .later, "a store has made zone “\(zone)” again before all of it was discarded",
      hint: "run the command again: it discards what was sent since, and assets of which only a part is there"
    )
  }

  public func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    let log = logs.zone(zone, incarnation)
    // A call that discarded it may have been cut short.
    if let fate = try await index.state(of: log).fate, fate.discardsLog {
      while try await index.removeStep(of: log) {}
    }
    try await index.reopen(log)
  }

  // MARK: Segments

  public func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsWhole()
    try segment.checkIsOf(token)
    let zone = logs.zone(token.zone, token.incarnation)
    let outcomes = try await index.append([segment], to: zone, after: token.offset)
    guard let outcome = outcomes.first else {
      throw RemoteError(.system, "\(name) has not answered an append", hint: "try again")
    }
    return outcome
  }

  public func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await index.entries(
      of: logs.zone(token.zone, token.incarnation), after: token, bytesMax: bytesMax)
  }

  public func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await index.putBack(entry, to: logs.zone(token.zone, token.incarnation), after: token)
  }

  public func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    let zone = logs.zone(snapshot.zone, snapshot.incarnation)
    guard try await index.state(of: zone).fate == nil, let manifest = try await snapshotManifest(of: snapshot)
    else { return false }
    return try await index.begin(zone, with: IndexedFloor(manifest, by: snapshot.maker, hasEntry: false))
  }

  // MARK: Snapshots

  public func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    let zone = logs.zone(snapshot.zone, snapshot.incarnation)
    if try await index.state(of: zone).fate != nil {
      throw RemoteError(
        .zoneUnknown, "zone “\(snapshot.zone)” was deleted", hint: "sync it: the deletion comes here too")
    }
    try await beside.putManifest(manifest, of: snapshot)
    let begin = try await index.raise(zone, to: IndexedFloor(manifest, by: snapshot.maker, hasEntry: true))
    // Its maker may have given up meanwhile. From now on nobody removes it; if it is not whole, the entries stay.
    guard let floor = try await logs.begin(of: snapshot.zone, snapshot.incarnation),
      try await beside.isWhole(floor)
    else { return begin }
    while try await index.removeStep(of: zone) {}
    try await beside.removeSnapshots(of: snapshot.zone, snapshot.incarnation, before: begin)
    return begin
  }

  // MARK: Hints

  public func changes() -> AsyncStream<RemoteHint> { index.changes() }

  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    let known = try await index.list(of: account)
    let heads = try await index.heads(of: tokens.map(\.incarnation), for: account)
    return RemoteHeads(
      zones: heads, isListUnchanged: known.remote == list.remote && known.events == list.offset)
  }
}

/// The logs of an account's zones.
private struct AccountLogs: LogStates {
  let account: String
  let index: any LogIndex

  func zone(_ zone: ZoneID, _ incarnation: IncarnationID) -> IndexedZone {
    IndexedZone(zone, of: account, incarnation)
  }

  func fate(
    of zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneFate? {
    try await index.state(of: self.zone(zone, incarnation)).fate
  }

  func begin(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> RemoteSnapshot? {
    let floor = try await index.state(of: self.zone(zone, incarnation)).floor
    return floor.map { RemoteSnapshot(of: zone, incarnation, at: $0.offset, by: $0.maker) }
  }
}

extension IndexedFloor {
  fileprivate init(_ manifest: SnapshotManifest, by maker: ReplicaID, hasEntry: Bool) {
    self.init(
      offset: manifest.offset, hash: manifest.hash, chain: manifest.chain, maker: maker, hasEntry: hasEntry)
  }
}
