internal import OperationFormat
internal import Synchronization

/// A remote log over objects that are put once: the one algorithm of the folder, the memory and later the S3 remote.
///
/// What lies where is said at ``ObjectName``. A log's next offset is found by asking for names, one after the other,
/// never by listing: a list may be late, and a name that is there is there.
///
/// Nothing is read from, or put into, a place that is no longer the remote it was. Each call looks first for something
/// that no other remote has: the marker; or, where its caller knows an offset of a log, what lies there, since an
/// incarnation is random and never used twice. What is missing there sends it to the marker, which says why.
///
/// The list of zones is kept in memory as far as it was read, once for all calls. Each call that relies on its end reads on,
/// after it has checked that the last event known is there still.
package final class ObjectRemote: RemoteLog {
  /// The most events of the list of zones in one page.
  private static let pageEventsMax = 4096

  let objects: any ObjectStore
  /// The remote's own clock, where it has one.
  let receivedMilliseconds: (@Sendable () -> UInt64)?
  /// Whether it must not even finish what another left half done.
  let isReadOnly: Bool
  private let zones = Mutex<KnownZones?>(nil)
  /// The last entry of each log, and of the list of zones, that is known to last.
  private let lasting = Mutex<[ObjectName: UInt64]>([:])

  package init(
    _ objects: any ObjectStore, counter: RemoteCallCounter? = nil, isReadOnly: Bool = false,
    receivedMilliseconds: (@Sendable () -> UInt64)? = nil
  ) {
    self.objects = counter.map { CountingObjects(objects: objects, counter: $0) } ?? objects
    self.isReadOnly = isReadOnly
    self.receivedMilliseconds = receivedMilliseconds
  }

  package var name: String { objects.name }

  package func changes() -> AsyncStream<Void> { objects.changes() }

  package func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    if let token { forgetOthers(than: token.remote) }
    let list = try await readZones()
    let (page, first, last) = try list.read { (list) throws(RemoteError) in
      try self.page(of: list, after: token)
    }
    if first < last {
      try await makeLasting(UInt64(first) + 1...UInt64(last), of: .zones) { .zoneEvent($0) }
    }
    return page
  }

  /// The page of a list after a token, and the events of the list that it takes in.
  private func page(
    of list: borrowing ZoneList, after token: DatabaseToken?
  ) throws(RemoteError) -> (ZoneEventPage, first: Int, last: Int) {
    if let token {
      guard token.remote == list.remote else { throw .identityMismatch(name, token.remote, list.remote) }
      guard list.contains(token) else { throw listWentBack(token.offset) }
    }
    let first = Int(token?.offset ?? 0)
    // A token never passes an event that cannot be read: it may be read once.
    let end = list.unreadable.first { $0 > first }.map { Int($0) - 1 } ?? list.entries.count
    let last = min(end, first + Self.pageEventsMax)
    var page = ZoneEventPage(
      events: list.events(first..<last),
      token: first == last ? token ?? list.token(at: 0) : list.token(at: UInt64(last)), hasMore: last < end,
      startOffset: UInt64(first))
    guard !page.hasMore else { return (page, first, last) }
    page.later = list.events(end..<list.entries.count)
    for offset in list.unreadable {
      guard let problem = list.entries[Int(offset) - 1].problem else { continue }
      page.problems.append(ZoneListProblem(offset: offset, failure: SyncFailure(problem)))
    }
    return (page, first, last)
  }

  package func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    while true {
      let list = try await readZones()
      let event = ZoneEvent(kind: .created, zone: zone, incarnation: proposed)
      let (found, last, next) = try list.read { (list) throws(RemoteError) in
        let found = try list.incarnation(of: zone, proposing: proposed)
        return (found, list.offset, found == nil ? try NextEvent(event, list) : nil)
      }
      if let found {
        try await makeLasting(1...last, of: .zones) { .zoneEvent($0) }
        return found
      }
      if let next { try await put(next) }
    }
  }

  /// The log's segments stay where they are: whoever reads behind reads them to the end. Its assets are nobody's any more:
  /// where they lie decides what becomes of them.
  package func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    _ = try await readZones()
    if try await log(zone, incarnation, checkedAt: 0).fate != nil { return }
    guard try await seal(incarnation, zone) == .deleted else { return }
    try await record(.deleted, zone, incarnation)
  }

  /// Whether a log was deleted, by what is known of the list of zones.
  func isDeleted(_ incarnation: IncarnationID) -> Bool {
    known(incarnation)?.fate == .deleted
  }

  // MARK: The list of zones

  /// Reads which remote it is.
  func readIdentity() async throws(RemoteError) -> RemoteID {
    guard let marker = try await objects.getPrefix(.marker, RemoteMarker.byteCount + 1) else {
      throw .notARemote(name)
    }
    return try RemoteMarker.read(marker.bytes, of: name).remote
  }

  /// Forgets the list of another remote: a wrong disk may have been in the place when it was read, and the caller knows
  /// which is right.
  private func forgetOthers(than remote: RemoteID) {
    zones.withLock { if $0?.remote != remote { $0 = nil } }
  }

  /// What is known of the list of zones, after a check that the remote is the one that it was.
  @discardableResult
  func knownZones() async throws(RemoteError) -> KnownZones {
    let remote = try await readIdentity()
    // Which remote it is counts once something of it was read: another may have been in the place.
    guard let known = zones.withLock({ $0 }) else { return KnownZones(of: remote) }
    guard known.remote == remote else { throw .identityMismatch(name, known.remote, remote) }
    return known
  }

  /// Reads the list of zones to its end.
  func readZones() async throws(RemoteError) -> KnownZones {
    let list = try await knownZones()
    try await checkLast(of: list)
    for offset in try list.read({ $0.unreadable }) {
      guard let found = try await readEvent(offset) else { continue }
      if case .unreadable = found { continue }
      try list.replace(at: offset, found)
    }
    // What was read stays known if an error ends it.
    defer { zones.withLock { $0 = $0 ?? list } }
    while true {
      let next = try list.read { $0.offset } + 1
      guard next <= Limits.placeMax, let found = try await readEvent(next) else { return list }
      try list.add(found, at: next)
    }
  }

  /// Checks that the last event that is known is there still.
  private func checkLast(of list: KnownZones) async throws(RemoteError) {
    let last = try list.read { (offset: $0.offset, hash: $0.hash, isKnown: $0.entries.last?.event != nil) }
    guard last.isKnown else { return }
    switch try await readEvent(last.offset) {
    case .event(let bytes)? where ContentHash(of: bytes.span.bytes) == last.hash: return
    // What is no event at all was damaged where it lies or on its way: that says nothing of the list.
    case .unreadable(let problem, let hash)?:
      try list.replace(at: last.offset, .unreadable(problem, hash: hash))
    case .tombstone(let bytes)?: try list.replace(at: last.offset, .tombstone(bytes))
    case .event?, nil:
      // The next call sees the list as it is now, and its caller's token tells what that means.
      zones.withLock { if $0 === list { $0 = nil } }
      throw listWentBack(last.offset)
    }
  }

  /// An event for the place behind the last.
  private struct NextEvent: Sendable {
    let offset: UInt64
    let bytes: [UInt8]

    init(_ event: ZoneEvent, _ list: borrowing ZoneList) throws(RemoteError) {
      offset = list.offset + 1
      bytes = try list.encodeNext(event)
    }
  }

  /// Puts an event at the end of the list, unless another has put one there meanwhile.
  private func put(_ event: NextEvent) async throws(RemoteError) {
    let name = ObjectName.zoneEvent(event.offset)
    if try await objects.getPrefix(.zoneEvent(event.offset + 1), 1) != nil,
      try await objects.getPrefix(name, 1) == nil
    {
      throw listWentBack(event.offset)
    }
    if try await objects.putIfAbsent(name, event.bytes) { return }
    guard try await objects.getPrefix(name, 1) != nil else { throw .unreadable(name) }
  }

  /// Adds an event that ends a log, unless one is there.
  func record(_ kind: ZoneEvent.Kind, _ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)
  {
    let event = ZoneEvent(kind: kind, zone: zone, incarnation: incarnation)
    while true {
      let next = try await readZones().read { (list) throws(RemoteError) in
        let isOpen = list.logs[incarnation].map { $0.fate == nil } ?? list.hasGaps
        return isOpen ? try NextEvent(event, list) : nil
      }
      guard let next else { return }
      try await put(next)
    }
  }

  /// What is known of a log without a look.
  private func known(_ incarnation: IncarnationID) -> ZoneList.Log? {
    zones.withLock { $0 }?.log(incarnation)
  }

  /// What the list says of a log. It is read on only if it does not know the log yet.
  ///
  /// - Parameter offset: where the caller looks whether the log is there; 0 if it does not, so the marker is read.
  func log(
    _ zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneList.Log {
    var log = known(incarnation)
    if log == nil || offset == 0 { log = try await knownZones().log(incarnation) }
    if log == nil {
      let list = try await readZones()
      log = list.log(incarnation)
      // Its event may be one that nobody can read: then what was shipped there says that it is a log.
      if log == nil, try list.read({ $0.hasGaps }), try await exists(incarnation, max(offset, 1)) {
        log = ZoneList.Log(zone: zone)
      }
    }
    guard let log, log.zone == zone else { throw zoneUnknown(incarnation) }
    return log
  }

  /// Waits until entries last that were read, once for each: whoever put them may not have lived to make them last. A
  /// token must not name an entry that a power cut can take away, since another may come in its place.
  ///
  /// - Parameters:
  ///   - offsets: the entries.
  ///   - log: what they are entries of.
  ///   - name: where an entry lies.
  /// - Complexity: a call for each directory that has new ones
  func makeLasting(
    _ offsets: ClosedRange<UInt64>, of log: ObjectName, _ name: (UInt64) -> ObjectName
  ) async throws(RemoteError) {
    let known = lasting.withLock { $0[log] ?? 0 }
    var first = max(offsets.lowerBound, known + 1)
    while first <= offsets.upperBound {
      let last = min(offsets.upperBound, ObjectName.lastOffset(besides: first))
      try await objects.makeLasting(name(last))
      first = last + 1
    }
    lasting.withLock { $0[log] = max($0[log] ?? 0, offsets.upperBound) }
  }

  // MARK: Errors

  private func listWentBack(_ offset: UInt64) -> RemoteError {
    RemoteError(
      .wentBack, "the list of zones of \(name) does not have its event \(offset) any more, or has another",
      hint:
        "it was restored from an old copy, lost its last events, or was tampered with: put the newest copy in its "
        + "place, or run `replay remote REMOTE --repair STORE` with this store, which puts back the events of its zones. Where "
        + "the remote is right, `replay sync STORE --remote REMOTE --reread ZONE@1` lets this store read it again, for each "
        + "zone that it has synced: what others wrote and the remote does not have goes from the store too"
    )
  }

  private func zoneUnknown(_ incarnation: IncarnationID) -> RemoteError {
    RemoteError(
      .zoneUnknown, "\(name) has no log of the zone of the incarnation \(incarnation)",
      hint:
        "it lost the zone, or went back to before the zone was made: `replay remote REMOTE --repair STORE` "
        + "with a store that has the zone puts it back, with all that the store has of it")
  }
}
