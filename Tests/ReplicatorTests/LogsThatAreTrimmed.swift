import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Logs of which the old part was removed")
struct LogsThatAreTrimmed {
  private let scratch = TemporaryDirectory()
  private let day: UInt64 = 86_400_000

  private struct World {
    var place: RemotePlace
    var devices: [Device]
    var remote: any LogOfObjects { place.remote as! any LogOfObjects }

    func plan(_ policy: LogFloorChoice) async throws -> RemoteTrim.Log {
      let objects = try await place.objects.list()
      let audit = try await RemoteAudit(of: remote, objects: objects)
      let logs = RemoteTrim(remote).plan(audit, objects, policy)
      return try #require(logs.first { $0.zone == zone })
    }

    /// Removes what may go.
    @discardableResult
    func trim(_ policy: LogFloorChoice = .all, stopAfter: Int = .max) async throws -> RemoteTrim.Log {
      let plan = try await plan(policy)
      var left = stopAfter
      do {
        try await RemoteTrim(remote).run(plan) {
          left -= 1
          if left <= 0 { throw CancellationError() }
        }
      } catch is CancellationError {}
      return plan
    }

    func offsets() async throws -> [UInt64] {
      try await place.objects.list().compactMap { $0.name?.incarnation == nil ? nil : $0.name?.offset }
    }

    func close() { for device in devices { device.store.close() } }
  }

