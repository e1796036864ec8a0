import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Zones that the remote has purged, and that are made again")
struct ZonesThatArePurged {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func devices(_ count: Int) throws -> [Device] {
    try (1...count).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
  }

  private func log(_ device: Device) throws -> IncarnationID {
    try #require(try device.store.syncState().zones.first?.token?.incarnation)
  }

  /// Purges the zone, as the remote's operator does: through a client of its own.
  private func purge(_ device: Device) async throws {
    try await remote.reopened().purgeZone(zone, try log(device))
  }

  /// Begins to purge a log, and ends after so many changes of objects.
  private func endPurge(of log: IncarnationID, after changes: Int) async throws {
    do throws(RemoteError) {
      try await ObjectRemote(FailingObjects(remote.objects, after: changes)).purgeZone(zone, log)
    } catch {
      #expect(error.code == .unreachable)
    }
  }

  /// Lets a device sync whose app wants purged zones to be made again.
  private func makeAgain(_ device: Device) async throws -> SyncReport {
    try await device.replicator(remote) { $0.zoneEndAnswer = { _, _ in .makeAgain } }.syncOnce()
  }

  /// Devices that have each written, and read all.
  private func settledDevices(_ count: Int) async throws -> [Device] {
    let devices = try devices(count)
    for (index, device) in devices.enumerated() {
      try await device.set("title", of: Name("by \(index)"), to: .int(Int64(index)))
      try await settle(devices, remote)
    }
    // Removes what another has added: the order of causes must be as before.
    try await devices[1].store.write { try $0.delete(RecordID(zone: zone, name: "by 0")) }
    try await settle(devices, remote)
    return devices
  }

  private func objectsOfLog(_ log: IncarnationID) -> [ObjectName] {
    remote.objects.contents.keys.filter { $0.incarnation == log }
  }

  @Test("What a remote had of a purged zone is gone there; stores keep all, also what is unsent, and say so")
  func kept() async throws {
    let devices = try await settledDevices(3)
    _ = try await devices[0].setAsset(assetBytes(5000), of: "photo")
    try await settle(devices, remote)
    let names = try devices[0].recordNames()
    try await devices[1].set("title", of: "unsent", to: 1)
    let incarnation = try log(devices[0])
    try await purge(devices[0])
    #expect(objectsOfLog(incarnation) == [.entry(of: incarnation, 6)])
    for _ in 0..<2 {
      for device in devices {
        let report = try await device.sync(remote)
        #expect(report.zones.map(\.status) == [.paused(.purged)] && report.sent == 0)
      }
    }
    try devices[1].reopen()
    #expect(try await devices[1].sync(remote).zones.map(\.status) == [.paused(.purged)])
    for device in devices {
      #expect(try device.recordNames() == (device === devices[1] ? names.union(["notes:unsent"]) : names))
      #expect(try device.store.verify().isSound)
    }
    // A new store does not get an empty zone.
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    let report = try await fresh.sync(remote)
    #expect(report.zones.isEmpty && report.isInSync)
    #expect(try fresh.store.read { try $0.zones() }.isEmpty)
  }

