import EventStore
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("Zones that come and go")
struct ZoneLifecycles {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func devices(_ count: Int) throws -> [Device] {
    try (1...count).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
  }

  /// Syncs until nothing moves, and checks which zones all devices have.
  private func finish(_ devices: [Device], _ zones: [String]) async throws {
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try devices[0].digests().keys.sorted() == zones)
    for device in devices { device.store.close() }
  }

  @Test("A local zone is not sent before it is attached, and then with all its history")
  func localUntilAttached() async throws {
    let devices = try devices(2)
    for index in 0..<5 {
      try await devices[0].store.write { tx in
        try tx.createZone(zone)
        try tx.create(RecordID(zone: zone, name: Name("\(index)")), type: "note")
      }
    }
    for _ in 0..<2 {
      let report = try await devices[0].sync(remote)
      #expect(report.zones.map(\.status) == [.local] && report.isInSync && !report.hasMoved)
    }
    let events = try await remote.zoneEvents(after: nil).events
    #expect(events.isEmpty && remote.objects.contents.keys.allSatisfy { $0.incarnation == nil })
    let other = try await devices[1].sync(remote)
    #expect(other.zones.isEmpty && other.createdZones.isEmpty)
    try await devices[0].store.write { try $0.attachZone(zone) }
    let shipped = try await devices[0].sync(remote)
    #expect(shipped.sent == 5 && shipped.isInSync)
    let received = try await devices[1].sync(remote)
    #expect(received.received == 5 && received.createdZones == [zone])
    try await finish(devices, ["notes"])
  }

  @Test("A local zone with the name of a remote zone joins it when it is attached")
  func localBesideRemote() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "theirs", to: 1)
    try await devices[0].sync(remote)
    try await devices[1].store.write { tx in
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: "local"), type: "note")
    }
    let before = try await devices[1].sync(remote)
    #expect(before.zones.map(\.status) == [.local])
    #expect(try devices[1].recordNames() == ["notes:local"])
    try await devices[1].store.write { try $0.attachZone(zone) }
    try await settle(devices, remote)
    #expect(try devices[0].recordNames() == ["notes:local", "notes:theirs"])
    try await finish(devices, ["notes"])
  }

  @Test("A zone that any device creates appears on the others, also if two create it at the same time")
  func appear() async throws {
    let devices = try devices(3)
    for (index, device) in devices.enumerated() {
      try await device.set("title", of: "own", to: 1, in: ZoneID(name: Name("zone \(index)")))
      try await device.set("title", of: Name("by \(index)"), to: 1, in: zone)
    }
    for device in devices { try await device.sync(remote, .ship) }
    try await settle(devices, remote)
    for device in devices {
      #expect(
        try device.recordNames() == [
          "zone 0:own", "zone 1:own", "zone 2:own", "notes:by 0", "notes:by 1", "notes:by 2",
        ])
    }
    let incarnations = try devices.map { device in
      try device.store.syncState().zones.compactMap { $0.token?.incarnation }
    }
    #expect(Set(incarnations).count == 1 && incarnations[0].count == 4)
    try await finish(devices, ["notes", "zone 0", "zone 1", "zone 2"])
  }

  @Test("Only chosen zones are synced; the others stay as they are until they are chosen")
  func chosen() async throws {
    let devices = try devices(2)
    let others = [ZoneID(name: "a"), ZoneID(name: "b")]
    for zone in [zone] + others { try await devices[0].set("title", of: "first", to: 1, in: zone) }
    try await devices[0].sync(remote)
    let own = ZoneID(name: "own")
    try await devices[1].set("title", of: "first", to: 1, in: own)
    for _ in 0..<2 {
      let report = try await devices[1].sync(remote, zones: .only([zone]))
      #expect(report.zones.map(\.zone) == [zone] && report.isInSync)
    }
    #expect(try devices[1].digests().keys.sorted() == ["notes", "own"])
    #expect(try devices[1].pending() == 1)
    // One of them is created here too, before it is chosen.
    try await devices[1].set("title", of: "second", to: 1, in: others[0])
    let second = try await devices[1].sync(remote, zones: .only([zone, others[0]]))
    #expect(second.zones.map(\.zone) == [others[0], zone] && second.isInSync)
    #expect(try devices[1].recordNames() == ["notes:first", "own:first", "a:first", "a:second"])
    try await settle(devices, remote)
    #expect(try devices[0].recordNames().count == 5)
    try await finish(devices, ["a", "b", "notes", "own"])
  }

  @Test("A deleted zone without unsent work is deleted everywhere")
  func deleted() async throws {
    let devices = try devices(3)
    for zone in [zone, ZoneID(name: "kept")] {
      try await devices[0].set("title", of: "first", to: 1, in: zone)
    }
    try await settle(devices, remote)
    try await devices[1].store.write { try $0.deleteZone(zone) }
    let report = try await devices[1].sync(remote)
    #expect(report.zones.map(\.status) == [.inSync, .removed])
    for device in [devices[0], devices[2]] {
      let report = try await device.sync(remote)
      #expect(report.zones.first { $0.zone == zone }?.status == .removed)
      #expect(try device.digests().keys.sorted() == ["kept"])
    }
    try await finish(devices, ["kept"])
  }

  @Test(
    "A zone deleted while another device had unsent work is kept and reported there, until deleted there",
    arguments: [false, true])
  func deletedElsewhere(isMadeAgain: Bool) async throws {
    let devices = try devices(2)
    for zone in [zone, ZoneID(name: "kept")] {
      try await devices[0].set("title", of: "first", to: 1, in: zone)
    }
    try await settle(devices, remote)
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await devices[0].sync(remote)
    if isMadeAgain {
      try await devices[0].set("title", of: "anew", to: 1)
      try await devices[0].sync(remote)
    }
    try await devices[1].set("title", of: "unshipped", to: 1)
    let before = remote.objects.contents
    for _ in 0..<3 {
      let report = try await devices[1].sync(remote)
      #expect(report.zones.map(\.status) == [.inSync, .paused(.deleted)] && !report.isInSync)
      try await devices[1].set("title", of: "more", to: 1)
    }
    #expect(remote.objects.contents == before)
    #expect(
      try devices[1].recordNames() == ["kept:first", "notes:first", "notes:unshipped", "notes:more"])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await settle(devices, remote)
    let expected: Set<String> = isMadeAgain ? ["kept:first", "notes:anew"] : ["kept:first"]
    for device in devices { #expect(try device.recordNames() == expected) }
    try await finish(devices, isMadeAgain ? ["kept", "notes"] : ["kept"])
  }

  @Test("A paused zone with something to send causes no rounds: its rounds write nothing")
  func pausedAndQuiet() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await devices[0].sync(remote)
    try await devices[1].set("title", of: "unshipped", to: 1)
    try await devices[1].sync(remote)
    let commits = Mutex(0)
    let observation = devices[1].store.onCommit { commits.withLock { $0 += 1 } }
    let last = try devices[1].store.lastCommitID
    let report = try await devices[1].sync(remote)
    #expect(report.zones.map(\.status) == [.paused(.deleted)])
    #expect(try devices[1].store.lastCommitID == last)
    #expect(commits.withLock { $0 } == 0)
    observation.cancel()
    for device in devices { device.store.close() }
  }

  @Test(
    "A zone that was deleted and created again: a device that lagged behind has only the new one",
    arguments: 1...3)
  func madeAgain(lives: Int) async throws {
    let devices = try devices(3)
    try await devices[0].set("title", of: "old", to: 1)
    try await settle(devices, remote)
    for life in 1...lives {
      try await devices[life % 2].store.write { try $0.deleteZone(zone) }
      if life % 2 == 0 { try await devices[0].sync(remote) }
      try await devices[life % 2].set("title", of: Name("life \(life)"), to: 1)
      try await settle(Array(devices[..<2]), remote)
    }
    #expect(try devices[2].recordNames() == ["notes:old"])
    try await settle(devices, remote)
    for device in devices { #expect(try device.recordNames() == ["notes:life \(lives)"]) }
    let events = try await remote.zoneEvents(after: nil).events
    #expect(events.count == 1 + 2 * lives)
    try await finish(devices, ["notes"])
  }

  @Test("A zone that is deleted here before the remote knows it leaves nothing there")
  func deletedUnshipped() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await devices[0].sync(remote)
    let events = try await remote.zoneEvents(after: nil).events
    #expect(events.isEmpty)
    try await finish(devices, [])
  }

  @Test(
    "A deletion that the remote does not know continues in the store that imports the log",
    arguments: [false, true])
  func importedDeletion(inTheMaking: Bool) async throws {
    let devices = try devices(3)
    let gone = ZoneID(name: "gone")
    try await devices[0].set("title", of: "a", to: 1)
    try await devices[0].sync(remote)
    try await devices[0].set("title", of: "a", to: 1, in: gone)
    if inTheMaking {
      // The remote was asked to create it, and its answer was lost.
      let incarnation = try await devices[0].store.proposeIncarnation(IncarnationID(rawValue: 5), of: gone)
      #expect(incarnation == IncarnationID(rawValue: 5))
    } else {
      try await devices[0].sync(remote)
      try await devices[1].sync(remote)
    }
    try await devices[0].store.write { try $0.deleteZone(gone) }
    let deleted = try #require(try devices[0].store.syncState().zones.first { $0.attachment == .deleting })
    try await devices[2].importLog(of: devices[0])
    let imported = try devices[2].store.syncState().zones.first { $0.attachment == .deleting }
    #expect(imported?.zone == gone && imported?.token?.incarnation == deleted.token?.incarnation)
    #expect(try devices[2].store.verify().isSound)
    let report = try await devices[2].sync(remote)
    #expect(
      report.isInSync && report.zones.contains { $0.zone == gone && $0.status == .removed }, "\(report)")
    try await finish(devices, ["notes"])
  }

  @Test("A zone that was created again with the name of one whose deletion is pending syncs beside it")
  func importedNamesake() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "old", to: 1)
    try await devices[0].sync(remote)
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await devices[0].set("title", of: "new", to: 1)
    try await devices[1].importLog(of: devices[0])
    try await settle([devices[1]], remote)
    #expect(try devices[1].recordNames() == ["notes:new"])
    try await finish(devices, ["notes"])
    #expect(try await remote.zoneEvents(after: nil).events.map(\.kind) == [.created, .deleted, .created])
  }
}
