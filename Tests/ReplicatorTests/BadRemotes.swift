import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A remote that has changed")
struct BadRemotes {
  let other = ZoneID(name: "other")

  /// Two devices that have synced two zones. Both have written since, and nothing of that is sent.
  private func world(_ place: RemotePlace, _ parent: String) async throws -> [Device] {
    let devices = try (1...2).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: "made", in: zone) }
    try await settle(devices, place.remote)
    for (index, device) in devices.enumerated() {
      for zone in [zone, other] { try await device.set("title", of: Name("by \(index)"), to: 1, in: zone) }
    }
    return devices
  }

  /// Syncs a device with a remote that must be refused, and checks that nothing changed anywhere.
  private func expectRefusal(
    _ device: Device, _ place: RemotePlace, _ code: RemoteError.Code,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let objects = try await place.copy()
    let (state, digests) = (try device.store.syncState(), try device.digests())
    for steps in [SyncSteps.all, .ship, .fetch] {
      let failure = await #expect(throws: SyncFailure.self, sourceLocation: sourceLocation) {
        try await device.sync(place.remote, steps)
      }
      #expect(
        failure?.code == code.rawValue, "\(String(describing: failure))", sourceLocation: sourceLocation)
    }
    let (stateAfter, digestsAfter) = (try device.store.syncState(), try device.digests())
    let objectsAfter = try await place.copy()
    #expect(stateAfter == state && digestsAfter == digests, sourceLocation: sourceLocation)
    #expect(objectsAfter == objects, sourceLocation: sourceLocation)
  }

  private func finish(_ devices: [Device], _ place: RemotePlace) async throws {
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices {
      let names = try device.recordNames()
      #expect(names.isSuperset(of: ["notes:by 0", "notes:by 1", "other:by 0", "other:by 1"]))
      device.store.close()
    }
  }

  @Test(
    "Another remote is refused, also if it replaced the right one",
    arguments: RemotePlace.Kind.allCases)
  func anotherRemote(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let foreign = try await RemotePlace(kind, in: scratch.path, identity: RemoteID(rawValue: 10))
    try await expectRefusal(devices[0], foreign, .identityMismatch)
    // The other remote has its own data.
    let stranger = try Device(in: scratch.path, "stranger", seed: 7)
    try await stranger.set("title", of: "theirs", to: 1)
    try await stranger.sync(foreign.remote)
    stranger.store.close()
    try await expectRefusal(devices[0], foreign, .identityMismatch)
    let own = try await place.copy()
    try await place.restore(try await foreign.copy())
    try await expectRefusal(devices[0], place, .identityMismatch)
    try await place.restore(own)
    try await finish(devices, place)
  }

  @Test(
    "A place that is empty, or whose marker is missing, newer or damaged",
    arguments: RemotePlace.Kind.allCases)
  func badMarkers(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let own = try await place.copy()
    try await place.restore([:])
    try await expectRefusal(devices[0], place, .notARemote)
    try await place.restore(own)
    let marker = try #require(own[.marker])
    let newer = newerMarker(marker)
    var (damaged, damagedVersion) = (marker, marker)
    damaged[9] ^= 1
    damagedVersion[4] = 99
    let bad: [([UInt8]?, RemoteError.Code)] = [
      (nil, .notARemote), (newer, .newerFormat), (damaged, .damaged), ([], .notARemote),
      (Array(marker.dropLast()), .damaged), (damagedVersion, .damaged), (Array("readme".utf8), .notARemote),
    ]
    for (bytes, code) in bad {
      try await place.replace(.marker, with: bytes)
      try await expectRefusal(devices[0], place, code)
    }
    try await place.replace(.marker, with: marker)
    try await finish(devices, place)
  }

  @Test(
    "A list of zones that is damaged, or went back to an older state", arguments: RemotePlace.Kind.allCases)
  func badLists(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let last = ObjectName.zoneEvent(2)
    let event = try #require(try await place.get(last))
    var damaged = event
    damaged[damaged.count / 2] ^= 4
    try await place.replace(last, with: damaged)
    // Both zones are known here: they continue, and so do zones created since.
    let report = try await devices[0].sync(place.remote)
    #expect(report.listProblems.map(\.offset) == [2] && !report.isInSync, "\(report)")
    #expect(report.zones.map(\.status) == [.inSync, .inSync] && report.sent == 2)
    try await place.replace(last, with: nil)
    try await expectRefusal(devices[0], place, .wentBack)
    try await place.replace(last, with: event)
    try await finish(devices, place)
  }

  @Test(
    "A log that went back gets back what it has lost, from a store that has read it, before anything is appended",
    arguments: RemotePlace.Kind.allCases)
  func logWentBack(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let old = try await place.copy()
    try await settle(devices, place.remote)
    let new = try await place.copy()
    for device in devices {
      for zone in [zone, other] { try await device.set("title", of: "later", to: 1, in: zone) }
    }
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    let isOfLog: (ObjectName) -> Bool = { $0.incarnation == token.incarnation }
    try await place.restore(old, where: isOfLog)
    let gone = try await place.copy().filter { isOfLog($0.key) }
    #expect(gone.count < new.filter { isOfLog($0.key) }.count)
    let lost = new.filter { isOfLog($0.key) && gone[$0.key] == nil && !$0.key.isBesideLog }
    for (index, device) in devices.enumerated() {
      let report = try await device.sync(place.remote)
      #expect(report.isInSync && report.zones[0].putBack == (index == 0 ? lost.count : 0), "\(report)")
      #expect(try device.pending() == 0)
    }
    let after = try await place.copy()
    for (name, bytes) in lost { #expect(after[name] == bytes) }
    try await finish(devices, place)
  }

  @Test("A remote restored from an older copy is refused", arguments: RemotePlace.Kind.allCases)
  func remoteWentBack(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let old = try await place.copy()
    try await devices[0].set("title", of: "new", to: 1, in: ZoneID(name: "third"))
    try await settle(devices, place.remote)
    let new = try await place.copy()
    try await place.restore(old)
    for device in devices { try await expectRefusal(device, place, .wentBack) }
    try await place.restore(new)
    try await finish(devices, place)
  }

  @Test(
    "If a crash prevented the event after a seal, the next device writes it",
    arguments: RemotePlace.Kind.allCases)
  func sealAlone(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    try await settle(devices, place.remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    let end = token.offset + 1
    try await place.replace(.entry(of: token.incarnation, end), with: LogObject.seal(.deleted, end))
    let events = try await place.remote.zoneEvents(after: nil).events.count
    let report = try await devices[1].sync(place.remote)
    #expect(report.zones.map(\.status) == [.removed, .inSync])
    let after = try await place.remote.zoneEvents(after: nil).events
    #expect(after.count == events + 1 && after.last?.kind == .deleted && after.last?.zone == zone)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices {
      #expect(try device.digests().keys.sorted() == ["other"])
      device.store.close()
    }
  }

  @Test(
    "Tokens of another zone, incarnation or remote, or of another history, are refused",
    arguments: RemotePlace.Kind.allCases)
  func foreignTokens(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    try await settle(devices, place.remote)
    let state = try devices[0].store.syncState()
    let tokens = state.zones.compactMap(\.token)
    let database = try #require(state.databaseToken)
    func code(of token: DatabaseToken) async -> RemoteError.Code? {
      await #expect(throws: RemoteError.self) { try await place.remote.zoneEvents(after: token) }?.code
    }
    func code(of token: ChangeToken) async -> RemoteError.Code? {
      await #expect(throws: RemoteError.self) {
        try await place.remote.segments(after: token, bytesMax: 1 << 20)
      }?.code
    }
    var foreign = database
    foreign.remote = RemoteID(rawValue: 10)
    #expect(await code(of: foreign) == .identityMismatch)
    foreign = database
    foreign.hash = ContentHash.zero
    #expect(await code(of: foreign) == .wentBack)
    foreign = database
    foreign.offset += 1
    #expect(await code(of: foreign) == .wentBack)
    var swapped = tokens[0]
    swapped.zone = other
    #expect(await code(of: swapped) == .zoneUnknown)
    swapped = tokens[0]
    swapped.incarnation = tokens[1].incarnation
    #expect(await code(of: swapped) == .zoneUnknown)
    swapped = tokens[0]
    swapped.hash = tokens[1].hash
    #expect(await code(of: swapped) == .wentBack)
    swapped = tokens[0]
    swapped.offset = .max - 1
    #expect(await code(of: swapped) == .wentBack)
    for device in devices { device.store.close() }
  }
}
