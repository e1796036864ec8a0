internal import OperationFormat
internal import Synchronization

/// The list of zones at a remote of objects: reads it, caches it, and adds events.
///
/// The cache is shared by all calls: what follows from the events, not the events (``ZoneList``). A call that
/// relies on the list's end reads on from there, after it has checked that the last cached event still exists.
///
/// Nothing is read from, or put into, a place that now holds another remote. Each call first checks something
/// that no other remote has: the marker, or an entry of a log whose offset the caller knows, since an
/// incarnation is random and never used twice. If that entry is missing, the call reads the marker, which
/// tells why.
final class RemoteZoneList: Sendable {
  /// The most events of the list in one page.
  static let pageEventsMax: UInt64 = 4096

  /// Whether this user must not write, not even to complete a deletion.
  let isReadOnly: Bool
  private let objects: any ObjectStore
  let events: ZoneListEntries
  private let entries: LogEntries
  let durable: DurableEntries
  let hints: RemoteHints?
  private let cache = Mutex<KnownZones?>(nil)

  init(_ objects: any ObjectStore, _ durable: DurableEntries, _ hints: RemoteHints?, isReadOnly: Bool) {
    self.objects = objects
    self.durable = durable
    self.hints = hints
    self.isReadOnly = isReadOnly
    events = ZoneListEntries(objects: objects)
    entries = LogEntries(objects: objects)
  }

  /// The remote's name for messages.
  var name: String { objects.name }

  // MARK: Which remote it is

  /// Reads the remote's identity.
  func identity() async throws(RemoteError) -> RemoteID {
    guard let marker = try await objects.getPrefix(.marker, RemoteMarker.byteCount + 1) else {
      throw .notARemote(name)
    }
    return try RemoteMarker.read(marker.bytes, of: name).remote
  }

  /// Drops the cached list of another remote: a wrong disk may have been mounted when it was read, and the
  /// caller knows which remote is right.
  func forgetOthers(than remote: RemoteID) {
    cache.withLock { if $0?.remote != remote { $0 = nil } }
  }

  /// Checks that the remote is the same as before, and gives the cached list.
  @discardableResult
  func checked() async throws(RemoteError) -> KnownZones {
    let remote = try await identity()
    // An identity is kept only once the list was read: another remote may have been in the place.
    guard let known = cache.withLock({ $0 }) else { return KnownZones(of: remote) }
    guard known.remote == remote else { throw .identityMismatch(name, known.remote, remote) }
    return known
  }

  // MARK: Reading

  /// Reads the list to its end.
  ///
  /// - Complexity: linear in the events that no call of the process has read
  @discardableResult
  func read() async throws(RemoteError) -> KnownZones {
    let list = try await known()
    try await readToEnd(list)
    return list
  }

  /// The cached list, after a check that its last event still exists. Events that could not be read are read
  /// again.
  func known() async throws(RemoteError) -> KnownZones {
    while true {
      let list = try await checked()
      if try await isCurrent(list) { return list }
      forget(list)
    }
  }

  /// Reads a list on to its end.
  func readToEnd(_ list: KnownZones) async throws(RemoteError) {
    defer { keep(list) }
    while try await readNext(of: list) {}
    try noteEnd(of: list)
  }

  /// Notes that a list was read to its end.
  func noteEnd(of list: KnownZones) throws(RemoteError) {
    // An event that cannot be read may become readable: the list is to be read again.
    let end = try list.read { $0.unreadable.isEmpty ? $0.offset : nil }
    if let end { hints?.didSeeList(of: list.remote, end: end) } else { hints?.forgetList() }
  }

  /// Reads the event after the last that was read.
  ///
  /// - Returns: whether there is one.
  func readNext(of list: KnownZones) async throws(RemoteError) -> Bool {
    let next = list.offset + 1
    guard next <= Limits.placeMax, let found = try await events.read(next) else { return false }
    try list.add(found, at: next)
    return true
  }

  /// Caches a list that was read, also if an error ends the reading.
  func keep(_ list: KnownZones) {
    cache.withLock { if $0 == nil, !list.isForgotten { $0 = list } }
  }

  /// Drops a list from which the remote's differs: the next call reads that from its start.
  func forget(_ list: KnownZones) {
    cache.withLock { known in
      list.isForgotten = true
      if known === list { known = nil }
    }
  }

