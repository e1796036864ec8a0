internal import OperationFormat
internal import Synchronization

/// The list of zones at a remote of objects: reads it, caches it, and adds events.
///
/// The cache is shared by all calls. A call that relies on the list's end reads on from there, after it has
/// checked that the last cached event still exists.
///
/// Nothing is read from, or put into, a place that now holds another remote. Each call first checks something
/// that no other remote has: the marker, or an entry of a log whose offset the caller knows, since an
/// incarnation is random and never used twice. If that entry is missing, the call reads the marker, which
/// tells why.
final class RemoteZoneList: Sendable {
  /// The most events of the list in one page.
  private static let pageEventsMax = 4096

  /// Whether this user must not write, not even to complete a deletion.
  let isReadOnly: Bool
  private let objects: any ObjectStore
  private let events: ZoneListEntries
  private let entries: LogEntries
  private let durable: DurableEntries
  private let hints: RemoteHints?
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
  private func forgetOthers(than remote: RemoteID) {
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
  func read() async throws(RemoteError) -> KnownZones {
    let list = try await checked()
    try await checkLast(of: list)
    for offset in try list.read({ $0.unreadable }) {
      guard let found = try await events.read(offset) else { continue }
      if case .unreadable = found { continue }
      try list.replace(at: offset, found)
    }
    // What was read stays cached if an error ends the reading.
    defer { cache.withLock { $0 = $0 ?? list } }
    while true {
      let next = try list.read { $0.offset } + 1
      guard next <= Limits.placeMax, let found = try await events.read(next) else {
        try noteEnd(of: list)
        return list
      }
      try list.add(found, at: next)
    }
  }

  private func noteEnd(of list: KnownZones) throws(RemoteError) {
    // An event that cannot be read may become readable: the list is to be read again.
    let end = try list.read { $0.unreadable.isEmpty ? $0.offset : nil }
    if let end { hints?.didSeeList(of: list.remote, end: end) } else { hints?.forgetList() }
  }

  /// Checks that the last cached event still exists.
  private func checkLast(of list: KnownZones) async throws(RemoteError) {
    let last = try list.read { (offset: $0.offset, hash: $0.hash, isKnown: $0.entries.last?.event != nil) }
    guard last.isKnown else { return }
    switch try await events.read(last.offset) {
    case .event(let bytes)? where ContentHash(of: bytes.span.bytes) == last.hash: return
    // An object that is no event was damaged at rest or in transit: that says nothing about the list.
    case .unreadable(let problem, let hash)?:
      try list.replace(at: last.offset, .unreadable(problem, hash: hash))
    case .tombstone(let bytes)?: try list.replace(at: last.offset, .tombstone(bytes))
    case .event?, nil:
      // The next call reads the list as it is now, and compares its caller's token with that.
      cache.withLock { if $0 === list { $0 = nil } }
      throw listWentBack(last.offset)
    }
  }

  /// Reads the events after a token.
  func page(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    await hints?.begin()
    if let token { forgetOthers(than: token.remote) }
    let list = try await read()
    let (page, first, last) = try list.read { (list) throws(RemoteError) in
      try self.page(of: list, after: token)
    }
    if first < last {
      try await durable.wait(for: UInt64(first) + 1...UInt64(last), of: .zones) { .zoneEvent($0) }
    }
    return page
  }

  /// The page of a list after a token, and the range of its entries that the page covers.
  private func page(
    of list: borrowing ZoneList, after token: DatabaseToken?
  ) throws(RemoteError) -> (ZoneEventPage, first: Int, last: Int) {
    if let token {
      guard token.remote == list.remote else {
        throw .identityMismatch(name, token.remote, list.remote)
      }
      guard list.contains(token) else { throw listWentBack(token.offset) }
    }
    let first = Int(token?.offset ?? 0)
    // A token never passes an event that cannot be read: it may become readable.
    let end = list.unreadable.first { $0 > first }.map { Int($0) - 1 } ?? list.entries.count
    let last = min(end, first + Self.pageEventsMax)
    var page = ZoneEventPage(
      events: list.events(first..<last),
      token: first == last ? token ?? list.token(at: 0) : list.token(at: UInt64(last)), hasMore: last < end,
      startOffset: UInt64(first))
    guard !page.hasMore else { return (page, first, last) }
    page.later = list.events(end..<list.entries.count)
    for offset in list.unreadable {
      guard let problem = list.problems[offset] else { continue }
      page.problems.append(ZoneListProblem(offset: offset, failure: SyncFailure(problem)))
    }
    return (page, first, last)
  }

  /// The cached state of a log; nil if the cache does not have it.
  private func cached(_ incarnation: IncarnationID) -> ZoneList.Log? {
    cache.withLock { $0 }?.log(incarnation)
  }

  /// Whether the cache has a log as deleted.
  func isDeleted(_ incarnation: IncarnationID) -> Bool { cached(incarnation)?.fate == .deleted }

  /// What the list says about a log. It is read on only if the cache does not have the log.
  ///
  /// - Parameter offset: an offset at which the caller checks that the log exists; 0 if it does not, so that
  ///   the marker is read.
  func log(
    _ zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneList.Log {
    var log = cached(incarnation)
    if log == nil || offset == 0 { log = try await checked().log(incarnation) }
    if log == nil {
      let list = try await read()
      log = list.log(incarnation)
      // The event of its creation may be unreadable: then the entries that were shipped show that it exists.
      if log == nil, try list.read({ $0.hasGaps }), try await entries.exists(incarnation, max(offset, 1)) {
        log = ZoneList.Log(zone: zone)
      }
    }
    guard let log, log.zone == zone else { throw zoneUnknown(incarnation) }
    return log
  }

  // MARK: Writing

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
        try await durable.wait(for: 1...last, of: .zones) { .zoneEvent($0) }
        return found
      }
      if let next { try await put(next) }
    }
  }

  /// Adds an event that ends a log, unless the list has one.
  func record(_ kind: ZoneEvent.Kind, _ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)
  {
    let event = ZoneEvent(kind: kind, zone: zone, incarnation: incarnation)
    while true {
      let next = try await read().read { (list) throws(RemoteError) in
        let isOpen = list.logs[incarnation].map { $0.fate == nil } ?? list.hasGaps
        return isOpen ? try NextEvent(event, list) : nil
      }
      guard let next else { return }
      try await put(next)
    }
  }

  /// Completes a deletion whose writer crashed between the seal and the event.
  ///
  /// - Parameters:
  ///   - fate: what the seal says.
  ///   - log: what the list says about the log.
  func complete(
    _ fate: ZoneFate, _ log: ZoneList.Log, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> ZoneFate {
    guard fate == .deleted, log.fate == nil, !isReadOnly else { return fate }
    do throws(RemoteError) {
      try await record(.deleted, log.zone, incarnation)
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
      throw listWentBack(event.offset)
    }
    if try await objects.putIfAbsent(name, event.bytes) {
      hints?.didPutEvent(at: event.offset)
      return
    }
    guard try await objects.getPrefix(name, 1) != nil else { throw .unreadable(name) }
  }

  // MARK: Errors

  private func listWentBack(_ offset: UInt64) -> RemoteError {
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
        "the remote was restored from an old copy, lost its last segments, or was tampered with: replace it "
        + "with the newest copy, or run `replay remote REMOTE --repair STORE` with this store, which puts "
        + "back what nothing has replaced. If the remote is right, this store reads it again with `replay "
        + "sync STORE --remote REMOTE --reread ZONE@1`: what others wrote and the remote does not have is "
        + "then removed from the store too",
      offset: offset)
  }
}
