import StoreTesting
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Histories of which a policy keeps a part")
struct HistoriesCutByPolicy {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
  private let clock = TestDays()

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    let clock = clock
    return try Device(in: scratch.path, name, seed: seed, clock: { clock.milliseconds })
  }

  /// Two devices that have written on each of ten days: their logs have 20 entries.
  private func world() async throws -> [Device] {
    let devices = try [device("a", 1), device("b", 2)]
    for day in 0..<10 {
      clock.day = day
      for device in devices {
        try await device.set("day", of: Name("r\(day % 3)"), to: .int(Int64(day)))
        try await device.set(
          "title", of: Name("r\(day % 3)"),
          to: .string("\(device.seed)" + String(repeating: "x", count: 3000)))
        try await device.sync(remote)
      }
    }
    try await settle(devices, remote)
    return devices
  }

  private func close(_ devices: [Device]) { for device in devices { device.store.close() } }

  private func positions(_ store: LocalStore) throws -> [Position] {
    var found: [Position] = []
    try store.read { tx in
      try tx.history(zone: zone) {
        found.append($0.position)
        return true
      }
    }
    return found
  }

  private static let day: Int64 = 86_400_000

  @Test("What is younger stays, with the past since then", arguments: [false, true])
  func byAge(hasPending: Bool) async throws {
    let devices = try await world()
    let store = devices[0].store
    if hasPending { try await devices[0].set("title", of: "r0", to: "pending") }
    let (before, then) = (try devices[0].digests(), clock.milliseconds - 3 * Self.day)
    let past = try await store.snapshot(asOf: then).read { try $0.digest(of: zone) }
    let retired = try await store.retireHistory(keeping: HistoryPolicy(millisecondsMax: 3 * Self.day))
    #expect(retired.map(\.zone) == [zone])
    let left = try positions(store)
    // What the other wrote on a day came here on the next.
    #expect(left.count == (hasPending ? 15 : 14) && retired[0].transactions == 26, "\(retired) \(left)")
    #expect(retired[0].position == Position(rawValue: left[0].rawValue - 1))
    #expect(try devices[0].digests() == before && devices[0].pending() == (hasPending ? 1 : 0))
    #expect(try store.verify().isSound)
    #expect(try await store.snapshot(asOf: then).read { try $0.digest(of: zone) } == past)
    let early = await #expect(throws: StoreError.self) { try await store.snapshot(asOf: then - Self.day) }
    #expect(early?.code == .retired)
    let origin = try #require(try store.information().zones[0].origin)
    #expect(origin.position == retired[0].position && origin.arrivedMilliseconds == then)
    // Nothing more goes today; tomorrow a day more does.
    #expect(try await store.retireHistory(keeping: HistoryPolicy(millisecondsMax: 3 * Self.day)).isEmpty)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    clock.day += 1
    let next = try await store.retireHistory(keeping: HistoryPolicy(millisecondsMax: 3 * Self.day))
    #expect(next.map(\.transactions) == [4])
    try devices[0].reopen()
    _ = try await devices[0].store.rebuild()
    try await expectAgreement(devices, remote)
    #expect(try devices[0].store.verify().isSound)
    close(devices)
  }

  @Test(
    "It may be cut at every entry, with or without work that waits, and sync continues",
    arguments: Array(stride(from: 0, through: 20, by: WideTests.choose(1, otherwise: 5))))
  func everywhere(kept: Int) async throws {
    let devices = try await world()
    let store = devices[0].store
    if kept % 2 == 1 {
      try await devices[0].set("title", of: "r1", to: "pending")
      try await devices[1].set("title", of: "r1", to: "meanwhile")
    }
    let before = try devices[0].digests()
    let all = try await entryBytes(store)
    let most = all.suffix(kept).reduce(0, +)
    let retired = try await store.retireHistory(keeping: HistoryPolicy(logBytesMax: most))
    #expect(retired.first?.bytes ?? 0 == all.dropLast(kept).reduce(0, +))
    #expect(try store.information().zones[0].origin?.offset ?? 0 == UInt64(20 - kept))
    #expect(try devices[0].digests() == before)
    #expect(try store.verify().isSound)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try store.verify().isSound)
    close(devices)
  }

  /// The bytes of the transactions of each entry of the remote log, from its start.
  private func entryBytes(_ store: LocalStore) async throws -> [UInt64] {
    try store.read { tx in
      let number = try tx.readView.zones.number(of: zone)
      let token = try #require(try tx.readView.zoneRowIfThere(number)?.token)
      var found: [UInt64] = []
      try tx.readView.segments.forEach(in: number, token.incarnation, upTo: token.offset) { _, row in
        var bytes: UInt64 = 0
        for sequence in row.first...row.last {
          let position = try tx.readView.log.position(of: row.replica, row.epoch, sequence, in: number)
          bytes += try tx.readView.log.withEntry(at: #require(position)) { _, body in UInt64(body.byteCount) }
        }
        found.append(bytes)
      }
      return found
    }
  }

  @Test("Nothing goes of what was never sent, or without a limit, and nothing that is young")
  func nothing() async throws {
    let devices = try await world()
    let store = devices[0].store
    let local = ZoneID(name: "local")
    try await store.write { tx in
      try tx.createZone(local)
      try tx.create(RecordID(zone: local, name: "x"), type: "note")
    }
    for policy in [
      .everything, HistoryPolicy(millisecondsMax: 30 * Self.day), HistoryPolicy(logBytesMax: 1 << 30),
      HistoryPolicy(millisecondsMax: .max),
    ] { #expect(try await store.retireHistory(keeping: policy).isEmpty) }
    let entries = try store.read { try $0.lastPosition() }
    #expect(entries.rawValue == 41)
    let all = HistoryPolicy(millisecondsMax: 0)
    #expect(try await store.retireHistory(keeping: all, in: [local]).isEmpty)
    let unknown = await #expect(throws: StoreError.self) {
      try await store.retireHistory(keeping: all, in: [ZoneID(name: "none")])
    }
    #expect(unknown?.code == .zoneUnknown)
    #expect(try await store.retireHistory(keeping: all).map(\.transactions) == [40])
    #expect(try store.information().zones.first { $0.id == local }?.transactions == 1)
    close(devices)
  }

  @Test("Cut short anywhere, nothing is lost, and the next try does it", arguments: 0..<6)
  func cutShort(after calls: Int) async throws {
    let devices = try await world()
    let before = try devices[0].digests()
    let left = Mutex(calls)
    let policy = HistoryPolicy(millisecondsMax: 3 * Self.day)
    _ = try? await devices[0].store.retireHistory(keeping: policy) { _, _ in
      try left.withLock {
        $0 -= 1
        if $0 < 0 { throw CancellationError() }
      }
    }
    try devices[0].reopen()
    #expect(try devices[0].digests() == before)
    #expect(try devices[0].store.verify().isSound)
    try await devices[0].store.retireHistory(keeping: policy)
    #expect(try positions(devices[0].store).count == 14)
    #expect(try devices[0].digests() == before)
    try await expectAgreement(devices, remote)
    close(devices)
  }

  @Test("A replicator applies it, once as much goes as stays")
  func inRounds() async throws {
    let devices = try await world()
    func sync(_ days: Int64, bytesMin: UInt64 = 1) async throws -> SyncReport {
      var configuration = ReplicatorConfiguration()
      configuration.makeRandom = devices[0].makeRandom
      configuration.policy.history = HistoryPolicy(millisecondsMax: days * Self.day)
      configuration.policy.historyBytesMin = bytesMin
      return try await LogReplicator(store: devices[0].store, remote: remote, configuration: configuration)
        .syncOnce()
    }
    #expect(try await sync(3, bytesMin: 1 << 20).retired.isEmpty)
    #expect(try await sync(6).retired.isEmpty)
    let report = try await sync(3)
    #expect(report.retired.map(\.transactions) == [26] && report.retirementFailure == nil && report.isInSync)
    // The log stays between one and two lengths.
    var most = 0
    for day in 10..<40 {
      clock.day = day
      for device in devices {
        try await device.set("day", of: Name("r\(day % 3)"), to: .int(Int64(day)))
        try await device.set("title", of: "r0", to: .string(String(repeating: "x", count: 3000)))
        if device === devices[1] { try await device.sync(remote) }
      }
      _ = try await sync(3)
      most = max(most, try positions(devices[0].store).count)
      #expect(try positions(devices[0].store).count >= 12)
    }
    #expect(most <= 32, "\(most)")
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try devices[0].store.verify().isSound)
    close(devices)
  }
}

/// A clock of days.
private final class TestDays: Sendable {
  private let value = Mutex(0)

  var day: Int {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
  var milliseconds: Int64 { Int64(day + 1) * 86_400_000 }
}