  /// One round that makes a snapshot if there is anything new.
  @discardableResult
  private func sync(_ device: Device, _ remote: any RemoteLog, makes: Bool = true) async throws -> ZoneReport
  {
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    configuration.policy.snapshotBytesMin = makes ? 1 : 1 << 40
    let replicator = LogReplicator(store: device.store, remote: remote, configuration: configuration)
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// Two devices and a third that has read a part. There are two snapshots, at offsets 4 and 16.
  private func world(
    _ kind: RemotePlace.Kind, clock: @escaping @Sendable () -> Int64 = { 1_000_000 }
  ) async throws -> World {
    let world = World(
      place: try await RemotePlace(kind, in: scratch.path, clock: { UInt64(clock()) }),
      devices: try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0), clock: clock) })
    let (one, two, three) = (world.devices[0], world.devices[1], world.devices[2])
    for index in 0..<2 {
      try await one.set("title", of: Name("a\(index)"), to: .int(Int64(index)))
      try await sync(one, world.remote, makes: false)
      try await two.set("title", of: Name("b\(index)"), to: .int(Int64(index)))
      try await sync(two, world.remote, makes: index == 1)
      if index == 0 { try await sync(three, world.remote, makes: false) }
    }
    for index in 0..<12 {
      try await one.set("title", of: "a0", to: .int(Int64(100 + index)))
      try await one.set(
        "title", of: Name("later \(index)"), to: .string(String(repeating: "long ", count: 40)))
      try await sync(one, world.remote, makes: index == 11)
    }
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    let snapshots = try await world.remote.snapshots(of: zone, incarnation)
    try #require(snapshots?.map(\.offset) == [16, 4])
    return world
  }

  /// - Parameter problems: how many the audit finds.
  private func expectEqual(_ world: World, problems: Int = 0) async throws {
    for _ in 0..<2 {
      for device in world.devices { try await sync(device, world.remote, makes: false) }
    }
    let digests = try world.devices[0].digests()
    for device in world.devices {
      #expect(try device.digests() == digests && device.pending() == 0)
      #expect(try device.store.verify().isSound)
    }
    let objects = try await world.place.objects.list()
    let audit = try await RemoteAudit(of: world.remote, objects: objects)
    #expect(audit.problems.count == problems && audit.logs[0].consequences.isEmpty, "\(audit)")
  }

  @Test(
    "What snapshots stand for goes; a store that is behind begins with one, and keeps what it has not sent",
    arguments: RemotePlace.Kind.allCases)
  func behind(kind: RemotePlace.Kind) async throws {
    let world = try await world(kind)
    let behind = world.devices[2]
    try await behind.set("title", of: "a0", to: "unsent")
    try await behind.set("title", of: "mine", to: "unsent")
    let trimmed = try await world.trim()
    #expect(trimmed.offset == 4 && trimmed.first == 1 && trimmed.limit == nil && trimmed.bytes > 0)
    #expect(try await world.offsets() == Array(4...16))
    let report = try await sync(behind, world.remote, makes: false)
    #expect(report.beganAt == 16 && report.status == .inSync && report.sent == 2, "\(report)")
    // It had not seen what the others wrote since: neither wins by having been trimmed.
    #expect(try behind.store.read { try $0.conflicts(in: zone).count } == 1)
    let new = try Device(in: scratch.path, "new", seed: 9)
    let began = try await sync(new, world.remote, makes: false)
    #expect(began.beganAt == 16 && began.status == .inSync)
    try await expectEqual(World(place: world.place, devices: world.devices + [new]))
    new.store.close()
    world.close()
  }

  @Test("What was sent, and whose answer was lost, is not sent again", arguments: RemotePlace.Kind.allCases)
  func answerLost(kind: RemotePlace.Kind) async throws {
    let world = try await world(kind)
    let (one, behind) = (world.devices[0], world.devices[2])
    try await behind.set("title", of: "mine", to: "sent")
    let losing = AnswerLosingRemote(remote: world.remote)
    _ = try? await sync(behind, losing, makes: false)
    #expect(try behind.pending() == 1)
    for index in 0..<2 {
      for number in 0..<40 * (1 + index) {
        try await one.set(
          "title", of: Name("more \(index) \(number)"),
          to: .string("\(index) \(number) \(behind.makeRandom())"))
      }
      try await sync(one, world.remote)
    }
    let trimmed = try await world.trim()
    #expect(trimmed.offset > 17)
    let report = try await sync(behind, world.remote, makes: false)
    #expect(report.beganAt != nil && report.status == .inSync && report.sent == 0, "\(report)")
    try await expectEqual(world)
    world.close()
  }

  @Test(
    "Cut short after any object, it says what it is, and the next run ends it", arguments: 1...8)
  func cutShort(stopAfter: Int) async throws {
    let world = try await world(.memory)
    try await world.trim(stopAfter: stopAfter)
    let objects = try await world.place.objects.list()
    #expect(try await RemoteAudit(of: world.remote, objects: objects).problems.isEmpty)
    let report = try await sync(world.devices[2], world.remote, makes: false)
    #expect(report.status == .inSync, "\(report)")
    try await world.trim()
    #expect(try await world.offsets() == Array(4...16))
    let again = try await world.plan(.all)
    #expect(again.offset == 4 && again.objects == 0)
    try await expectEqual(world)
    world.close()
  }

  @Test("Entries that are young stay, and those that a writer who was there lately has not seen")
  func stays() async throws {
    let clock = Mutex<UInt64>(100 * day)
    let world = try await world(.memory) { clock.withLock { Int64($0) } }
    let behind = world.devices[2]
    let now = 100 * day
    let young = try await world.plan(LogFloorChoice(now: now, olderThanMilliseconds: day))
    #expect(young.limit == .choice(.age) && young.offset == 1 && young.objects == 0)
    let old = try await world.plan(LogFloorChoice(now: now + 2 * day, olderThanMilliseconds: day))
    #expect(old.limit == nil && old.offset == 4)
    // It writes without having read: it has seen two entries.
    clock.withLock { $0 += 2 * day }
    try await behind.set("title", of: "mine", to: 1)
    try await behind.sync(world.remote, .ship)
    let held = try await world.plan(LogFloorChoice(now: now + 2 * day, olderThanMilliseconds: day))
    #expect(held.limit == .choice(.writers([behind.store.identity.replica])) && held.offset == 1, "\(held)")
    world.close()
  }

  @Test("Nothing goes unless two snapshots are whole and of this log", arguments: ["part", "chain", "entry"])
  func refuses(what: String) async throws {
    let world = try await world(.memory)
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    let known = try await world.remote.snapshots(of: zone, incarnation)
    let newest = try #require(known?.first)
    switch what {
    case "part": try await world.place.replace(.snapshotPart(0, of: newest), with: [1, 2, 3])
    case "chain":
      var lying = try #require(try await world.remote.snapshotManifest(of: newest))
      lying.chain = LogChain(hash: lying.content)
      try await world.place.replace(.snapshotManifest(of: newest), with: lying.encode())
    default: try await world.place.replace(.entry(of: incarnation, 2), with: nil)
    }
    let plan = try await world.trim()
    #expect(plan.limit == (what == "entry" ? .damage : .choice(.snapshots)) && plan.objects == 0)
    #expect(try await world.offsets().count == (what == "entry" ? 15 : 16))
    world.close()
  }

  @Test("A trimmed log can be trimmed again, deleted, and written to", arguments: RemotePlace.Kind.allCases)
  func goesOn(kind: RemotePlace.Kind) async throws {
    let world = try await world(kind)
    try await world.trim()
    let two = world.devices[1]
    for round in 0..<12 {
      for index in 0..<12 {
        let value = Value.string(String(repeating: "y", count: 90))
        try await two.set("title", of: Name("next \(round) \(index)"), to: value)
      }
      try await sync(two, world.remote, makes: round == 11)
    }
    let second = try await world.trim()
    #expect(second.first == 4 && second.offset == 16, "\(second)")
    let incarnation = try #require(try two.store.syncState().zones.first?.token).incarnation
    #expect(try await world.remote.log.entries.floors.floor(of: incarnation)?.offset == 16)
    let old = RemoteSnapshot(of: zone, incarnation, at: 4, by: two.store.identity.replica)
    #expect(try await world.remote.snapshotManifest(of: old) == nil)
    try await expectEqual(world)
    try await two.store.write { try $0.deleteZone(zone) }
    try await sync(two, world.remote)
    for device in [world.devices[0], world.devices[2]] {
      let report = try await sync(device, world.remote)
      #expect(report.status == .removed, "\(report)")
    }
    world.close()
  }

  @Test("If the newest snapshot is damaged, the one with which the log begins serves")
  func snapshotBefore() async throws {
    let world = try await world(.memory)
    try await world.trim()
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    let newest = try #require(try await world.remote.snapshots(of: zone, incarnation)?.first)
    try await world.place.replace(.snapshotPart(0, of: newest), with: [1, 2, 3])
    let new = try Device(in: scratch.path, "new", seed: 9)
    let report = try await sync(new, world.remote, makes: false)
    #expect(report.beganAt == 4 && report.status == .inSync, "\(report)")
    try await expectEqual(World(place: world.place, devices: world.devices + [new]), problems: 1)
    new.store.close()
    world.close()
  }

  @Test(
    "With a floor that cannot be read, and with nothing behind it, nobody begins the log again",
    arguments: ["floor", "rest", "both"])
  func nothingBegins(what: String) async throws {
    let world = try await world(.memory)
    try await world.trim()
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    if what != "rest" { try await world.place.replace(.floor(1, of: incarnation), with: [1, 2, 3]) }
    if what != "floor" {
      for offset in 4...16 as ClosedRange<UInt64> {
        try await world.place.replace(.entry(of: incarnation, offset), with: nil)
      }
    }
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await new.set("title", of: "new", to: 1)
    let report = try await sync(new, world.remote, makes: false)
    if what == "floor" {
      #expect(report.status == .inSync && report.beganAt == 16, "\(report)")
      let objects = try await world.place.objects.list()
      let audit = try await RemoteAudit(of: world.remote, objects: objects)
      #expect(audit.problems.count == 1, "\(audit.problems)")
    } else {
      #expect(report.status.isFailed && report.sent == 0, "\(report)")
      #expect(try await world.offsets() == [])
    }
    new.store.close()
    world.close()
  }

  @Test("Programs that know no trimmed logs do not read the remote any more")
  func marker() async throws {
    let world = try await world(.memory)
    let before = try #require(try await world.place.get(.marker))
    try await world.trim()
    let after = try #require(try await world.place.get(.marker))
    #expect(before[4] == 1 && after[4] == 2)
    let (old, new) = try (
      RemoteMarker.read(before, of: "memory"), RemoteMarker.read(after, of: "memory")
    )
    #expect(old.remote == new.remote && new.hasTrimmedLogs)
    world.close()
  }

  @Test("What a trimmed log has lost at its end is put back", arguments: RemotePlace.Kind.allCases)
  func putBack(kind: RemotePlace.Kind) async throws {
    let world = try await world(kind)
    try await world.trim()
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    for offset in 14...16 as ClosedRange<UInt64> {
      try await world.place.replace(.entry(of: incarnation, offset), with: nil)
    }
    // Who only fetches writes nothing.
    let fetched = try await world.devices[0].sync(world.remote, .fetch)
    #expect(!fetched.isInSync)
    #expect(try await world.offsets() == Array(4...13))
    let report = try await sync(world.devices[0], world.remote, makes: false)
    #expect(report.status == .inSync && report.putBack == 3, "\(report)")
    try await expectEqual(world)
    world.close()
  }

  @Test("An entry whose giving up would take the snapshot with which the log begins is not given up")
  func givingUp() async throws {
    let world = try await world(.memory)
    try await world.trim()
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    for (offset, isRefused) in [(4, true), (5, false)] as [(UInt64, Bool)] {
      try await world.place.replace(.entry(of: incarnation, offset), with: [1, 2, 3])
      let place = EntryPlace(log: EntryPlace.Log(zone, incarnation), offset: offset)
      let state = try? await world.remote.log.amendments.quarantine(
        place, last: 16, note: "lost", milliseconds: 1_700_000_000_000)
      #expect((state == nil) == isRefused)
    }
    world.close()
  }

  @Test("What is left of an earlier run goes only while a snapshot can be read")
  func leftovers() async throws {
    let world = try await world(.memory)
    try await world.trim(stopAfter: 1)
    let incarnation = try #require(try world.devices[0].store.syncState().zones.first?.token).incarnation
    let before = try await world.offsets()
    for snapshot in try await world.remote.snapshots(of: zone, incarnation) ?? [] {
      try await world.place.replace(.snapshotPart(0, of: snapshot), with: [1, 2, 3])
    }
    let plan = try await world.trim()
    #expect(plan.objects == 0 && plan.limit == .damage)
    #expect(try await world.offsets() == before)
    world.close()
  }

  @Test("A rejected entry that the log does not have any more holds up nobody")
  func rejectedBefore() async throws {
    let world = try await world(.memory)
    let one = world.devices[0]
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 0xBAD))
    // It does not continue the log.
    try await world.place.replace(
      .entry(of: incarnation, 17),
      with: SegmentEnvelope.encode(
        offset: 17, receivedMilliseconds: nil, chain: LogChain(hash: ContentHash(of: [1].span.bytes)),
        segment: try maker.next().bytes.span.bytes))
    for index in 0..<3 {
      for number in 0..<60 * (index + 1) {
        try await one.set("title", of: Name("more \(index) \(number)"), to: .string("\(one.makeRandom())"))
      }
      try await sync(one, world.remote)
    }
    let trimmed = try await world.trim()
    #expect(trimmed.offset > 17)
    for _ in 0..<2 { try await expectAgain(world) }
    world.close()
  }

  private func expectAgain(_ world: World) async throws {
    let new = try Device(
      in: scratch.path, "new \(world.devices[0].makeRandom())", seed: world.devices[0].makeRandom())
    for device in world.devices + [new, new] {
      let report = try await sync(device, world.remote, makes: false)
      #expect(report.status == .inSync, "\(report)")
    }
    #expect(try new.digests() == world.devices[0].digests())
    new.store.close()
  }

  @Test("Without a snapshot that can be read, a store that is behind says so, and loses nothing")
  func nothingToBeginWith() async throws {
    let world = try await world(.memory)
    let behind = world.devices[2]
    try await behind.set("title", of: "mine", to: "unsent")
    try await world.trim()
    let incarnation = try #require(try behind.store.syncState().zones.first?.token).incarnation
    let known = try await world.remote.snapshots(of: zone, incarnation) ?? []
    var manifests: [(ObjectName, [UInt8])] = []
    for snapshot in known {
      let name = ObjectName.snapshotManifest(of: snapshot)
      manifests.append((name, try #require(try await world.place.get(name))))
      try await world.place.replace(name, with: nil)
    }
    let before = try behind.digests()
    let report = try await sync(behind, world.remote, makes: false)
    guard case .failed(let failure) = report.status else {
      Issue.record("\(report)")
      return
    }
    #expect(failure.code == "expired" && failure.answer == .askOperator)
    #expect(try behind.digests() == before && behind.pending() == 1)
    for (name, bytes) in manifests { try await world.place.replace(name, with: bytes) }
    try await expectEqual(world)
    world.close()
  }
}

extension LogFloorChoice {
  /// All goes that may.
  fileprivate static let all = Self(now: 1 << 47, olderThanMilliseconds: 0)
}

extension ZoneStatus {
  fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
}
