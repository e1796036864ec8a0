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
/// The list of zones is kept in memory as far as it was read. Each call that relies on its end reads on, after it has
/// checked that the last event known is there still.
package final class ObjectRemote: RemoteLog {
  /// The most events of the list of zones in one page.
  private static let pageEventsMax = 4096

  let objects: any ObjectStore
  /// The remote's own clock, where it has one.
  let receivedMilliseconds: (@Sendable () -> UInt64)?
  /// Whether it must not even finish what another left half done.
  let isReadOnly: Bool
  private let zones = Mutex<ZoneList?>(nil)
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
    if let token {
      guard token.remote == list.remote else { throw .identityMismatch(name, token.remote, list.remote) }
      guard list.contains(token) else { throw listWentBack(token.offset) }
    }
    let first = Int(token?.offset ?? 0)
    // A token never passes an event that cannot be read: it may be read once.
    let unreadable = list.unreadable()
    let end = unreadable.first { $0 > first }.map { Int($0) - 1 } ?? list.entries.count
    let last = min(end, first + Self.pageEventsMax)
    if first < last {
      try await makeLasting(UInt64(first) + 1...UInt64(last), of: .zones) { .zoneEvent($0) }
    }
    var page = ZoneEventPage(
      events: list.events(first..<last),
      token: first == last ? token ?? list.token(at: 0) : list.token(at: UInt64(last)), hasMore: last < end,
      startOffset: UInt64(first))
    guard !page.hasMore else { return page }
    page.later = list.events(end..<list.entries.count)
    page.problems = unreadable.compactMap { offset in
      list.entries[Int(offset) - 1].problem.map { ZoneListProblem(offset: offset, failure: SyncFailure($0)) }
    }
    return page
  }

  package func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    while true {
      let list = try await readZones()
      if let incarnation = try list.incarnation(of: zone, proposing: proposed) {
        try await makeLasting(1...list.offset, of: .zones) { .zoneEvent($0) }
        return incarnation
      }
      try await put(ZoneEvent(kind: .created, zone: zone, incarnation: proposed), after: list)
      #if PLANTED_BUGS
        if PlantedBug.ownIncarnationAssumed.isPlanted { return proposed }
      #endif
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
    zones.withLock { $0?.logs[incarnation]?.fate == .deleted }
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
    #if PLANTED_BUGS
      if PlantedBug.wrongRemoteRemembered.isPlanted { return }
    #endif
    zones.withLock { if $0?.remote != remote { $0 = nil } }
  }

  /// What is known of the list of zones, after a check that the remote is the one that it was.
  func knownZones() async throws(RemoteError) -> ZoneList {
    let remote = try await readIdentity()
    guard let known = zones.withLock({ $0 }) else { return ZoneList(of: remote) }
    guard known.remote == remote else { throw .identityMismatch(name, known.remote, remote) }
    return known
  }

  /// Reads the list of zones to its end.
  func readZones() async throws(RemoteError) -> ZoneList {
    var list = try await knownZones()
    if list.offset > 0, list.entries[Int(list.offset) - 1].event != nil {
      let name = ObjectName.zoneEvent(list.offset)
      switch try await readEvent(list.offset) {
      case .event(let bytes)? where ContentHash(of: bytes.span.bytes) == list.hash: break
      // What is no event at all was damaged where it lies or on its way: that says nothing of the list.
      case .unreadable(let problem, let hash)?:
        #if PLANTED_BUGS
          if PlantedBug.damagedEventIsOther.isPlanted { throw listWentBack(list.offset) }
        #endif
        try list.replace(at: list.offset, .unreadable(problem, hash: hash), name)
      case .tombstone(let bytes)?: try list.replace(at: list.offset, .tombstone(bytes), name)
      case .event?, nil:
        // The next call sees the list as it is now, and its caller's token tells what that means.
        zones.withLock { $0 = nil }
        throw listWentBack(list.offset)
      }
    }
    for offset in list.unreadable() {
      guard let found = try await readEvent(offset) else { continue }
      if case .unreadable = found { continue }
      try list.replace(at: offset, found, .zoneEvent(offset))
    }
    // What was read stays known if an error ends it.
    defer { keep(list) }
    while list.offset < Limits.placeMax, let found = try await readEvent(list.offset + 1) {
      try list.add(found, .zoneEvent(list.offset + 1))
    }
    return list
  }

  /// Puts an event at the end of the list, unless another has put one there meanwhile.
  private func put(_ event: ZoneEvent, after list: ZoneList) async throws(RemoteError) {
    let name = ObjectName.zoneEvent(list.offset + 1)
    let bytes = try list.encodeNext(event)
    if try await objects.getPrefix(.zoneEvent(list.offset + 2), 1) != nil,
      try await objects.getPrefix(name, 1) == nil
    {
      throw listWentBack(list.offset + 1)
    }
    if try await objects.putIfAbsent(name, bytes) { return }
    guard try await objects.getPrefix(name, 1) != nil else { throw .unreadable(name) }
  }

  /// Adds an event that ends a log, unless one is there.
  func record(_ kind: ZoneEvent.Kind, _ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)
  {
    while true {
      let list = try await readZones()
      guard list.logs[incarnation].map({ $0.fate == nil }) ?? list.hasGaps else { return }
      try await put(ZoneEvent(kind: kind, zone: zone, incarnation: incarnation), after: list)
    }
  }

  /// What the list says of a log. It is read on only if it does not know the log yet.
  ///
  /// - Parameter offset: where the caller looks whether the log is there; 0 if it does not, so the marker is read.
  func log(
    _ zone: ZoneID, _ incarnation: IncarnationID, checkedAt offset: UInt64
  ) async throws(RemoteError) -> ZoneList.Log {
    var log = zones.withLock { $0?.logs[incarnation] }
    if log == nil || offset == 0 { log = try await knownZones().logs[incarnation] }
    if log == nil {
      let list = try await readZones()
      log = list.logs[incarnation]
      // Its event may be one that nobody can read: then what was shipped there says that it is a log.
      if log == nil, list.hasGaps, try await exists(incarnation, max(offset, 1)) {
        log = ZoneList.Log(zone: zone)
      }
    }
    guard let log, log.zone == zone else { throw zoneUnknown(incarnation) }
    return log
  }

  /// Remembers a list that was read further than the known one.
  private func keep(_ list: ZoneList) {
    zones.withLock { known in
      if known.map({ $0.remote == list.remote && ($0.offset < list.offset || list.isNewer(than: $0)) })
        ?? true
      {
        known = list
      }
    }
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
      hint: "it was restored from an old copy, or tampered with: put the newest copy in its place. Where the "
        + "remote is right, `replay sync --reread ZONE` lets this store read it again, for each zone")
  }

  private func zoneUnknown(_ incarnation: IncarnationID) -> RemoteError {
    RemoteError(
      .zoneUnknown, "\(name) has no log of the zone of the incarnation \(incarnation)",
      hint: "read the list of zones; make the zone if it is not there")
  }
}
