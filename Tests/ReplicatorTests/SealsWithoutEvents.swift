import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("A sealed log without an event in the list of zones, after a crash")
struct SealsWithoutEvents {
  /// A remote with a zone of two segments and a seal, a device that has the first segment, and the zone's
  /// incarnation.
  func world() async throws -> (
    remote: MemoryRemote, device: Device, incarnation: IncarnationID, scratch: TemporaryDirectory
  ) {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "d1", seed: 1)
    try await device.set("title", of: "first", to: "made")
    try await device.sync(remote)
    let token = try #require(try device.store.syncState().zones[0].token)
    try #require(token.offset == 1)
    let other = try Device(in: scratch.path, "d2", seed: 2)
    try await other.set("title", of: "second", to: "made")
    try await other.sync(remote)
    other.store.close()
    let seal = ObjectName.entry(of: token.incarnation, 3)
    try #require(try await remote.objects.putIfAbsent(seal, LogObject.seal(.deleted, 3)))
    return (remote, device, token.incarnation, scratch)
  }

  func fates(_ remote: any RemoteLog) async throws -> [ZoneEvent.Kind] {
    try await remote.zoneEvents(after: nil).events.map(\.kind)
  }

  @Test("A device that fetches up to the seal writes the event, once, and deletes the zone here too")
  func fetched() async throws {
    let (remote, device, _, scratch) = try await world()
    defer { withExtendedLifetime(scratch) {} }
    #expect(try await fates(remote) == [.created])
    let report = try await device.sync(remote)
    #expect(report.zones.map(\.status) == [.removed])
    #expect(try await fates(remote.reopened()) == [.created, .deleted])
    try await device.sync(remote.reopened())
    #expect(try await fates(remote.reopened()) == [.created, .deleted])
    device.store.close()
  }

  @Test("A device that appends after it writes the event, and keeps what was never sent")
  func appended() async throws {
    let (remote, device, incarnation, scratch) = try await world()
    defer { withExtendedLifetime(scratch) {} }
    try await device.set("title", of: "first", to: "changed")
    let report = try await device.sync(remote, .ship)
    #expect(report.zones.map(\.status) == [.paused(.deleted)])
    #expect(try await fates(remote.reopened()) == [.created, .deleted])
    #expect(try device.pending() == 1)
    #expect(try await remote.objects.list().filter { $0.name?.incarnation == incarnation }.count == 3)
    device.store.close()
  }

  @Test("A device that deletes it again completes the first deletion")
  func deleted() async throws {
    let (remote, device, incarnation, scratch) = try await world()
    defer { withExtendedLifetime(scratch) {} }
    for _ in 0..<2 { try await remote.reopened().deleteZone(zone, incarnation) }
    #expect(try await fates(remote.reopened()) == [.created, .deleted])
    device.store.close()
  }

  @Test("A device that must not write there learns of the end, and leaves the list as it is")
  func readOnly() async throws {
    let (remote, device, incarnation, scratch) = try await world()
    defer { withExtendedLifetime(scratch) {} }
    let before = remote.objects.contents
    let reader = ObjectRemote(remote.objects, isReadOnly: true)
    var token = try #require(try device.store.syncState().zones[0].token)
    guard case .segments(let page, hasMore: true) = try await reader.segments(after: token, bytesMax: 1 << 20)
    else {
      Issue.record("the segment before the seal was not read")
      return
    }
    token.offset = 2
    token.chain = page[0].chain
    token.hash = try SegmentPacker.unpack(page[0].bytes).header.contentHash
    #expect(try await reader.segments(after: token, bytesMax: 1 << 20) == .gone(.deleted))
    #expect(remote.objects.contents == before)
    #expect(incarnation == token.incarnation)
    device.store.close()
  }
}
