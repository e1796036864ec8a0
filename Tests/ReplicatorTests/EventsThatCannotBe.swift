import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Forged events of the list of zones")
struct EventsThatCannotBe {
  enum Lie: CaseIterable, Sendable {
    /// It deletes a zone's log under another zone's name.
    case deletesUnderAnotherName
    /// It creates a zone with another zone's log.
    case makesOfAnotherLog
    /// It has the hash of another event than the one before it.
    case followsAnother
  }

  @Test(
    "stop no zone and no store, and every store treats them the same", arguments: RemotePlace.Kind.allCases,
    Lie.allCases)
  func lies(kind: RemotePlace.Kind, lie: Lie) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    var devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: "made")
    try await settle(devices, place.remote)
    let state = try devices[0].store.syncState()
    let incarnation = try #require(state.zones.first?.token).incarnation
    let token = try #require(state.databaseToken)
    let made = ZoneID(name: "made up")
    let event =
      switch lie {
      case .deletesUnderAnotherName: ZoneEvent(kind: .deleted, zone: made, incarnation: incarnation)
      case .makesOfAnotherLog: ZoneEvent(kind: .created, zone: made, incarnation: incarnation)
      case .followsAnother: ZoneEvent(kind: .created, zone: made, incarnation: IncarnationID(rawValue: 77))
      }
    let before = lie == .followsAnother ? ContentHash(of: [1].span.bytes) : token.hash
    try await place.replace(
      .zoneEvent(token.offset + 1), with: try event.encode(at: token.offset + 1, after: before))

    try await devices[0].set("title", of: "second", to: "later")
    devices.append(try Device(in: scratch.path, "d3", seed: 3))
    try await settle(devices, place.remote)
    // Later events count.
    try await devices[2].set("title", of: "first", to: "there", in: ZoneID(name: "more"))
    try await settle(devices, place.remote)
    let zones = lie == .followsAnother ? ["made up", "more", "notes"] : ["more", "notes"]
    for device in devices {
      #expect(try device.digests().keys.sorted() == zones)
      #expect(try device.recordNames() == ["notes:first", "notes:second", "more:first"])
    }
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }

  @Test(
    "A list of zones that went back is read again with a zone's log", arguments: RemotePlace.Kind.allCases)
  func wentBack(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: "made")
    try await settle(devices.dropLast(), place.remote)
    let copy = try await place.copy()
    try await devices[0].set("title", of: "lost", to: 1, in: ZoneID(name: "lost"))
    try await settle(devices.dropLast(), place.remote)
    try await place.restore(copy)
    try await devices[2].set("title", of: "new", to: 1, in: ZoneID(name: "new"))
    try await devices[2].sync(place.remote)
    for device in devices.dropLast() {
      let failure = await #expect(throws: SyncFailure.self) { try await device.sync(place.remote) }
      #expect(failure?.code == "wentBack" && failure?.hint.contains("--reread") == true)
      _ = try await device.store.beginRereading(zone, from: 1)
      let report = try await device.sync(place.remote)
      #expect(report.failure == nil)
      let zones = Dictionary(uniqueKeysWithValues: report.zones.map { ($0.zone.name, $0.status) })
      #expect(zones["notes"] == .inSync && zones["new"] == .inSync, "\(report)")
      #expect(try device.recordNames() == ["notes:first", "lost:lost", "new:new"])
    }
    for device in devices { device.store.close() }
  }
}
