internal import OperationFormat

/// A remote log over objects that are written once: the one algorithm of the folder remote and the memory
/// remote.
///
/// ``ObjectName`` lists the objects. Its parts do the work; it owns what they share.
package final class ObjectRemote: LogOfObjects {
  package let objects: any ObjectStore
  /// Gives entries their receive times.
  let clock: ReceiveClock
  /// What is known of the ends of logs; nil if the remote tells them otherwise.
  let hints: RemoteHints?
  /// The list of zones.
  let zones: RemoteZoneList
  /// Reads pages of logs.
  let pages: LogPageReader
  let entries: LogEntries
  /// Amends entries that cannot be read.
  package let amendments: EntryAmendments
  fileprivate let appender: LogAppender
  package let beside: ObjectsBesideLogs
  var snapshotNames: SnapshotNames { SnapshotNames(objects: objects) }
  var trimmer: LogTrimmer { LogTrimmer(objects: objects, zones: zones, snapshots: beside.snapshots) }
  var discarder: LogDiscarder { LogDiscarder(objects: objects, zones: zones, appender: appender) }

  /// - Parameters:
  ///   - isReadOnly: whether this user must not write, not even to complete a deletion of another.
  ///   - hasHints: whether it keeps a ``HintObject``.
  ///   - clock: gives entries their receive times.
  package init(
    _ objects: any ObjectStore, counter: RemoteCallCounter? = nil, isReadOnly: Bool = false,
    hasHints: Bool = true, clock: ReceiveClock = .none,
    makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) {
    let objects = counter.map { CountingObjects(objects: objects, counter: $0) } ?? objects
    let durable = DurableEntries(objects)
    let hints = hasHints ? RemoteHints(objects, isReadOnly: isReadOnly, makeRandom: makeRandom) : nil
    let zones = RemoteZoneList(objects, durable, hints, isReadOnly: isReadOnly)
    let entries = LogEntries(objects: objects)
    self.objects = objects
    self.entries = entries
    self.clock = clock
    self.hints = hints
    self.zones = zones
    pages = LogPageReader(zones: zones, entries: entries, durable: durable, hints: hints)
    amendments = EntryAmendments(objects)
    appender = LogAppender(
      objects: objects, zones: zones, entries: entries, hints: hints, clock: clock)
    beside = ObjectsBesideLogs(objects, zones)
  }

  package var log: ObjectRemote { self }
  /// Whether this user must not write.
  package var isReadOnly: Bool { zones.isReadOnly }

  // MARK: Making

  /// Whether the place is a remote.
  package func isMade() async throws(RemoteError) -> Bool { try await objects.getPrefix(.marker, 1) != nil }

  /// Makes a remote of the place, unless it is one.
  package func make(_ remote: RemoteID) async throws(RemoteError) {
    _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: remote).bytes)
  }

  /// Looks at the remote now.
  ///
  /// - Throws: ``RemoteError`` if it is none, or another than before.
  package func check() async throws(RemoteError) { try await zones.checked() }

  // MARK: Ends of zones

  /// The segments stay, for readers that have not read to the end. The assets, which nobody needs, are not removed here.
  package func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await zones.read()
    var fate = try await zones.fate(of: zone, incarnation, checkedAt: 0)
    if fate == nil {
      let seal = try await appender.seal(incarnation, zone, .deleted)
      fate = seal.fate
      if fate == .deleted {
        try await zones.recordEnd(.deleted, of: zone, incarnation, sealedAt: seal.offset)
      }
    }
    // A store that has it may make it again: then it is to be deleted.
    if fate?.discardsLog ?? false { throw .closed(zone) }
  }

  package func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discarder.discard(zone, incarnation, as: .purged) {}
  }

  package func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discarder.discard(zone, incarnation, as: .reset) {}
  }

  /// Opens a closed log again: first its seal is amended by a tombstone, which every reader takes as an empty entry; then
  /// the event comes into the list of zones. Until then the log counts as closed.
  package func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    let list = try await zones.read()
    guard let fate = try await zones.fate(of: zone, incarnation, checkedAt: 0) else { return }
    guard fate.mayReopen else {
      throw RemoteError(
        .unsupported, "the log of zone “\(zone)” is closed for good", hint: "keep the zone as a local one")
    }
    if try list.read({ $0.openLog(of: zone) }) != nil { throw .nameTaken(zone, name) }
    // Another caller may have opened it.
    if let seal = try await appender.lastSeal(of: incarnation, zone) {
      // What is left of a discarded log need not be its beginning.
      if fate.discardsLog { _ = try await discarder.removeEntries(of: incarnation, before: seal) }
      try await amendments.passSeal(of: EntryPlace.Log(zone, incarnation), at: seal)
    }
    try await zones.recordReopened(zone, incarnation)
  }

  /// Lets a log that has no entry begin after a snapshot.
  ///
  /// - Returns: whether it begins with that snapshot now.
  package func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    let (zone, incarnation) = (snapshot.zone, snapshot.incarnation)
    guard !zones.isReadOnly, try await zones.fate(of: zone, incarnation, checkedAt: 0) == nil,
      let manifest = try await beside.snapshots.manifest(of: snapshot)
    else { return false }
    let floor = LogFloor(manifest, by: snapshot.maker, hasEntry: false)
    if try await entries.floors.floor(of: incarnation) == floor { return true }
    guard try await entries.isEmpty(incarnation, zone) else { return false }
    return try await trimmer.raise(to: floor) == floor
  }

  // MARK: Repair

  /// Closes a log whose end the list of zones is to have again, if there is anything of it.
  package func seal(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ kind: LogSeal.Kind
  ) async throws(RemoteError) {
    guard try await entries.hasAny(of: incarnation, from: 1) else { return }
    _ = try await appender.seal(incarnation, zone, kind)
  }

  /// Puts the marker back, if it is missing or damaged.
  ///
  /// - Parameters:
  ///   - remote: the identity.
  ///   - logs: logs of that remote. One must exist: an incarnation is random, so no other remote has it.
  /// - Throws: ``RemoteError``, why the marker cannot be read, if none of the logs exists.
  package func putMarkerBack(_ remote: RemoteID, logs: [IncarnationID]) async throws(RemoteError) {
    do throws(RemoteError) {
      _ = try await zones.identity()
    } catch {
      guard error.code == .notARemote || error.code == .damaged else { throw error }
      var isThere = false
      for log in logs where !isThere { isThere = try await entries.hasAny(of: log, from: 1) }
      guard isThere else { throw error }
      try await objects.delete(.marker)
      _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: remote).bytes)
    }
  }
}