  /// Whether the remote still has a list as it was read. If not, it is to be read from its start.
  private func isCurrent(_ list: KnownZones) async throws(RemoteError) -> Bool {
    let last = try list.read { (offset: $0.offset, hash: $0.hash, isKnown: $0.isLastKnown) }
    if last.isKnown {
      switch try await events.read(last.offset) {
      case .event(_, _, let hash)? where hash == last.hash: break
      // An object that is no event was damaged at rest or in transit: that says nothing about the list.
      case .unreadable?, .tombstone?: return false
      case .event?, nil:
        // The next call reads the list as it is now, and compares its caller's token with that.
        forget(list)
        throw wentBack(at: last.offset)
      }
    }
    for offset in list.unreadable {
      guard let found = try await events.read(offset) else { continue }
      if !list.mend(at: offset, found) { return false }
    }
    return true
  }

  /// The cached state of a log; nil if the cache does not have it.
  private func cached(_ incarnation: IncarnationID) -> ZoneLogs.Log? {
    cache.withLock { $0 }?.log(incarnation)
  }

  /// Whether the cache has a log as deleted.
  func isDeleted(_ incarnation: IncarnationID) -> Bool { cached(incarnation)?.fate == .deleted }

  /// Why the list says that a log is closed; nil if it says that it is open. It is read on only if the cache
  /// does not have the log.
  ///
  /// - Parameter offset: an offset at which the caller checks that the log exists; 0 if it does not, so that
  ///   the marker is read.
  /// - Throws: ``RemoteError`` `zoneUnknown` if no event names the log as one of the zone.
  func fate(
    of zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneFate? {
    var log = cached(incarnation)
    if log == nil || offset == 0 { log = try await checked().log(incarnation) }
    // It may have been opened again.
    if log?.fate?.mayReopen ?? false { log = try await read().log(incarnation) }
    if log == nil {
      let list = try await read()
      log = list.log(incarnation)
      // The event of its creation may be unreadable: then the entries that were shipped show that it exists.
      if log == nil, try list.read({ $0.hasGaps }),
        try await entries.hasAny(of: incarnation, from: max(offset, 1))
      {
        return nil
      }
    }
    guard let log, log.zone == ZoneLogs.ZoneKey(zone) else { throw zoneUnknown(incarnation) }
    return log.fate
  }

  // MARK: Writing

  /// Notes that a log may begin later than with its first entry, before one does.
  func noteTrimmedLogs() async throws(RemoteError) {
    let bytes = try await objects.getPrefix(.marker, RemoteMarker.byteCount + 1)?.bytes ?? []
    var marker = try RemoteMarker.read(bytes, of: name)
    guard !marker.hasTrimmedLogs else { return }
    marker.hasTrimmedLogs = true
    try await objects.overwrite(.marker, marker.bytes)
  }

  /// Makes a zone unless it exists.
  ///
  /// - Returns: its incarnation.
  func create(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    while true {
      let list = try await read()
      let event = ZoneEvent(kind: .created, zone: zone, incarnation: proposed)
      let (found, last, next) = try list.read { (list) throws(RemoteError) in
        let found = try list.incarnation(of: zone, proposing: proposed)
        return (found, list.offset, found == nil ? try NextEvent(event, list) : nil)
      }
      if let found {
        if found == proposed { hints?.didPutEvent(at: last) }
        try await durable.wait(for: 1...last, of: .zones) { .zoneEvent($0) }
        return found
      }
      if let next { try await put(next) }
    }
  }

  /// Adds the event that ends a log, unless the list has one, or the log was opened again: its seal is amended before the
  /// event that says so, and the caller may have seen the seal long ago.
  func recordEnd(
    _ fate: ZoneFate, of zone: ZoneID, _ incarnation: IncarnationID, sealedAt offset: UInt64
  ) async throws(RemoteError) {
    let event = ZoneEvent(kind: fate.event, zone: zone, incarnation: incarnation)
    while true {
      let (next, last) = try await read().read { (list) throws(RemoteError) in
        let isOpen = list.log(incarnation).map { $0.fate == nil } ?? list.hasGaps
        return (isOpen ? try NextEvent(event, list) : nil, list.offset)
      }
      guard let next, try await !entries.isAmended(incarnation, offset) else {
        hints?.didPutEvent(at: last)
        return
      }
      try await put(next)
    }
  }

  /// Adds an event that opens a log again, unless the list has it as open.
  ///
  /// - Throws: ``RemoteError`` `nameTaken` if another log of the zone was made since.
  func recordReopened(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    let event = ZoneEvent(kind: .reopened, zone: zone, incarnation: incarnation)
    while true {
      let (next, last) = try await read().read { (list) throws(RemoteError) in
        switch list.openLog(of: zone) {
        case incarnation?: return (nil as NextEvent?, list.offset)
        case nil: return (try NextEvent(event, list), list.offset)
        default: throw RemoteError.nameTaken(zone, name)
        }
      }
      guard let next else {
        hints?.didPutEvent(at: last)
        return
      }
      try await put(next)
    }
  }

  /// Completes a deletion, a purge or a reset whose writer crashed between the seal and the event.
  ///
  /// - Parameters:
  ///   - fate: what the seal says.
  ///   - listed: what the list says.
  func complete(
    _ fate: ZoneFate, listed: ZoneFate?, _ zone: ZoneID, _ incarnation: IncarnationID,
    sealedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneFate {
    guard fate.mayReopen, listed == nil, !isReadOnly else { return fate }
    do throws(RemoteError) {
      try await recordEnd(fate, of: zone, incarnation, sealedAt: offset)
    } catch {
      // A reader without permission to write still gets the fate; another caller adds the event.
      guard [.denied, .readOnly, .overQuota].contains(error.code) else { throw error }
    }
    return fate
  }

  /// An event for the offset after the last.
  private struct NextEvent: Sendable {
    let offset: UInt64
    let bytes: [UInt8]

    init(_ event: ZoneEvent, _ list: borrowing ZoneList) throws(RemoteError) {
      offset = list.offset + 1
      bytes = try list.encodeNext(event)
    }
  }

  /// Puts an event at the end of the list, unless another writer has put one there.
  private func put(_ event: NextEvent) async throws(RemoteError) {
    let name = ObjectName.zoneEvent(event.offset)
    if try await objects.getPrefix(.zoneEvent(event.offset + 1), 1) != nil,
      try await objects.getPrefix(name, 1) == nil
    {
      throw wentBack(at: event.offset)
    }
    if try await objects.putIfAbsent(name, event.bytes) {
      hints?.didPutEvent(at: event.offset)
      return
    }
    guard try await objects.getPrefix(name, 1) != nil else { throw .notShown(name) }
  }

  // MARK: Errors

  func wentBack(at offset: UInt64) -> RemoteError {
    RemoteError(
      .wentBack,
      "the list of zones of \(name) does not have its event \(offset) any more, or has "
        + "another event there",
      hint:
        "it was restored from an old copy, lost its last events, or was tampered with: replace it with the "
        + "newest copy, or run `replay remote REMOTE --repair STORE` with this store, which puts back the "
        + "events of its zones. If the remote is right, `replay sync STORE --remote REMOTE --reread ZONE@1` "
        + "lets this store read it again, for each zone that it has synced: what others wrote and the remote "
        + "does not have is then removed from the store too"
    )
  }

  private func zoneUnknown(_ incarnation: IncarnationID) -> RemoteError {
    RemoteError(
      .zoneUnknown, "\(name) has no log of the zone of the incarnation \(incarnation)",
      hint:
        "it lost the zone, or went back to before the zone was made: `replay remote REMOTE --repair STORE` "
        + "with a store that has the zone puts it back, with all that the store has of it")
  }

  /// The error for an entry of a log that is missing or differs: the remote has lost it, or another remote is
  /// in its place.
  func logWentBack(
    _ incarnation: IncarnationID, _ offset: UInt64
  ) async throws(RemoteError) -> RemoteError {
    try await checked()
    let name =
      "\(offset > 0 ? "\(ObjectName.entry(of: incarnation, offset))" : "the log") of \(self.name)"
    return RemoteError(
      .wentBack, "\(name) was read before, and now is missing or is another segment",
      hint:
        "the remote was restored from an old copy, lost its last segments, or was tampered with. A round that may "
        + "write puts back what is lost, or sends it again. If it does not, replace the remote with the newest "
        + "copy, or run `replay remote REMOTE --repair STORE` with this store, which puts back what nothing has "
        + "replaced. If the remote is right, this store reads it again with `replay "
        + "sync STORE --remote REMOTE --reread ZONE@1`: what others wrote and the remote does not have is "
        + "then removed from the store too",
      offset: offset)
  }
}

extension RemoteZoneList: LogStates {
  func begin(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> RemoteSnapshot? {
    do throws(RemoteError) {
      return try await LogFloors(objects: objects).floor(of: incarnation)?.snapshot(of: zone)
    } catch {
      guard error.isAboutOneObject else { throw error }
      return nil
    }
  }
}
