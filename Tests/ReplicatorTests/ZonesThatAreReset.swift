import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Zones that the remote has reset, and that stores send again")
struct ZonesThatAreReset {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func log(_ device: Device) throws -> IncarnationID {
    try #require(try device.store.syncState().zones.first?.token?.incarnation)
  }

  /// Resets the zone, as the remote's operator does: through a client of its own.
  private func reset(_ device: Device) async throws {
    try await remote.reopened().resetZone(zone, try log(device))
  }

  /// Devices that have each written, and read all.
  private func settledDevices(_ count: Int) async throws -> [Device] {
    let devices = try (1...count).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for device in devices {
      try await device.set("title", of: Name("by \(device.seed)"), to: 1)
      try await settle(devices, remote)
    }
    return devices
  }

  private func listedKinds() async throws -> [ZoneEvent.Kind] {
    try await remote.zoneEvents(after: nil).events.map(\.kind)
  }

  private func expectSoundRemote(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let audit = try await RemoteAudit(of: remote.reopened(), objects: try await remote.objects.list())
    #expect(
      audit.problems.isEmpty && audit.logs.map(\.fate) == [nil], "\(audit.problems)",
      sourceLocation: sourceLocation)
  }

  @Test("All stores send everything again on their own, whichever comes first", arguments: 0..<4)
  func sentAgain(first: Int) async throws {
    let devices = try await settledDevices(4)
    let behind = devices[3]
    // One begins with a snapshot, one has read less than the others, and that and another have something unsent.
    try await devices[2].store.retireHistory(of: zone)
    for device in devices[..<2] { try await device.set("title", of: Name("late \(device.seed)"), to: 1) }
    for _ in 0..<2 { for device in devices[..<3] { try await device.sync(remote) } }
    _ = try await devices[1].setAsset(assetBytes(5000), of: "photo")
    try await devices[1].sync(remote)
    for device in [devices[1], behind] {
      try await device.set("title", of: Name("unsent \(device.seed)"), to: 1)
    }
    let incarnation = try log(devices[0])
    try await reset(devices[0])
    #expect(remote.objects.contents.keys.filter { $0.incarnation == incarnation }.count == 1)
    for device in devices[first...] + devices[..<first] {
      let report = try await device.sync(remote)
      #expect(report.isInSync, "\(report)")
    }
    try await settle(devices, remote)
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    let names = ["by 1", "by 2", "by 3", "by 4", "late 1", "late 2", "photo", "unsent 2", "unsent 4"]
    for device in devices + [fresh] {
      try await device.sync(remote)
      #expect(try device.recordNames() == Set(names.map { "notes:\($0)" }))
      #expect(try device.digests() == devices[0].digests() && device.pending() == 0)
      #expect(try device.store.verify().isSound)
    }
    #expect(try await listedKinds() == [.created, .reset, .reopened])
    #expect(try log(fresh) == incarnation)
    try await expectSoundRemote()
  }

  @Test("Three that send it again at once make one log of it")
  func together() async throws {
    let devices = try await settledDevices(3)
    for device in devices { try await device.set("title", of: Name("unsent \(device.seed)"), to: 1) }
    try await reset(devices[0])
    let replicators = devices.map { $0.replicator(remote.reopened()) }
    async let one = replicators[0].syncOnce()
    async let other = replicators[1].syncOnce()
    async let third = replicators[2].syncOnce()
    _ = try await (one, other, third)
    try await settle(devices, remote)
    #expect(try devices[0].recordNames().count == 6)
    try await expectAgreement(devices, remote)
    #expect(try await listedKinds() == [.created, .reset, .reopened])
    try await expectSoundRemote()
  }

  @Test("A reset that was cut short loses nothing, whether it is continued or not", arguments: 1...12)
  func cutShort(changes: Int) async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    for isContinued in [true, false] {
      do throws(RemoteError) {
        try await ObjectRemote(FailingObjects(remote.objects, after: changes)).resetZone(zone, incarnation)
      } catch {
        #expect(error.code == .unreachable)
      }
      if isContinued { for _ in 0..<2 { try await reset(devices[0]) } }
      try await devices[1].set("title", of: Name("after \(isContinued)"), to: 1)
      #expect(try await devices[isContinued ? 0 : 1].sync(remote).isInSync)
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
      try await expectSoundRemote()
    }
    #expect(try devices[0].recordNames().count == 4)
  }

  @Test("A store that was reading the log again loses nothing of others' work, though it comes first")
  func rereading() async throws {
    let devices = try await settledDevices(3)
    let names = try devices[0].recordNames()
    for offset in [UInt64(1), 2] {
      _ = try await devices[0].store.beginRereading(zone, from: offset)
      try await reset(devices[1])
      #expect(try await devices[0].sync(remote).isInSync)
      #expect(try devices[0].recordNames() == names)
      let fresh = try Device(in: scratch.path, "fresh \(offset)", seed: 44)
      #expect(try await fresh.sync(remote).isInSync)
      #expect(try fresh.recordNames() == names)
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
    }
  }

  @Test("What becomes of a zone that was reset is the app's choice", arguments: [false, true])
  func answers(hasUnsent: Bool) async throws {
    for answer in [ZoneEndAnswer.remove, .keep, .detach, .makeAgain] {
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let device = try Device(in: scratch.path, "\(answer)", seed: 1)
      try await device.set("title", of: "first", to: 1)
      try await settle([device], remote)
      try await remote.resetZone(zone, try log(device))
      if hasUnsent { try await device.set("title", of: "unsent", to: 1) }
      let replicator = device.replicator(remote) { $0.zoneEndAnswer = { _, _ in answer } }
      var statuses: [ZoneStatus] = []
      for _ in 0..<2 { statuses = try await replicator.syncOnce().zones.map(\.status) }
      let isRemoved = answer == .remove && !hasUnsent
      let expected: ZoneStatus =
        switch answer {
        case .detach: .local
        case .makeAgain: .inSync
        case .remove, .keep: .paused(.reset)
        }
      #expect(statuses == (isRemoved ? [] : [expected]))
      #expect(try device.recordNames().count == (isRemoved ? 0 : hasUnsent ? 2 : 1))
    }
  }

  @Test(
    "Who only fetches keeps the zone and waits, and a new store does not get it, until another has sent it")
  func onlyFetches() async throws {
    let devices = try await settledDevices(2)
    try await reset(devices[0])
    let fresh = try Device(in: scratch.path, "fresh", seed: 44)
    for _ in 0..<2 {
      #expect(try await devices[0].sync(remote, .fetch).zones.map(\.status) == [.paused(.reset)])
      #expect(try await fresh.sync(remote).zones.isEmpty)
    }
    #expect(try devices[0].recordNames().count == 2)
    #expect(try await devices[1].sync(remote).isInSync)
    #expect(try await devices[0].sync(remote, .fetch).zones.map(\.status) == [.inSync])
    try await settle(devices + [fresh], remote)
    try await expectAgreement(devices + [fresh], remote)
  }

  @Test("A zone that was deleted here while it was reset is deleted once it is there again")
  func deletedHere() async throws {
    let devices = try await settledDevices(2)
    try await reset(devices[0])
    try await devices[1].store.write { try $0.deleteZone(zone) }
    try await devices[1].sync(remote)
    #expect(try await devices[0].sync(remote).isInSync)
    for _ in 0..<2 { for device in [devices[1], devices[0]] { try await device.sync(remote) } }
    for device in devices { #expect(try device.recordNames() == []) }
  }

  @Test("Stores that sync while the zone is reset lose nothing, and the log is whole")
  func resetWhileSyncing() async throws {
    let devices = try await settledDevices(2)
    let incarnation = try log(devices[0])
    for round in 0..<WideTests.choose(200, otherwise: 20) {
      try await devices[round % 2].set("title", of: Name("in \(round)"), to: 1)
      async let first = devices[0].replicator(remote.reopened()).syncOnce()
      async let second = devices[1].replicator(remote.reopened()).syncOnce()
      do throws(RemoteError) {
        try await remote.reopened().resetZone(zone, incarnation)
      } catch {
        #expect(error.code == .later)
      }
      _ = try await (first, second)
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
      try await expectSoundRemote()
    }
  }

  @Test("A log that is opened again while its assets go is not called discarded")
  func madeAgainMeanwhile() async throws {
    let devices = try await settledDevices(2)
    let (remote, incarnation) = (remote, try log(devices[0]))
    for kind in [LogSeal.Kind.reset, .purged] {
      do throws(RemoteError) {
        try await remote.log.discarder.discard(zone, incarnation, as: kind) { () throws(RemoteError) in
          try await remote.reopened().reopenZone(zone, incarnation)
        }
        Issue.record("assets may have gone that a store takes as sent")
      } catch {
        #expect(error.code == .later)
      }
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
    }
  }
}