/// A remote that keeps its log by the algorithm over objects.
package protocol LogOfObjects: RemoteWithObjects {
  var log: ObjectRemote { get }
}

extension LogOfObjects {
  package var beside: ObjectsBesideLogs { log.beside }

  public var name: String { log.objects.name }

  public func changes() -> AsyncStream<RemoteHint> { log.objects.changes() }

  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    await log.hints?.heads(of: tokens, list: list) { [zones = log.zones] () throws(RemoteError) in
      try await zones.checked().remote
    }
  }

  public func announce() async {
    await log.hints?.announce { [zones = log.zones] () throws(RemoteError) in
      try await zones.checked().remote
    }
  }

  /// Which remote it is.
  ///
  /// - Throws: ``RemoteError`` if none is there, or it cannot be read.
  public func identity() async throws(RemoteError) -> RemoteID { try await log.zones.identity() }

  // MARK: Zones

  public func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.deleteZone(zone, incarnation)
    guard log.zones.isDeleted(incarnation) else { return }
    do throws(RemoteError) {
      try await log.objects.removeAssets(of: incarnation)
    } catch {
      // The zone is deleted nevertheless. The audit lists what is left, and the next deletion removes it.
    }
  }

  public func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discard(zone, incarnation, as: .purged)
  }

  public func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await discard(zone, incarnation, as: .reset)
  }

  private func discard(
    _ zone: ZoneID, _ incarnation: IncarnationID, as kind: LogSeal.Kind
  ) async throws(RemoteError) {
    try await log.discarder.discard(zone, incarnation, as: kind) {
      [objects = log.objects] () throws(RemoteError) in
      try await objects.removeAssets(of: incarnation)
    }
  }

  public func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await log.zones.page(after: token)
  }

  public func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await log.zones.create(zone, proposing: proposed)
  }

  public func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.reopenZone(zone, incarnation)
  }

  // MARK: Segments

  public func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try await log.appender.append(segment, after: token)
  }

  public func lastClockMilliseconds() -> UInt64? { log.appender.seen.milliseconds }

  public func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await log.appender.putBack(entry, after: token, log.pages)
  }

  public func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await log.beginLog(with: snapshot)
  }

  public func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await log.pages.segments(after: token, bytesMax: bytesMax)
  }

  // MARK: Snapshots

  public func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    try await log.trimmer.trim(to: snapshot, manifest)
  }
}
