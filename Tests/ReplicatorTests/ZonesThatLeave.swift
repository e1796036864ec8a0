import EventStore
import Testing

@testable import Replicator
@testable import StoreTesting

@Suite("Zones that leave the remote, come back to it, or are fetched when they are wanted")
struct ZonesThatLeave {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func devices(_ count: Int) throws -> [Device] {
    try (1...count).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
  }

  private func write(_ name: Name, on device: Device, in zone: ZoneID = zone) async throws {
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: name), type: "note")
    }
  }

  private func detach(_ device: Device) async throws {
    try await device.store.write { try $0.detachZone(zone) }
  }

  private func attach(_ device: Device) async throws {
    try await device.store.write { try $0.attachZone(zone) }
  }

  // MARK: Detached

  @Test("A detached zone is local: nothing moves, until it is attached again, and then all does")
  func detached() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await write("here", on: devices[0])
    try await write("there", on: devices[1])
    for _ in 0..<2 {
      for device in devices { try await device.sync(remote) }
    }
    #expect(try devices[0].recordNames() == ["notes:first", "notes:here"])
    #expect(try devices[1].recordNames() == ["notes:first", "notes:there"])
    #expect(try await devices[0].sync(remote).zones.map(\.status) == [.local])
    try devices[0].reopen()
    try await attach(devices[0])
    try await settle(devices, remote)
    for device in devices {
      #expect(try device.recordNames() == ["notes:first", "notes:here", "notes:there"])
    }
    try await expectAgreement(devices, remote)
    #expect(try devices[0].store.syncState().zones.map(\.restoresLog) == [false])
  }

  @Test("A zone that is detached before the remote knows it is only here; attached, it is sent")
  func detachedBeforeSync() async throws {
    let device = try devices(1)[0]
    try await device.set("title", of: "first", to: 1)
    try await detach(device)
    #expect(try await device.sync(remote).zones.map(\.status) == [.local])
    try await attach(device)
    #expect(try await device.sync(remote).sent == 1)
  }

  @Test("A detached zone that is deleted goes only here; the remote's is fetched again")
  func detachedAndDeleted() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await write("only here", on: devices[0])
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await settle(devices, remote)
    for device in devices { #expect(try device.recordNames() == ["notes:first"]) }
    try await expectAgreement(devices, remote)
  }

  // MARK: Made again

  @Test(
    "A zone that was deleted elsewhere is made again for all by who has it detached and attaches it",
    arguments: [false, true], [false, true])
  func madeAgain(isDetachedBefore: Bool, hasUnsent: Bool) async throws {
    let devices = try devices(3)
    for (index, device) in devices.enumerated() {
      try await device.set("title", of: Name("by \(index)"), to: .int(Int64(index)))
      try await settle(devices, remote)
    }
    // Removes what another has added: the order of causes must be as before.
    try await devices[1].store.write { try $0.delete(RecordID(zone: zone, name: "by 0")) }
    try await settle(devices, remote)
    if isDetachedBefore { try await detach(devices[0]) }
    if hasUnsent { try await write("unsent", on: devices[0]) }
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    try await devices[2].sync(remote)
    #expect(try devices[2].recordNames() == [])
    if !isDetachedBefore {
      if hasUnsent {
        #expect(try await devices[0].sync(remote).zones.map(\.status) == [.paused(.deleted)])
      }
      try await detach(devices[0])
    }
    #expect(try await devices[0].sync(remote).zones.map(\.status) == [.local])
    try await attach(devices[0])
    let report = try await devices[0].sync(remote)
    #expect(report.isInSync && report.sent == (hasUnsent ? 1 : 0))
    try await settle(devices, remote)
    let expected = Set(["notes:by 1", "notes:by 2"] + (hasUnsent ? ["notes:unsent"] : []))
    for device in devices { #expect(try device.recordNames() == expected) }
    try await expectAgreement(devices, remote)
    // It can be deleted again, and then it is.
    try await devices[2].store.write { try $0.deleteZone(zone) }
    try await settle(devices, remote)
    for device in devices { #expect(try device.recordNames() == []) }
  }

  @Test("A trimmed log is made again too, and new stores begin with the snapshot that its maker puts there")
  func trimmedAndMadeAgain() async throws {
    let devices = try devices(2)
    let policy: (inout ReplicatorConfiguration) -> Void = { $0.policy.snapshotBytesMin = 1 }
    for round in 0..<20 {
      try await devices[0].set("title", of: Name("in \(round)"), to: .string("\(round * 7919)"))
      try await devices[0].replicator(remote, policy).syncOnce()
    }
    try await devices[1].sync(remote)
    let objects = try await remote.objects.list()
    let before = try await RemoteAudit(of: remote, objects: objects)
    let plan = RemoteTrim(remote).plan(before, objects, LogFloorChoice(now: 0, olderThanMilliseconds: 0))
    let log = try #require(plan.first)
    #expect(log.offset > 1)
    try await RemoteTrim(remote).run(log)
    try await detach(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    try await attach(devices[0])
    #expect(try await devices[0].sync(remote).isInSync)
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    for device in [devices[1], fresh] {
      #expect(try await device.sync(remote).isInSync)
      #expect(try device.digests() == devices[0].digests())
    }
    let audit = try await RemoteAudit(of: remote, objects: try await remote.objects.list())
    #expect(audit.logs.map(\.fate) == [nil])
  }

  @Test("Assets are sent again by who has them, whoever has made the zone again", arguments: [false, true])
  func assetsOfMadeAgain(isMoved: Bool) async throws {
    let devices = try devices(2)
    let bytes = assetBytes(5000)
    let asset = try await devices[1].setAsset(bytes, of: "photo")
    try await settle(devices, remote)
    var place = remote
    if isMoved {
      place = MemoryRemote(identity: RemoteID(rawValue: 10))
      for device in devices { try await device.store.leaveRemote() }
    } else {
      let third = try Device(in: scratch.path, "third", seed: 33)
      try await third.sync(remote)
      try await detach(devices[0])
      try await third.store.write { try $0.deleteZone(zone) }
      try await third.sync(remote)
      try await attach(devices[0])
    }
    // The first to come does not have the file.
    #expect(try await devices[0].sync(place).isInSync)
    try await settle(devices, place)
    let incarnation = try #require(try devices[0].store.syncState().zones.first?.token?.incarnation)
    let state = try await place.assetState(RemoteAsset(asset, of: zone, incarnation))
    guard case .whole = state else {
      Issue.record("the remote has \(state)")
      return
    }
    try await devices[1].store.write { try $0.evictZone(zone) }
  }

  @Test("A deletion whose answer was lost is not done again to a zone that was made again meanwhile")
  func deletionWithLostAnswer() async throws {
    let devices = try devices(3)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    // The remote does it, and the device hears nothing.
    let incarnation = try #require(try devices[2].store.syncState().zones.first?.token?.incarnation)
    try await remote.deleteZone(zone, incarnation)
    try await attach(devices[0])
    try await devices[0].sync(remote)
    try await write("later", on: devices[0])
    try await devices[0].sync(remote)
    try await settle(devices, remote)
    for device in devices { #expect(try device.recordNames() == ["notes:first", "notes:later"]) }
    try await expectAgreement(devices, remote)
  }

  @Test("A zone is not made again where another of its name was made since: that is told, and both are kept")
  func nameTaken() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "old", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    try await devices[1].set("title", of: "new", to: 1)
    try await devices[1].sync(remote)
    try await attach(devices[0])
    for _ in 0..<2 {
      let report = try await devices[0].sync(remote)
      #expect(report.zones.map { $0.status.failure?.code } == ["nameTaken"])
    }
    #expect(try devices[0].recordNames() == ["notes:old"])
    try await detach(devices[0])
    #expect(try await devices[0].sync(remote).zones.map(\.status) == [.local])
    #expect(try await devices[1].sync(remote).isInSync)
  }

  @Test("A device that reads deletion and making again in one page keeps its copy, also what it has not sent")
  func deletionTakenBack() async throws {
    let devices = try devices(3)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    try await attach(devices[0])
    try await devices[0].sync(remote)
    try await write("unsent", on: devices[2])
    let report = try await devices[2].sync(remote)
    #expect(report.isInSync && report.sent == 1)
    try await settle(devices, remote)
    for device in devices { #expect(try device.recordNames() == ["notes:first", "notes:unsent"]) }
    try await expectAgreement(devices, remote)
  }

  // MARK: Answers

  @Test("What becomes of a zone that was deleted elsewhere is the app's choice", arguments: [false, true])
  func answers(hasUnsent: Bool) async throws {
    for answer in [ZoneEndAnswer.remove, .keep, .detach, .makeAgain] {
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let pair = try (1...2).map { try Device(in: scratch.path, "\(answer)\($0)", seed: UInt64($0)) }
      try await pair[0].set("title", of: "first", to: 1)
      try await settle(pair, remote)
      try await pair[0].store.write { try $0.deleteZone(zone) }
      try await pair[0].sync(remote)
      if hasUnsent { try await write("unsent", on: pair[1]) }
      let replicator = pair[1].replicator(remote) { $0.zoneEndAnswer = { _, _ in answer } }
      var statuses: [ZoneStatus] = []
      for _ in 0..<2 { statuses = try await replicator.syncOnce().zones.map(\.status) }
      let names: Set<String> = hasUnsent ? ["notes:first", "notes:unsent"] : ["notes:first"]
      switch answer {
      case .remove:
        #expect(statuses == (hasUnsent ? [.paused(.deleted)] : []))
        #expect(try pair[1].recordNames() == (hasUnsent ? names : []))
      case .keep:
        #expect(statuses == [.paused(.deleted)])
        #expect(try pair[1].recordNames() == names)
      case .detach:
        #expect(statuses == [.local])
        #expect(try pair[1].recordNames() == names)
      case .makeAgain:
        #expect(statuses == [.inSync])
        try await settle(pair, remote)
        for device in pair { #expect(try device.recordNames() == names) }
        try await expectAgreement(pair, remote)
      }
    }
  }

  // MARK: Offered, fetched, evicted

  @Test("With the zones that are attached, others are listed and fetched once they are wanted")
  func lazy() async throws {
    let devices = try devices(2)
    let zones = (0..<3).map { ZoneID(name: Name("list \($0)")) }
    for zone in zones { try await devices[0].set("title", of: "first", to: 1, in: zone) }
    try await devices[0].sync(remote)
    let replicator = devices[1].replicator(remote, zones: .attached)
    let first = try await replicator.syncOnce()
    #expect(first.zones.isEmpty && first.isInSync)
    #expect(try devices[1].store.read { try $0.zones(.offered) } == zones)
    #expect(try devices[1].store.read { try $0.zones() } == [])
    try await devices[1].store.write { try $0.attachZone(zones[1]) }
    let fetched = try await replicator.syncOnce(zones: [zones[1]])
    #expect(fetched.zones.map(\.zone) == [zones[1]] && fetched.received == 1)
    #expect(try devices[1].recordNames() == ["list 1:first"])
    #expect(try devices[1].store.read { try $0.zones(.attached) } == [zones[1]])
    // It is evicted, and others still have it.
    try await devices[1].set("title", of: "second", to: 1, in: zones[1])
    await #expect(throws: StoreError.self) {
      try await devices[1].store.write { try $0.evictZone(zones[1]) }
    }
    try await replicator.syncOnce()
    try await devices[1].store.write { try $0.evictZone(zones[1]) }
    _ = try await devices[1].store.reclaim()
    #expect(try devices[1].recordNames() == [])
    #expect(try devices[1].store.read { try $0.zones(.offered) } == zones)
    #expect(try await replicator.syncOnce().zones.isEmpty)
    try await devices[0].sync(remote)
    #expect(try devices[0].recordNames().contains("list 1:second"))
    // And it comes back, with what was written here before.
    try await devices[1].store.write { try $0.attachZone(zones[1]) }
    try await replicator.syncOnce()
    try await devices[1].set("title", of: "third", to: 1, in: zones[1])
    try await replicator.syncOnce()
    try await devices[0].sync(remote)
    #expect(try devices[1].recordNames() == ["list 1:first", "list 1:second", "list 1:third"])
    #expect(try devices[0].digests()["list 1"] == devices[1].digests()["list 1"])
    #expect(try devices[1].store.verify().problems.isEmpty)
  }

  @Test("A round of zones attaches those that the remote offers, and refuses a name that neither side has")
  func namedZones() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].sync(remote)
    let replicator = devices[1].replicator(remote, zones: .attached)
    for zones: Set<ZoneID> in [["nothing"], ["nothing", zone]] {
      let error = await #expect(throws: StoreError.self) { try await replicator.syncOnce(zones: zones) }
      #expect(error?.code == .zoneUnknown && error?.message.contains("has a zone “nothing”") == true)
    }
    // The other one was fetched, and stays attached.
    #expect(try devices[1].store.read { try $0.zones(.attached) } == [zone])
    #expect(try await replicator.syncOnce(zones: [zone]).isInSync)
    #expect(try await replicator.syncOnce(zones: []).isInSync)
    try await devices[1].store.write { _ = try $0.createZone("here") }
    #expect(try await replicator.syncOnce(zones: ["here"]).zones.map(\.status) == [.local])
    // One that goes in the round is known; later it is not.
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await devices[0].sync(remote)
    #expect(try await replicator.syncOnce(zones: [zone]).zones.map(\.status) == [.removed])
    await #expect(throws: StoreError.self) { try await replicator.syncOnce(zones: [zone]) }
  }

  @Test("What is written to an evicted zone before it is fetched again is sent beside what was there")
  func writtenBeforeFetched() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    for round in 0..<3 {
      try await devices[0].store.write { try $0.evictZone(zone) }
      try await devices[0].set("title", of: Name("early \(round)"), to: 1)
      try await devices[0].set("title", of: "first", to: .int(Int64(round)))
      try await settle(devices, remote)
    }
    let expected: Set<String> = ["notes:first", "notes:early 0", "notes:early 1", "notes:early 2"]
    for device in devices { #expect(try device.recordNames() == expected) }
    try await expectAgreement(devices, remote)
  }

  @Test(
    "A zone that the remote has not all of is not evicted",
    arguments: ["local", "unsent", "in this write", "gone"])
  func notEvicted(why: String) async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    if why != "unsent" { try await settle(devices, remote) }
    switch why {
    case "local": try await detach(devices[0])
    case "gone":
      try await devices[1].store.write { try $0.deleteZone(zone) }
      try await devices[1].sync(remote)
      _ = try await devices[0].replicator(remote) { $0.zoneEndAnswer = { _, _ in .keep } }.syncOnce()
    default: break
    }
    let names = try devices[0].recordNames()
    let error = await #expect(throws: StoreError.self) {
      try await devices[0].store.write { tx in
        if why == "in this write" { try tx.create(RecordID(zone: zone, name: "second"), type: "note") }
        try tx.evictZone(zone)
      }
    }
    #expect(error?.code == .unsettled)
    #expect(try devices[0].recordNames() == names)
  }

  @Test("Zones of greater priority come first")
  func priority() async throws {
    let device = try devices(1)[0]
    let zones = ["a", "b", "c", "d"].map { ZoneID(name: Name($0)) }
    for zone in zones { try await device.set("title", of: "first", to: 1, in: zone) }
    let rank = [zones[2]: 2, zones[3]: 1]
    let replicator = device.replicator(remote) {
      $0.policy.zonesAtOnceMax = 1
      $0.zonePriority = { rank[$0] ?? 0 }
    }
    try await replicator.syncOnce()
    let made = try await remote.zoneEvents(after: nil).events.map(\.zone)
    #expect(made == [zones[2], zones[3], zones[0], zones[1]])
  }

  // MARK: Another remote

  @Test("A zone that was deleted and made again moves too, with its empty entry")
  func movedAfterDeletion() async throws {
    let devices = try devices(3)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    try await detach(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    try await attach(devices[0])
    try await settle(devices, remote)
    try await devices[1].set("title", of: "second", to: 1)
    try await settle(devices, remote)
    let other = MemoryRemote(identity: RemoteID(rawValue: 10))
    for device in devices {
      try await device.store.leaveRemote()
      let report = try await device.sync(other)
      #expect(report.isInSync && report.zones.map(\.partedAt) == [nil])
    }
    try await settle(devices, other)
    for device in devices { #expect(try device.recordNames() == ["notes:first", "notes:second"]) }
    let tokens = try devices.map { try $0.store.syncState().zones.map(\.token) }
    #expect(Set(tokens).count == 1 && tokens[0][0]?.offset == 3)
  }

  @Test("A zone with a rejected segment moves too")
  func movedAfterRejection() async throws {
    let devices = try devices(2)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    var peer = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0x80))
    // It claims to have seen another log.
    let segment = try peer.next(
      [.set(record: "lie", type: "note", field: "title", value: 1)], base: (1, .start(of: token.incarnation)))
    _ = try await remote.append(segment, after: token.offset)
    for device in devices { try await device.sync(remote) }
    try await devices[1].set("title", of: "second", to: 1)
    for device in devices.reversed() { try await device.sync(remote) }
    for device in devices {
      #expect(try device.store.read { try $0.rejectedSegments(in: zone).map(\.reason) } == [.base])
    }
    let other = MemoryRemote(identity: RemoteID(rawValue: 10))
    for device in devices {
      try await device.store.leaveRemote()
      #expect(try await device.sync(other).isInSync)
    }
    try await settle(devices, other)
    for device in devices { #expect(try device.recordNames() == ["notes:first", "notes:second"]) }
    try await expectAgreement(devices, other)
  }

  @Test(
    "A store without the beginning of a log moves: the log begins there with its snapshot", arguments: [0, 1])
  func movedAfterRetiring(first: Int) async throws {
    let devices = try devices(3)
    for round in 0..<3 {
      for device in devices {
        try await device.set("title", of: Name("by \(device.seed) in \(round)"), to: 1)
        try await settle(devices, remote)
      }
    }
    try await devices[0].store.retireHistory(of: zone)
    try await devices[0].set("title", of: "after", to: 1)
    try await settle(devices, remote)
    try await devices[0].set("title", of: "unsent", to: 1)
    let other = MemoryRemote(identity: RemoteID(rawValue: 10))
    for device in first == 0 ? devices : devices.reversed() {
      try await device.store.leaveRemote()
      #expect(try await device.sync(other).isInSync)
    }
    try await settle(devices, other)
    #expect(try devices[0].recordNames().count == 11)
    let digests = try devices[0].digests()
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    try await fresh.sync(other)
    for device in devices + [fresh] {
      #expect(try device.digests() == digests)
      #expect(try device.store.verify().isSound)
    }
    // All continue there.
    for device in devices + [fresh] { try await device.set("title", of: Name("later \(device.seed)"), to: 1) }
    try await settle(devices + [fresh], other)
    #expect(try fresh.recordNames().count == 15)
    #expect(try fresh.digests() == devices[1].digests())
    // The zone is deleted there like any other.
    try await fresh.store.write { try $0.deleteZone(zone) }
    try await settle(devices + [fresh], other)
    for device in devices { #expect(try device.recordNames() == []) }
  }

  @Test("A store moves to another remote: its zones go there under the same offsets, and others follow")
  func moved() async throws {
    let devices = try devices(3)
    for (index, device) in devices.enumerated() {
      try await device.set("title", of: Name("by \(index)"), to: .int(Int64(index)))
      try await settle(devices, remote)
    }
    try await devices[1].store.write { try $0.delete(RecordID(zone: zone, name: "by 0")) }
    try await settle(devices, remote)
    // One has not sent all, and one has not read all.
    try await devices[2].set("title", of: "read by two", to: 1)
    try await settle(Array(devices[1...]), remote)
    try await devices[0].set("title", of: "unsent", to: 1)
    let other = MemoryRemote(identity: RemoteID(rawValue: 10))
    await #expect(throws: SyncFailure.self) { try await devices[0].sync(other) }
    for device in devices {
      try await device.store.leaveRemote()
      #expect(try await device.sync(other).isInSync)
    }
    try await settle(devices, other)
    let expected: Set<String> = ["notes:by 1", "notes:by 2", "notes:read by two", "notes:unsent"]
    for device in devices { #expect(try device.recordNames() == expected) }
    try await expectAgreement(devices, other)
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    try await settle(devices + [fresh], other)
    #expect(try fresh.digests() == devices[0].digests())
    await #expect(throws: SyncFailure.self) { try await devices[0].sync(remote) }
  }
}
