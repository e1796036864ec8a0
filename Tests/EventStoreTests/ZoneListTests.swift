import ChildProcesses
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Reading the remote's list of zones")
struct ZoneListTests {
  let directory = TemporaryDirectory()
  private let remote = RemoteID(rawValue: 5)
  private let x = IncarnationID(rawValue: 1)
  private let y = IncarnationID(rawValue: 2)

  private func token(_ offset: UInt64, _ remote: RemoteID? = nil) -> DatabaseToken {
    DatabaseToken(
      remote: remote ?? self.remote, offset: offset, hash: ContentHash(of: [UInt8(offset)].span.bytes))
  }

  /// A store with an attached zone that has a record.
  private func makeAttached() async throws -> LocalStore {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.attachZone(noteZone)
      try tx.create(note("r"), type: "note")
    }
    return store
  }

  private func event(_ kind: ZoneEvent.Kind, _ zone: ZoneID, _ incarnation: IncarnationID) -> ZoneEvent {
    ZoneEvent(kind: kind, zone: zone, incarnation: incarnation)
  }

  @Test("a new zone is attached if it is chosen, and offered if not; the token is in the same commit")
  func created() async throws {
    let store = try directory.store()
    let empty = try store.syncState()
    #expect(empty == StoreSyncState(identity: store.identity, databaseToken: nil, zones: []))
    let other = ZoneID(owner: "someone", name: "other")
    let report = try await store.applyZoneEvents(
      [event(.created, noteZone, x), event(.created, other, y)], token: token(2), chosen: [noteZone])
    #expect(report.created == [noteZone, other])
    let state = try store.syncState()
    #expect(
      state.zones == [
        ZoneSyncState(zone: noteZone, attachment: .attached, token: .start(of: noteZone, x), pending: 0),
        ZoneSyncState(zone: other, attachment: .offered, token: .start(of: other, y), pending: 0),
      ])
    #expect(state.databaseToken == token(2))
    let shown = try store.read { try $0.zones() }
    #expect(shown == [noteZone])
    let attachment = try store.read { try $0.attachment(of: noteZone) }
    #expect(attachment == .attached)
    // An offered zone is in no query, and cannot be written.
    let record = RecordID(zone: other, name: "r")
    let codes = [
      code { _ = try store.read { try $0.records(in: other) } },
      code { _ = try store.read { try $0.attachment(of: other) } },
      code { _ = try store.read { try $0.digest(of: other) } },
      code { _ = try store.nextCut(of: other) },
      await awaitedCode { try await store.write { try $0.create(record, type: "t") } },
      await awaitedCode { try await store.write { try $0.deleteZone(other) } },
    ]
    #expect(codes == Array(repeating: .zoneUnknown, count: codes.count))
    // It becomes the app's zone, with its number and token, and the app may attach it.
    let rows = try store.rows(\.zones).count
    let isNew = try await store.write { tx in
      let isNew = try tx.createZone(other)
      try tx.create(record, type: "t")
      return isNew
    }
    #expect(isNew)
    let after = try store.sync(other)
    #expect(
      after == ZoneSyncState(zone: other, attachment: .local, token: .start(of: other, y), pending: 1))
    let rowsAfter = try store.rows(\.zones).count
    #expect(rowsAfter == rows)
    store.close()
    let opened = try directory.store()
    let reopened = try opened.syncState()
    #expect(reopened.databaseToken == token(2))
    try await checkSound(opened)
  }

  @Test("events that were read before change nothing, and another remote's list is refused")
  func known() async throws {
    let store = try directory.store()
    let events = [event(.created, noteZone, x), event(.deleted, noteZone, x)]
    let first = try await store.applyZoneEvents([events[0]], token: token(1), chosen: nil)
    #expect(first.created == [noteZone])
    let state = try store.syncState()
    for offset in [0, 1] as [UInt64] {
      let report = try await store.applyZoneEvents([events[1]], token: token(offset), chosen: nil)
      #expect(report == ZoneListReport())
    }
    let foreign = token(9, RemoteID(rawValue: 6))
    let refused = await awaitedCode {
      _ = try await store.applyZoneEvents([events[1]], token: foreign, chosen: nil)
    }
    #expect(refused == .remoteChanged)
    let same = try store.syncState()
    #expect(same == state)
    let long = ZoneID(name: Name(String(repeating: "n", count: 129)))
    let invalid = await awaitedCode {
      _ = try await store.applyZoneEvents(
        [events[1], event(.created, long, y)], token: token(3), chosen: nil)
    }
    #expect(invalid == .nameInvalid)
    let still = try store.syncState()
    #expect(still == state)
    let kinds = [ZoneEvent.Kind.purged, .reset, ZoneEvent.Kind(rawValue: 77)]
    let passed = try await store.applyZoneEvents(
      kinds.map { event($0, noteZone, x) }, token: token(4), chosen: nil)
    #expect(passed == ZoneListReport())
    let zone = try store.sync()
    #expect(zone == state.zones[0])
    let last = try store.syncState().databaseToken
    #expect(last == token(4))
  }

  @Test(
    "a zone that is purged or reset in the page that makes it is not made; one that is here stays",
    arguments: [ZoneEvent.Kind.purged, .reset])
  func purged(end: ZoneEvent.Kind) async throws {
    let store = try directory.store()
    let other = ZoneID(name: "other")
    _ = try await store.applyZoneEvents([event(.created, noteZone, x)], token: token(1), chosen: nil)
    let events = [event(.created, other, y), event(end, other, y), event(end, noteZone, x)]
    let report = try await store.applyZoneEvents(events, token: token(4), chosen: nil)
    #expect(report == ZoneListReport())
    let zones = try store.read { try $0.zones() }
    #expect(zones == [noteZone])
    let again = [event(.reopened, other, y), event(.reopened, noteZone, x)]
    let made = try await store.applyZoneEvents(again, token: token(6), chosen: nil)
    #expect(made.created == [other] && made.removed.isEmpty)
  }

  @Test("an existing zone gets the incarnation, unless it has data in another one")
  func tying() async throws {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("r"), type: "note")
    }
    _ = try await store.applyZoneEvents([event(.created, noteZone, x)], token: token(1), chosen: [])
    var found = try store.sync()
    #expect(
      found == ZoneSyncState(zone: noteZone, attachment: .local, token: .start(of: noteZone, x), pending: 1))
    _ = try await store.applyZoneEvents([event(.created, noteZone, y)], token: token(2), chosen: nil)
    found = try store.sync()
    #expect(found?.token == .start(of: noteZone, y) && found?.attachment == .local)
    try await store.write { try $0.attachZone(noteZone) }
    var shared = TestRemote(incarnation: y)
    let acknowledgement = try #require(try await shared.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    // Now it has y, also after its token is reset to the start.
    try await store.forgetTokens()
    let report = try await store.applyZoneEvents(
      [event(.created, noteZone, x), event(.created, noteZone, y)], token: token(4), chosen: nil)
    #expect(report == ZoneListReport())
    found = try store.sync()
    #expect(
      found
        == ZoneSyncState(zone: noteZone, attachment: .attached, token: .start(of: noteZone, y), pending: 0))
    try await checkSound(store)
  }

  @Test(
    "a revoked zone is removed unless it has unsent transactions, and comes back when it is granted again")
  func revoked() async throws {
    let store = try directory.store()
    let zones = ["read", "pending", "granted", "refused"].map { ZoneID(name: Name($0)) }
    let logs = (1...4).map { IncarnationID(rawValue: 100 + UInt128($0)) }
    let created = zip(zones, logs).map { event(.created, $0, $1) }
    let revoked = zip(zones, logs).map { event(.revoked, $0, $1) }
    _ = try await store.applyZoneEvents(Array(created.dropLast()), token: token(3), chosen: nil)
    try await store.write { try $0.create(RecordID(zone: zones[1], name: "r"), type: "t") }
    // One that was granted again keeps its copy; one that was granted and revoked is not made.
    let events = [revoked[0], revoked[1], revoked[2], created[2], created[3], revoked[3]]
    let report = try await store.applyZoneEvents(events, after: 3, token: token(9), chosen: nil)
    #expect(report.removed == [zones[0]] && report.kept == [zones[1]] && report.created == [])
    let here = try store.syncState().zones.map(\.zone)
    #expect(here == [zones[2], zones[1]])
    // A round that finds the closed log first.
    let isRemoved = try await store.withdraw(zones[2], logs[2], isRevoked: true)
    let isKept = try await store.withdraw(zones[1], logs[1], isRevoked: true)
    #expect(isRemoved && !isKept)
    for log in logs { #expect(try !store.isGone(log)) }
    _ = try await store.reclaim()
    let again = try await store.applyZoneEvents(created, after: 9, token: token(13), chosen: nil)
    #expect(again.created == [zones[0], zones[2], zones[3]])
    let attached = try store.syncState().zones
    #expect(attached.allSatisfy { $0.attachment == .attached } && attached.count == 4)
    try await checkSound(store)
  }

  @Test(
    "a zone of another owner that is deleted here while it is revoked comes back when it is granted again")
  func deletedWhileRevoked() async throws {
    let store = try directory.store()
    let shared = ZoneID(owner: "alice", name: "shared")
    _ = try await store.applyZoneEvents([event(.created, shared, x)], token: token(1), chosen: nil)
    try await store.write { try $0.create(RecordID(zone: shared, name: "r"), type: "t") }
    let revoked = try await store.applyZoneEvents(
      [event(.revoked, shared, x)], after: 1, token: token(2), chosen: nil)
    #expect(revoked.kept == [shared])
    try await store.write { try $0.deleteZone(shared) }
    // The remote does not know it for this account.
    try await store.finishDeletion(of: shared, x, remoteHasDeleted: false)
    #expect(try store.syncState().zones.isEmpty)
    _ = try await store.reclaim()
    #expect(try !store.isGone(x))
    // The list is read from its start.
    let events = [event(.created, shared, x), event(.revoked, shared, x), event(.created, shared, x)]
    let granted = try await store.applyZoneEvents(events, token: token(3), chosen: nil)
    #expect(granted.created == [shared])
    let found = try #require(try store.syncState().zones.first)
    #expect(found.attachment == .attached && found.token == .start(of: shared, x))
    try await checkSound(store)
  }

  /// A store whose app has deleted a zone of another owner that the remote in place did not know.
  private func makeUntold(_ shared: ZoneID) async throws -> LocalStore {
    let store = try directory.store()
    _ = try await store.applyZoneEvents([event(.created, shared, x)], token: token(1), chosen: nil)
    try await store.write { try $0.create(RecordID(zone: shared, name: "old"), type: "t") }
    try await store.write { try $0.deleteZone(shared) }
    try await store.finishDeletion(of: shared, x, remoteHasDeleted: false)
    _ = try await store.reclaim()
    return store
  }

  @Test("a zone of another owner that another remote in the place did not know is deleted at its own remote")
  func untoldDeletionOfOthers() async throws {
    let shared = ZoneID(owner: "alice", name: "shared")
    let store = try await makeUntold(shared)
    // A zone with its name that was created since has other transactions under the same sequences.
    let new = RecordID(zone: shared, name: "new")
    try await store.write { tx in
      try tx.createZone(shared)
      try tx.attachZone(shared)
      try tx.create(new, type: "t")
    }
    let events = [event(.created, shared, x)]
    _ = try await store.applyZoneEvents(events, token: token(1), chosen: nil)
    let found = try store.syncState().zones
    #expect(found.map(\.attachment) == [.attached, .deleting])
    #expect(found.map(\.token) == [nil, .start(of: shared, x)])
    #expect(try store.read { try $0.contains(new) })
    try await checkSound(store)
  }

  @Test("a zone of another owner comes back that was deleted here, and revoked before the list told")
  func revokedBeforeTheListTold() async throws {
    let shared = ZoneID(owner: "alice", name: "shared")
    let store = try await makeUntold(shared)
    let (created, revoked) = (event(.created, shared, x), event(.revoked, shared, x))
    _ = try await store.applyZoneEvents([created, revoked], token: token(2), chosen: nil)
    #expect(try store.syncState().zones.isEmpty)
    #expect(try !store.isGone(x))
    let granted = try await store.applyZoneEvents([created], after: 2, token: token(3), chosen: nil)
    #expect(granted.created == [shared])
    // The app deletes it again. What the list said before does not say why the remote does not know it.
    try await store.write { try $0.deleteZone(shared) }
    try await store.finishDeletion(of: shared, x, remoteHasDeleted: false)
    _ = try await store.applyZoneEvents([created, revoked, created], token: token(3), chosen: nil)
    #expect(try store.syncState().zones.map(\.attachment) == [.deleting])
    try await checkSound(store)
  }

  @Test("a deleted zone is deleted here, unless it is only the app's, or has unsent transactions")
  func deleted() async throws {
    let store = try directory.store()
    let zones = ["offered", "attached", "pending", "local", "foreign"].map { ZoneID(name: Name($0)) }
    try await store.makeZone(zones[3])
    _ = try await store.applyZoneEvents(
      zones.map { event(.created, $0, x) }, token: token(1), chosen: [zones[1], zones[2], zones[4]])
    try await store.write { try $0.create(RecordID(zone: zones[2], name: "r"), type: "t") }
    let state = try store.syncState()
    let others = try await store.applyZoneEvents(
      zones.map { event(.deleted, $0, y) }, token: token(2), chosen: nil)
    #expect(others == ZoneListReport())
    let same = try store.syncState().zones
    #expect(same == state.zones)
    let report = try await store.applyZoneEvents(
      zones.dropLast().map { event(.deleted, $0, x) }, token: token(3), chosen: nil)
    #expect(report.removed == [zones[0], zones[1]])
    #expect(report.kept == [zones[2]])
    let left = try store.syncState().zones
    #expect(
      left == [
        ZoneSyncState(zone: zones[4], attachment: .attached, token: .start(of: zones[4], x), pending: 0),
        ZoneSyncState(zone: zones[3], attachment: .local, token: nil, pending: 0),
        ZoneSyncState(zone: zones[2], attachment: .attached, token: .start(of: zones[2], x), pending: 1),
      ])
    try await checkSound(store)
    _ = try await store.reclaim()
    try await checkSound(store)
    // A round of replication may meet it first.
    let withdrawn = [
      try await store.withdraw(zones[4], y), try await store.withdraw(zones[4], x),
      try await store.withdraw(zones[4], x), try await store.withdraw(zones[2], x),
      try await store.withdraw(zones[3], x),
    ]
    #expect(withdrawn == [false, true, false, false, false])
    let shown = try store.read { try $0.zones() }
    #expect(shown == [zones[3], zones[2]])
  }

  @Test("the events of a zone that was created and deleted here restore nothing")
  func lateEvents() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone, x)
    try await store.write { try $0.deleteZone(noteZone) }
    let report = try await store.applyZoneEvents(
      [event(.created, noteZone, x)], token: token(1), chosen: nil)
    #expect(report == ZoneListReport())
    let found = try store.syncState().zones
    #expect(found.map(\.attachment) == [.deleting])
    try await store.finishDeletion(of: noteZone, x)
    let again = try await store.applyZoneEvents(
      [event(.created, noteZone, x), event(.deleted, noteZone, x), event(.created, noteZone, y)],
      token: token(4), chosen: nil)
    #expect(again.created == [noteZone] && again.removed == [])
    let zone = try store.sync()
    #expect(zone?.token == .start(of: noteZone, y))
    try await checkSound(store)
  }

  @Test(
    "a deletion that the remote could not learn of begins again when the list has its log, and only once")
  func untoldDeletion() async throws {
    let store = try directory.store()
    let events = [event(.created, noteZone, x)]
    try await store.makeAttachedZone(noteZone, x)
    try await store.write { try $0.deleteZone(noteZone) }
    try await store.finishDeletion(of: noteZone, x, remoteHasDeleted: false)
    _ = try await store.reclaim()
    try await checkSound(store)
    // A zone with its name that was created since keeps its own incarnation.
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.attachZone(noteZone)
      try tx.create(note("new"), type: "note")
    }
    let report = try await store.applyZoneEvents(events, token: token(1), chosen: nil)
    #expect(report == ZoneListReport())
    let found = try store.syncState().zones
    #expect(found.map(\.attachment) == [.attached, .deleting])
    #expect(found.map(\.token) == [nil, .start(of: noteZone, x)])
    #expect(try store.read { try $0.contains(note("new")) })
    try await checkSound(store)
    try await store.finishDeletion(of: noteZone, x)
    _ = try await store.applyZoneEvents(events, token: token(1), chosen: nil)
    let left = try store.syncState().zones
    #expect(left.map(\.attachment) == [.attached])
    _ = try await store.reclaim()
    try await checkSound(store)
  }

  @Test("a deletion that the remote could not learn of does not begin again if the list already has it")
  func deletionInList() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone, x)
    try await store.write { try $0.deleteZone(noteZone) }
    try await store.finishDeletion(of: noteZone, x, remoteHasDeleted: false)
    let events = [event(.created, noteZone, x), event(.deleted, noteZone, x)]
    _ = try await store.applyZoneEvents(events, token: token(2), chosen: nil)
    #expect(try store.syncState().zones.isEmpty)
    try await checkSound(store)
  }

  @Test("the place in the list of zones is forgotten only if no zone is synced")
  func forgottenPlace() async throws {
    let store = try directory.store()
    let other = ZoneID(name: "other")
    _ = try await store.applyZoneEvents([event(.created, other, y)], token: token(3), chosen: [])
    try await store.makeAttachedZone(noteZone, x)
    try await store.forgetPlaceInZoneList()
    #expect(try store.syncState().databaseToken == token(3))
    try await store.write { try $0.deleteZone(noteZone) }
    try await store.forgetPlaceInZoneList()
    let place = try store.syncState().databaseToken
    #expect(place?.offset == 0 && place?.remote == remote)
  }

  @Test("adopting an incarnation works only for a synced or offered zone")
  func adopting() async throws {
    let store = try directory.store()
    let offered = ZoneID(name: "offered")
    _ = try await store.applyZoneEvents([event(.created, offered, x)], token: token(1), chosen: [])
    try await store.adopt(offered, y)
    let taken = try store.sync(offered)
    #expect(
      taken == ZoneSyncState(zone: offered, attachment: .attached, token: .start(of: offered, y), pending: 0))
    try await store.makeZone()
    let local = await awaitedCode { try await store.adopt(noteZone, x) }
    #expect(local == .zoneUnknown)
    let absent = await awaitedCode { try await store.adopt(ZoneID(name: "absent"), x) }
    #expect(absent == .zoneUnknown)
    try await store.write { tx in
      try tx.attachZone(noteZone)
      try tx.attachZone(noteZone)
      try tx.create(note("r"), type: "note")
    }
    let untied = try store.sync()
    #expect(untied == ZoneSyncState(zone: noteZone, attachment: .attached, token: nil, pending: 1))
    let nothing = try store.nextCut(of: noteZone)
    #expect(nothing == nil)
    try await store.adopt(noteZone, x)
    try await store.adopt(noteZone, y)
    try await store.adopt(noteZone, y)
    var remote = TestRemote(incarnation: y)
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    let changed = await awaitedCode { try await store.adopt(noteZone, x) }
    #expect(changed == .incarnationChanged)
    try await store.adopt(noteZone, y)
    let zone = try store.sync()
    #expect(zone?.token?.offset == 1 && zone?.pending == 0)
  }

  @Test("two processes that read one page at the same time change as much as one", .timeLimit(.minutes(20)))
  func twoProcesses() async throws {
    let store = try directory.store()
    let path = directory.path + "/store"
    let children = (0..<3).map { _ in ChildProcess("applyPage", path) }
    var created = 0
    for child in children {
      let lines = child.lines()
      let end = child.wait()
      #expect(end == .exit(0), "\(lines)")
      if lines == ["40 created"] { created += 1 } else { #expect(lines == ["0 created"]) }
    }
    #expect(created == 1)
    let zones = try store.syncState().zones
    #expect(zones.count == 40)
    let token = try store.syncState().databaseToken
    #expect(token?.offset == 60)
    try await checkSound(store)
  }

  @Test("a late answer for a deleted zone does not give a new zone the old log")
  func staleAnswer() async throws {
    let store = try await makeAttached()
    try await store.adopt(noteZone, x)
    try await store.write { try $0.deleteZone(noteZone) }
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.attachZone(noteZone)
      try tx.create(note("other"), type: "note")
    }
    // Two replicators asked the remote for the first one; this is the second answer.
    let stale = await awaitedCode { try await store.adopt(noteZone, x) }
    #expect(stale == .incarnationChanged)
    try await store.adopt(noteZone, y)
  }

  @Test(
    "a page of the list that arrives after a zone's deletion is complete restores nothing"
  )
  func stalePage() async throws {
    let store = try await makeAttached()
    let events = [event(.created, noteZone, x)]
    _ = try await store.applyZoneEvents(events, token: token(1), chosen: nil)
    try await store.write { try $0.deleteZone(noteZone) }
    try await store.finishDeletion(of: noteZone, x)
    _ = try await store.reclaim()
    // Another replicator read it before, from the start, from where the list must be read again.
    let report = try await store.applyZoneEvents(events, token: token(1), chosen: nil)
    #expect(report == ZoneListReport())
    let zones = try store.read { try $0.zones() }
    #expect(zones == [])
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.attachZone(noteZone)
    }
    let stale = await awaitedCode { try await store.adopt(noteZone, x) }
    #expect(stale == .incarnationChanged)
    try await store.adopt(noteZone, y)
    let problems = try store.verify().problems
    #expect(problems == [])
  }

  @Test(
    "one that was deleted here while it was created at the remote returns empty, and nobody's work is lost"
  )
  func deletedWhileMade() async throws {
    let store = try await makeAttached()
    try await store.write { try $0.deleteZone(noteZone) }
    // The remote's answer to the creation. Nobody knows whether another store had created the zone first.
    let adopted = await awaitedCode { try await store.adopt(noteZone, x) }
    #expect(adopted == .zoneUnknown)
    let state = try store.syncState().zones
    #expect(state == [])
    let report = try await store.applyZoneEvents([event(.created, noteZone, x)], token: token(1), chosen: nil)
    #expect(report.created == [noteZone])
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == [])
    let pending = try store.sync()?.pending
    #expect(pending == 0)
    try await checkSound(store)
  }

  @Test(
    "a late segment of a deleted log is not folded into a new zone with its name",
    arguments: [true, false])
  func staleSegment(isToldByTheList: Bool) async throws {
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone, x)
    var log = TestRemote(incarnation: x)
    let late = try log.append([transaction(0xB, 1, [create("theirs")])])
    // Another replicator fetched it just before the log was deleted.
    if isToldByTheList {
      _ = try await store.applyZoneEvents(
        [event(.created, noteZone, x), event(.deleted, noteZone, x)], token: token(2), chosen: nil)
    } else {
      let isRemoved = try await store.withdraw(noteZone, x)
      #expect(isRemoved)
    }
    _ = try await store.reclaim()
    try await store.makeZone()
    let stale = await awaitedCode { _ = try await store.ingest([late]) }
    #expect(stale == .incarnationChanged)
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == [])
    let sync = try store.sync()
    #expect(sync?.token == nil)
    let problems = try store.verify().problems
    #expect(problems == [])
  }

  @Test("a page requested before the list is reset to its start is skipped")
  func readAgain() async throws {
    let store = try directory.store()
    let other = ZoneID(name: "other")
    let events = [event(.created, noteZone, x), event(.created, other, y)]
    try await store.makeZone()
    _ = try await store.applyZoneEvents([events[0]], token: token(1), chosen: nil)
    // While the next page is fetched, the app deletes its own zone, which had kept the remote's from
    // appearing.
    try await store.write { try $0.deleteZone(noteZone) }
    let late = try await store.applyZoneEvents([events[1]], after: 1, token: token(2), chosen: nil)
    #expect(late == ZoneListReport())
    let start = try store.syncState().databaseToken?.offset
    #expect(start == 0)
    let report = try await store.applyZoneEvents(events, token: token(2), chosen: nil)
    #expect(report.created == [noteZone, other])
    let end = try store.syncState().databaseToken
    #expect(end == token(2))
    try await checkSound(store)
  }
}
