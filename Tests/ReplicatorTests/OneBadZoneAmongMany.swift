import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("One bad zone among many")
struct OneBadZoneAmongMany {
  let scratch = TemporaryDirectory()

  @Test(
    "a damaged segment among ten thousand transactions of a hundred zones: after one round 99 are in sync"
  )
  func poison() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let zones = (0..<100).map { ZoneID(name: Name("zone \($0 + 100)")) }
    var poison: (name: ObjectName, bytes: [UInt8])?
    for (index, zone) in zones.enumerated() {
      let proposed = IncarnationID(rawValue: UInt128(index + 1))
      let incarnation = try await remote.createZone(zone, proposing: proposed)
      var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1), seed: UInt64(index))
      for offset in 0..<10 as Range<UInt64> {
        _ = try await remote.append(try maker.next(transactions: 10), after: offset)
      }
      guard index == 61 else { continue }
      let name = ObjectName.entry(of: incarnation, 4)
      var bytes = try #require(try await remote.objects.get(name, bytesMax: LogObject.bytesMax))
      poison = (name, bytes)
      bytes[bytes.count - 40] ^= 1
      try await remote.objects.delete(name)
      _ = try await remote.objects.putIfAbsent(name, bytes)
    }
    let device = try Device(in: scratch.path, "reader", seed: 1)
    let report = try await device.sync(remote)
    #expect(report.zones.map(\.zone) == zones && report.createdZones.count == 100)
    #expect(report.received == 9_930)
    for zone in report.zones where zone.zone != zones[61] {
      #expect(zone.status == .inSync && zone.received == 100, "\(zone)")
    }
    guard case .parked(4, _) = report.zones[61].status else {
      Issue.record("\(report.zones[61])")
      return
    }
    #expect(report.zones[61].received == 30)
    let right = try #require(poison)
    try await remote.objects.delete(right.name)
    _ = try await remote.objects.putIfAbsent(right.name, right.bytes)
    let mended = try await device.sync(remote)
    #expect(mended.isInSync && mended.received == 70)
    let check = try device.store.verify()
    #expect(check.isSound)
    device.store.close()
  }

  @Test(
    "a zone whose segments the remote always refuses: the others are sent in each round, it keeps its own",
    arguments: WideTests.choose(
      [RemoteError.Code.denied, .overQuota, .mismatch, .wentBack], otherwise: [.denied, .wentBack]))
  func refused(code: RemoteError.Code) async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let zones = (0..<20).map { ZoneID(name: Name("zone \($0 + 100)")) }
    let refusing = RefusingRemote(remote: remote, zone: zones[7], code: code)
    let devices = try (1...2).map { try Device(in: scratch.path, "\(code) \($0)", seed: UInt64($0)) }
    for round in 1...10 {
      for zone in zones { try await devices[0].set("title", of: Name("\(round)"), to: 1, in: zone) }
      let report = try await devices[0].sync(refusing)
      #expect(report.sent == 19)
      for zone in report.zones where zone.zone != zones[7] { #expect(zone.status == .inSync) }
      guard case .failed(let failure) = report.zones[7].status else {
        Issue.record("\(report.zones[7])")
        return
      }
      #expect(failure.code == code.rawValue && failure.scope == .zone)
      let state = try devices[0].store.syncState()
      #expect(state.zones.map(\.pending) == zones.map { $0 == zones[7] ? UInt64(round) : 0 })
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    let names = try devices[1].recordNames()
    #expect(names.count == 200)
    for device in devices { device.store.close() }
  }
}

/// A remote that refuses all segments of one zone.
private struct RefusingRemote: ForwardingRemote {
  let remote: any RemoteLog
  let zone: ZoneID
  let code: RemoteError.Code

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    guard segment.header.zone != zone else {
      throw RemoteError(code, "nothing of \(zone) is taken", hint: "none")
    }
    return try await remote.append(segment, after: token)
  }
}
