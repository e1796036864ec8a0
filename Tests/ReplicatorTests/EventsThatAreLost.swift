import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Events that the list of zones has lost at its end")
struct EventsThatAreLost {
  /// Zones in the order of their events, which is not the order of their names.
  let others = [ZoneID(name: "work"), ZoneID(name: "play")]

  /// Two devices that have synced three zones, and a new device.
  private struct World {
    var place: RemotePlace
    var devices: [Device]
    var events: [[UInt8]] = []
    var new: Device { devices[2] }

    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    }

    func repair(from device: Device, zone: ZoneID? = nil) async throws -> [RemoteRepair.Step] {
      let remote = try #require(place.remote as? any LogOfObjects)
      var repair = RemoteRepair(remote, from: device.store, zone: zone)
      try await repair.addReadEvents()
      try await repair.repairEvents(try await audit().unreadableEvents)
      try await repair.addLostEvents()
      try await repair.repairLogs(try await audit())
      return repair.steps
    }

    func lose(_ offsets: ClosedRange<UInt64>) async throws {
      for offset in offsets { try await place.replace(.zoneEvent(offset), with: nil) }
    }

    func close() { for device in devices { device.store.close() } }
  }

  private func world(_ kind: RemotePlace.Kind, _ parent: String) async throws -> World {
    var world = World(
      place: try await RemotePlace(kind, in: parent),
      devices: try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) })
    for (index, zone) in ([zone] + others).enumerated() {
      try await world.devices[index % 2].set("title", of: "made", to: 1, in: zone)
      try await settle(Array(world.devices.prefix(2)), world.place.remote)
    }
    for offset in 1...3 as ClosedRange<UInt64> {
      world.events.append(try #require(try await world.place.get(.zoneEvent(offset))))
    }
    return world
  }

  private func putBack(_ steps: [RemoteRepair.Step]) -> [UInt64] {
    steps.filter { $0.outcome == .putBack && $0.place.log == nil }.map(\.place.offset)
  }

  @Test(
    "The same bytes are put back from a store that had read them, in the order of its token",
    arguments: RemotePlace.Kind.allCases, [1, 2, 3] as [UInt64])
  func comeBack(kind: RemotePlace.Kind, first: UInt64) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.lose(first...3)
    for device in world.devices.prefix(2) {
      let failure = await #expect(throws: SyncFailure.self) { try await device.sync(world.place.remote) }
      #expect(failure?.code == "wentBack")
    }
    let before = try await world.audit()
    #expect(before.problems.count == Int(4 - first), "\(before.problems)")
    #expect(before.problems.allSatisfy { $0.unnamedLog != nil })
    // A store that never read the zones does not know them.
    #expect(try await world.repair(from: world.new).isEmpty)
    let steps = try await world.repair(from: world.devices[1])
    #expect(steps.count == Int(4 - first) && putBack(steps) == Array(first...3), "\(steps)")
    for offset in first...3 {
      #expect(try await world.place.get(.zoneEvent(offset)) == world.events[Int(offset) - 1])
    }
    #expect(try await world.audit().problems.isEmpty)
    #expect(try await world.repair(from: world.devices[0]).isEmpty)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    #expect(try world.new.digests().count == 3)
    world.close()
  }

  @Test(
    "A remote that lost whole zones gets them back with their logs", arguments: RemotePlace.Kind.allCases,
    [false, true])
  func withLogs(kind: RemotePlace.Kind, isOneOf: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let digests = try world.devices[1].digests()
    let first: UInt64 = isOneOf ? 3 : 1
    for offset in first...3 {
      let bytes = world.events[Int(offset) - 1]
      let incarnation = try ZoneEvent.read(bytes.span.bytes).event.incarnation
      try await world.place.replace(.entry(of: incarnation, 1), with: nil)
    }
    try await world.lose(first...3)
    let steps = try await world.repair(from: world.devices[1])
    #expect(putBack(steps) == Array(first...3), "\(steps)")
    #expect(
      steps.filter { $0.place.log != nil && $0.outcome == .putBack }.count == Int(4 - first), "\(steps)")
    for offset in first...3 {
      #expect(try await world.place.get(.zoneEvent(offset)) == world.events[Int(offset) - 1])
    }
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    #expect(try world.new.digests() == digests)
    world.close()
  }

  @Test("Events after two adjacent lost ones stay", arguments: RemotePlace.Kind.allCases)
  func sideBySide(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.lose(1...2)
    let steps = try await world.repair(from: world.devices[0])
    #expect(putBack(steps) == [1, 2], "\(steps)")
    #expect(try await world.place.get(.zoneEvent(3)) == world.events[2])
    #expect(try await world.audit().problems.isEmpty)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "If another event took its place, the lost one is appended after it",
    arguments: RemotePlace.Kind.allCases)
  func placeIsTaken(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.lose(3...3)
    try await world.new.set("title", of: "made", to: 1, in: ZoneID(name: "later"))
    try await world.new.sync(world.place.remote)
    let steps = try await world.repair(from: world.devices[0])
    #expect(putBack(steps) == [4], "\(steps)")
    #expect(try await world.audit().problems.isEmpty)
    let report = try await world.new.sync(world.place.remote)
    #expect(report.isInSync, "\(report)")
    #expect(try world.new.digests().count == 4)
    world.close()
  }

  @Test("A log whose event was given up is reported, and another event is added for it")
  func givenUp() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.folder, scratch.path)
    try await world.place.replace(.zoneEvent(2), with: [UInt8](repeating: 0, count: 200))
    let remote = try #require(world.place.remote as? any LogOfObjects)
    _ = try await remote.log.amendments.quarantine(EntryPlace(offset: 2), last: 3, note: "", milliseconds: 1)
    let audit = try await world.audit()
    #expect(audit.problems.count == 1 && audit.problems.first?.unnamedLog != nil, "\(audit.problems)")
    #expect(putBack(try await world.repair(from: world.devices[0])) == [4])
    #expect(try await world.audit().problems.isEmpty)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    #expect(try world.new.digests().count == 3)
    world.close()
  }

  @Test("No event is added for a log that was deleted, nor beside a live one")
  func refused() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.folder, scratch.path)
    let (ann, bob) = (world.devices[0], world.devices[1])
    // The second device does not learn of it.
    try await ann.store.write { try $0.deleteZone(others[0]) }
    try await settle([ann], world.place.remote)
    #expect(try await world.repair(from: bob).isEmpty)
    // The event of its creation is given up, and the event of its deletion still has it.
    let right = try await world.place.copy()
    try await world.place.replace(.zoneEvent(2), with: [UInt8](repeating: 0, count: 200))
    let remote = try #require(world.place.remote as? any LogOfObjects)
    _ = try await remote.log.amendments.quarantine(EntryPlace(offset: 2), last: 4, note: "", milliseconds: 1)
    #expect(try await world.audit().problems.isEmpty)
    #expect(putBack(try await world.repair(from: bob)).isEmpty)
    try await world.place.restore(right)
    try await ann.set("title", of: "again", to: 1, in: others[0])
    try await settle([ann], world.place.remote)
    #expect(try await world.repair(from: bob).isEmpty)
    world.close()
  }

  /// The world, in which zones were made, deleted and made again since a copy was made: then the copy is put back.
  private func olderCopy(
    _ kind: RemotePlace.Kind, _ parent: String
  ) async throws -> (world: World, events: [UInt64: [UInt8]]) {
    var world = try await world(kind, parent)
    let copy = try await world.place.copy()
    let (ann, bob) = (world.devices[0], world.devices[1])
    // One in which nothing is written, one that is deleted, and one that is deleted and made again.
    let empty = ZoneID(name: "empty")
    try await ann.store.write { tx in
      try tx.createZone(empty)
      try tx.attachZone(empty)
    }
    try await settle([ann, bob], world.place.remote)
    try await bob.store.write { [others] in try $0.detachZone(others[1]) }
    try await ann.store.write { [others] in
      for zone in others { try $0.deleteZone(zone) }
    }
    try await settle([ann, bob], world.place.remote)
    try await bob.store.write { [others] in try $0.attachZone(others[1]) }
    try await settle([bob, ann], world.place.remote)
    var events: [UInt64: [UInt8]] = [:]
    while let bytes = try await world.place.get(.zoneEvent(UInt64(events.count) + 4)) {
      events[UInt64(events.count) + 4] = bytes
    }
    var kinds: [ZoneEvent.Kind] = []
    for (_, bytes) in events.sorted(by: { $0.key < $1.key }) {
      kinds.append(try ZoneEvent.read(bytes.span.bytes).event.kind)
    }
    #expect(kinds == [.created, .deleted, .deleted, .reopened], "\(kinds)")
    try await world.place.restore(copy)
    world.events = []
    return (world, events)
  }

  private func expectWentBack(_ world: World) async throws {
    let before = try await world.place.copy()
    for device in world.devices.prefix(2) {
      let failure = await #expect(throws: SyncFailure.self) { try await device.sync(world.place.remote) }
      #expect(failure?.code == "wentBack" && failure?.hint.contains("--repair STORE") ?? false)
    }
    // Nothing is written there.
    #expect(try await world.place.copy() == before)
  }

  @Test(
    "All events come back as they were: of zones that were made, deleted, and made again since",
    arguments: RemotePlace.Kind.allCases, [0, 1])
  func allKinds(kind: RemotePlace.Kind, first: Int) async throws {
    let scratch = TemporaryDirectory()
    let (world, events) = try await olderCopy(kind, scratch.path)
    try await expectWentBack(world)
    let steps = try await world.repair(from: world.devices[first])
    #expect(putBack(steps) == events.keys.sorted() && steps.allSatisfy { $0.outcome == .putBack }, "\(steps)")
    for (offset, bytes) in events { #expect(try await world.place.get(.zoneEvent(offset)) == bytes) }
    let problems = try await world.audit().problems
    #expect(problems.isEmpty, "\(problems)")
    // Each store may do it, and again.
    for device in world.devices { #expect(try await world.repair(from: device).isEmpty) }
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    let zones = try world.new.store.read { try $0.zones() }.map(\.name)
    #expect(Set(zones) == ["notes", "empty", "play"], "\(zones)")
    world.close()
  }

  @Test(
    "A repair that was cut short after any event is ended by the other store",
    arguments: 4...7 as ClosedRange<UInt64>)
  func cutShort(first: UInt64) async throws {
    let scratch = TemporaryDirectory()
    let (world, events) = try await olderCopy(.folder, scratch.path)
    try await expectWentBack(world)
    _ = try await world.repair(from: world.devices[0])
    try await world.lose(first...7)
    try await expectWentBack(world)
    let steps = try await world.repair(from: world.devices[1])
    #expect(putBack(steps) == Array(first...7), "\(steps)")
    for (offset, bytes) in events { #expect(try await world.place.get(.zoneEvent(offset)) == bytes) }
    #expect(try await world.audit().problems.isEmpty)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test("If others have added events since, the store is told to read the list again, which removes nothing")
  func listIsOther() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.folder, scratch.path)
    try await world.lose(3...3)
    try await world.new.set("title", of: "made", to: 1, in: ZoneID(name: "later"))
    try await world.new.sync(world.place.remote)
    let remote = try #require(world.place.remote as? any LogOfObjects)
    for device in world.devices.prefix(2) {
      #expect(putBack(try await world.repair(from: device)) == (device === world.devices[0] ? [4] : []))
      let names = try device.recordNames()
      let place = try #require(try await RemoteRepair(remote, from: device.store).rereading())
      let failure = await #expect(throws: SyncFailure.self) { try await device.sync(world.place.remote) }
      #expect(failure?.code == "wentBack")
      #expect(try await device.store.beginRereading(place.zone, from: place.offset) == place.offset)
      for isLast in [false, true] {
        let report = try await device.sync(world.place.remote)
        #expect(report.zones.allSatisfy { $0.removedTransactions == 0 }, "\(report)")
        if isLast { #expect(report.isInSync, "\(report)") }
      }
      #expect(try device.recordNames().isSuperset(of: names))
      #expect(try await RemoteRepair(remote, from: device.store).rereading() == nil)
    }
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    #expect(try world.new.digests().count == 4)
    world.close()
  }
}
