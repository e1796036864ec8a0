import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A deleted zone's log with an entry that nobody can read")
struct DeletedLogsThatAreDamaged {
  /// One device has sent three segments, one has read the first. A third one has deleted the zone.
  private struct World {
    var place: RemotePlace
    var writer: Device
    var reader: Device
    var deleter: Device
    var log: EntryPlace.Log

    var objects: any LogOfObjects { place.remote as! any LogOfObjects }
    func entry(_ offset: UInt64) -> EntryPlace { EntryPlace(log: log, offset: offset) }

    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    }

    func repair() async throws -> [RemoteRepair.Outcome] {
      var repair = RemoteRepair(objects, from: writer.store)
      try await repair.repairLogs(try await audit())
      return repair.steps.map(\.outcome)
    }

    func giveUp(_ place: EntryPlace) async throws -> EntryState {
      try await objects.log.amendments.quarantine(
        place, last: 100, note: "lost", milliseconds: 1_700_000_000_000)
    }

    func delete() async throws {
      try await deleter.store.write { try $0.deleteZone(zone) }
      try await deleter.sync(place.remote)
    }

    func close() { for device in [writer, reader, deleter] { device.store.close() } }
  }

  private func world(
    _ kind: RemotePlace.Kind, _ parent: String, isDeleted: Bool = true
  ) async throws -> World {
    let place = try await RemotePlace(kind, in: parent)
    let devices = try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for number in 0..<3 {
      try await devices[0].set("title", of: Name("\(number)"), to: .int(Int64(number)))
      try await devices[0].sync(place.remote)
      if number == 0 { try await devices[1].sync(place.remote) }
    }
    try await devices[2].sync(place.remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try #require(token.offset == 3)
    let world = World(
      place: place, writer: devices[0], reader: devices[1], deleter: devices[2],
      log: EntryPlace.Log(zone, token.incarnation))
    if isDeleted { try await world.delete() }
    return world
  }

  /// Gives up the event of the zone's creation.
  private func giveUpEvent(_ world: World) async throws {
    try await world.place.replace(.zoneEvent(1), with: [1, 2, 3])
    _ = try await world.giveUp(EntryPlace(offset: 1))
  }

  @Test(
    "A store's zone is deleted, whether it has read up to the entry, past it, or not so far",
    arguments: RemotePlace.Kind.allCases, [.missing, .zeros, .flipped] as [RemoteLogConformance.EntryDamage])
  func ends(kind: RemotePlace.Kind, damage: RemoteLogConformance.EntryDamage) async throws {
    for offset in 1...3 as ClosedRange<UInt64> {
      for hasPending in [false, true] {
        let scratch = TemporaryDirectory()
        let world = try await world(kind, scratch.path)
        if hasPending { try await world.reader.set("title", of: "mine", to: 1) }
        try await world.place.damage(damage, world.log.incarnation, offset)
        let report = try await world.reader.sync(world.place.remote)
        #expect(
          report.zones.map(\.status) == [hasPending ? .paused(.deleted) : .removed],
          "offset \(offset): \(report)")
        #expect(try world.reader.pending() == (hasPending ? 1 : 0))
        world.close()
      }
    }
  }

  @Test(
    "It is reported, and put back from a store that has it, or given up",
    arguments: RemotePlace.Kind.allCases,
    [[2], [3], [2, 3], [1, 2, 3]] as [[UInt64]])
  func mended(kind: RemotePlace.Kind, lost: [UInt64]) async throws {
    for isPutBack in [true, false] {
      let scratch = TemporaryDirectory()
      let world = try await world(kind, scratch.path)
      let right = try await world.place.copy()
      // Two missing entries next to each other look like the end, and a deleted log has an end.
      for offset in lost { try await world.place.damage(.missing, world.log.incarnation, offset) }
      let told = try await world.audit()
      #expect(told.problems.compactMap(\.entry) == lost.map(world.entry), "\(told.problems)")
      if isPutBack {
        #expect(try await world.repair() == lost.map { _ in .putBack })
        #expect(try await world.place.copy() == right)
      } else {
        for offset in lost { _ = try await world.giveUp(world.entry(offset)) }
      }
      let after = try await world.audit()
      #expect(after.problems.isEmpty && after.logs.map(\.fate) == [.deleted], "\(after.problems)")
      #expect(after.logs[0].tombstones.map(\.offset) == (isPutBack ? [] : lost))
      // What the store has besides is not requested.
      #expect(try await world.repair() == [])
      world.close()
    }
  }

  @Test("A seal that cannot be read is given up", arguments: RemotePlace.Kind.allCases)
  func seal(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.place.damage(.zeros, world.log.incarnation, 4)
    #expect(try await world.audit().problems.compactMap(\.entry) == [world.entry(4)])
    #expect(try await world.repair() == [.notInStore])
    _ = try await world.giveUp(world.entry(4))
    #expect(try await world.audit().problems.isEmpty)
    #expect(try await world.reader.sync(world.place.remote).zones.map(\.status) == [.removed])
    world.close()
  }

  @Test(
    "The event of its creation was given up: the audit still lists the log",
    arguments: RemotePlace.Kind.allCases)
  func withoutItsEvent(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.place.damage(.missing, world.log.incarnation, 2)
    try await giveUpEvent(world)
    let told = try await world.audit()
    #expect(told.logs.map(\.incarnation) == [world.log.incarnation] && told.logs[0].fate == .deleted)
    #expect(told.problems.compactMap(\.entry) == [world.entry(2)], "\(told.problems)")
    try await world.reader.set("title", of: "mine", to: 1)
    let report = try await world.reader.sync(world.place.remote)
    #expect(report.zones.map(\.status) == [.paused(.deleted)], "\(report)")
    #expect(try await world.repair() == [.putBack])
    #expect(try await world.audit().problems.isEmpty)
    world.close()
  }

  @Test(
    "Its seal was put into a hole: later entries are listed, and need no repair",
    arguments: RemotePlace.Kind.allCases)
  func sealInAHole(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path, isDeleted: false)
    let name = ObjectName.entry(of: world.log.incarnation, 3)
    let last = try await world.place.get(name)
    for offset in 1...3 as ClosedRange<UInt64> {
      try await world.place.damage(.missing, world.log.incarnation, offset)
    }
    try await world.objects.deleteZone(zone, world.log.incarnation)
    try await world.place.replace(name, with: last)
    let audit = try await world.audit()
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    #expect(
      audit.logs[0].consequences.map(\.place) == ["\(world.entry(3))"]
        && audit.logs[0].consequences[0].message.contains("closed at offset 1"),
      "\(audit.logs[0].consequences)")
    #expect(try await world.repair() == [])
    world.close()
  }
}