  @Test("A seal far behind the last entry makes a purge no longer")
  func farSeal() async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    let far = ObjectName.entry(of: incarnation, 1 << 40)
    remote.objects.contents[far] = LogSeal(offset: 1 << 40, kind: .purged).encode()
    let objects = FailingObjects(remote.objects, after: 20_000)
    try await ObjectRemote(objects).purgeZone(zone, incarnation)
    #expect(objectsOfLog(incarnation) == [far])
    #expect(try await devices[1].sync(remote).zones.map(\.status) == [.paused(.purged)])
    #expect(try await makeAgain(devices[0]).isInSync)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
  }

  @Test(
    "A client with an old list of zones finds the purge where entries are missing, wherever it was cut short",
    arguments: 1...12)
  func oldList(changes: Int) async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    let token = try #require(try devices[0].store.read { try $0.changeToken(of: zone) })
    let old = [remote.reopened(), remote.reopened()]
    for client in old { _ = try await client.segments(after: token, bytesMax: 1) }
    try await endPurge(of: incarnation, after: changes)
    #expect(try await old[0].segments(after: token, bytesMax: 1) == .gone(.purged))
    // What is left comes first, and never a hole.
    var last = ChangeToken.start(of: zone, incarnation)
    while case .segments(let page, _) = try await old[1].segments(after: last, bytesMax: 1) {
      let end = try #require(page.last)
      #expect(end.offset == last.offset + 1)
      last = ChangeToken(
        zone: zone, incarnation: incarnation, offset: end.offset,
        hash: try SegmentFrame.readHeader(end.bytes.span.bytes).contentHash, chain: end.chain)
    }
    #expect(try await devices[1].sync(remote).zones.map(\.status) == [.paused(.purged)])
    // The next one ends it, and the one after that has nothing to do.
    for _ in 0..<2 { try await remote.reopened().purgeZone(zone, incarnation) }
    #expect(objectsOfLog(incarnation) == [.entry(of: incarnation, token.offset + 1)])
    let audit = try await RemoteAudit(of: remote.reopened(), objects: try await remote.objects.list())
    #expect(audit.problems.isEmpty && audit.logs.map(\.leftObjects) == [0])
  }

  @Test("The first that wants the zone makes it again of what is here, and all continue at their offsets")
  func madeAgain() async throws {
    let devices = try await settledDevices(3)
    try await devices[2].set("title", of: "unsent", to: 1)
    try await purge(devices[0])
    #expect(try await devices[1].sync(remote).zones.map(\.status) == [.paused(.purged)])
    let report = try await makeAgain(devices[0])
    #expect(report.isInSync && report.zones.map(\.putBack) == [4] && report.zones.map(\.partedAt) == [nil])
    // One has seen the purge before, and one reads both events at once.
    for device in devices[1...] {
      let report = try await device.sync(remote)
      #expect(report.isInSync && report.zones.map(\.partedAt) == [nil])
    }
    try await settle(devices, remote)
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    for device in devices + [fresh] {
      try await device.sync(remote)
      #expect(try device.recordNames() == ["notes:by 1", "notes:by 2", "notes:unsent"])
      try await device.set("title", of: Name("later \(device.seed)"), to: 1)
    }
    try await settle(devices + [fresh], remote)
    try await expectAgreement(devices, remote)
    #expect(try fresh.digests() == devices[0].digests())
  }

  @Test("A user makes the zone again by detaching and attaching it", arguments: [false, true])
  func attachedAgain(isDetachedBefore: Bool) async throws {
    let devices = try await settledDevices(2)
    if isDetachedBefore { try await devices[0].store.write { try $0.detachZone(zone) } }
    try await purge(devices[1])
    if !isDetachedBefore {
      #expect(try await devices[0].sync(remote).zones.map(\.status) == [.paused(.purged)])
      try await devices[0].store.write { try $0.detachZone(zone) }
    }
    #expect(try await devices[0].sync(remote).zones.map(\.status) == [.local])
    try await devices[0].store.write { try $0.attachZone(zone) }
    #expect(try await devices[0].sync(remote).isInSync)
    try await settle(devices, remote)
    #expect(try devices[0].recordNames() == ["notes:by 1"])
    try await expectAgreement(devices, remote)
  }

  @Test("Two that make it again at once, and one that has read less than others, lose nothing of any")
  func together() async throws {
    for isBehindFirst in [false, true] {
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let trio = try (1...3).map {
        try Device(in: scratch.path, "\(isBehindFirst) \($0)", seed: UInt64($0))
      }
      for device in trio {
        try await device.set("title", of: Name("by \(device.seed)"), to: 1)
        try await settle(trio, remote)
      }
      // The first one does not read these, and has written meanwhile.
      try await trio[0].set("title", of: "unsent", to: 1)
      for device in trio[1...] { try await device.set("title", of: Name("late \(device.seed)"), to: 1) }
      for _ in 0..<2 { for device in trio[1...] { try await device.sync(remote) } }
      try await remote.reopened().purgeZone(zone, try log(trio[0]))
      let replicators = trio.map {
        $0.replicator(remote.reopened()) { $0.zoneEndAnswer = { _, _ in .makeAgain } }
      }
      if isBehindFirst { _ = try await replicators[0].syncOnce() }
      async let one = replicators[1].syncOnce()
      async let other = replicators[2].syncOnce()
      _ = try await (one, other)
      try await settle(trio, remote)
      let expected = Set(["by 1", "by 2", "by 3", "unsent", "late 2", "late 3"].map { "notes:\($0)" })
      for device in trio {
        #expect(try device.recordNames() == expected && device.pending() == 0)
        #expect(try device.digests() == trio[0].digests())
        #expect(try device.store.verify().isSound)
      }
      let events = try await remote.zoneEvents(after: nil).events.map(\.kind)
      #expect(events == [.created, .purged, .reopened])
    }
  }

  @Test("Of a purge that was cut short nothing is left in the log that is made again, and it is purged again")
  func cutShort() async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    for changes in [1, 2, 4, 7, 9] {
      try await endPurge(of: incarnation, after: changes)
      #expect(try await makeAgain(devices[0]).isInSync, "\(changes)")
      try await devices[1].set("title", of: Name("after \(changes)"), to: 1)
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
      let audit = try await RemoteAudit(of: remote.reopened(), objects: try await remote.objects.list())
      #expect(audit.problems.isEmpty && audit.logs.map(\.fate) == [nil], "\(changes)")
    }
    #expect(try devices[0].recordNames().count == 6)
  }

  @Test(
    "Where records begin with a snapshot, the log that is made again begins with it",
    arguments: [false, true])
  func retired(isTrimmed: Bool) async throws {
    let devices = try await settledDevices(2)
    if isTrimmed {
      // The log begins with a snapshot too, which goes with the purge.
      for round in 0..<20 {
        try await devices[0].set("title", of: Name("in \(round)"), to: .string("\(round * 7919)"))
        try await devices[0].replicator(remote) { $0.policy.snapshotBytesMin = 1 }.syncOnce()
      }
      let objects = try await remote.objects.list()
      let audit = try await RemoteAudit(of: remote, objects: objects)
      let plan = RemoteTrim(remote).plan(
        audit, objects, LogFloorChoice(now: 0, olderThanMilliseconds: 0))
      let log = try #require(plan.first)
      #expect(log.offset > 1)
      try await RemoteTrim(remote).run(log)
      try await settle(devices, remote)
    }
    for device in devices { try await device.store.retireHistory(of: zone) }
    try await devices[0].set("title", of: "after", to: 1)
    try await settle(devices, remote)
    try await purge(devices[0])
    #expect(try await makeAgain(devices[1]).isInSync)
    try await devices[0].set("title", of: "last", to: 1)
    try await settle(devices, remote)
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    for device in devices + [fresh] {
      try await device.sync(remote)
      #expect(try device.digests() == devices[0].digests())
      #expect(try device.store.verify().isSound)
    }
  }

  @Test("A zone that was deleted here while it was purged is deleted once it is there again")
  func deletedHere() async throws {
    let devices = try await settledDevices(2)
    try await purge(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    #expect(try devices[1].recordNames() == [])
    #expect(try await makeAgain(devices[0]).isInSync)
    for _ in 0..<2 { for device in [devices[1], devices[0]] { try await device.sync(remote) } }
    for device in devices { #expect(try device.recordNames() == []) }
  }

  @Test("What becomes of a purged zone is the app's choice", arguments: [false, true])
  func answers(hasUnsent: Bool) async throws {
    for answer in [ZoneEndAnswer.remove, .keep, .detach] {
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let device = try Device(in: scratch.path, "\(answer)", seed: 1)
      try await device.set("title", of: "first", to: 1)
      try await settle([device], remote)
      try await remote.purgeZone(zone, try log(device))
      if hasUnsent { try await device.set("title", of: "unsent", to: 1) }
      let replicator = device.replicator(remote) { $0.zoneEndAnswer = { _, _ in answer } }
      var statuses: [ZoneStatus] = []
      for _ in 0..<2 { statuses = try await replicator.syncOnce().zones.map(\.status) }
      let isRemoved = answer == .remove && !hasUnsent
      #expect(statuses == (isRemoved ? [] : answer == .detach ? [.local] : [.paused(.purged)]))
      #expect(try device.recordNames().count == (isRemoved ? 0 : hasUnsent ? 2 : 1))
    }
  }

  @Test("A repair puts nothing into a purged log, and what a log that was made again has lost")
  func repaired() async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    try await purge(devices[0])
    func repair(_ device: Device) async throws -> [RemoteRepair.Outcome] {
      var repair = RemoteRepair(remote, from: device.store)
      try await repair.repairLogs(
        try await RemoteAudit(of: remote, objects: try await remote.objects.list()))
      return repair.steps.map(\.outcome)
    }
    #expect(try await repair(devices[0]).isEmpty)
    #expect(objectsOfLog(incarnation).count == 1)
    try await remote.reopenZone(zone, incarnation)
    #expect(try await repair(devices[0]) == [.putBack, .putBack, .putBack])
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
  }
}
