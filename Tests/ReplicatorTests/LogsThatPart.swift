import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

/// The remote is restored from an old copy, a device that has read less writes there, and nobody asks for anything.
@Suite("A remote that was restored from an old copy, and to which others have written before anybody noticed")
struct LogsThatPart {
  /// Two devices that write in turn, and a third one that reads: all know 13 segments. A fourth one has read 7. The
  /// remote goes back to its state after 7, and the fourth one writes there.
  ///
  /// - Parameter others: the numbers of its writes, each sent alone.
  private func world(_ place: RemotePlace, _ parent: String, others: [Int] = [100]) async throws -> [Device] {
    let devices = try (1...4).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    var copy: [ObjectName: [UInt8]] = [:]
    for number in 1...13 {
      try await devices[number % 2].write(number)
      try await devices[number % 2].sync(place.remote)
      if number == 7 {
        copy = try await place.copy()
        try await devices[3].sync(place.remote)
      }
    }
    try await settle(Array(devices[..<3]), place.remote)
    try await place.restore(copy)
    for number in others {
      try await devices[3].write(number)
      try await devices[3].sync(place.remote)
    }
    return devices
  }

  /// All end with the same records as a new device, which reads the log alone; and every write counts once.
  private func expectSameAsNew(_ devices: [Device], _ place: RemotePlace, writes: Int) async throws {
    try await settle(devices, place.remote)
    let scratch = TemporaryDirectory()
    let new = try Device(in: scratch.path, "new", seed: 99)
    #expect(try await new.sync(place.remote).isInSync)
    for device in devices {
      let report = try await device.sync(place.remote)
      #expect(report.isInSync, "\(report)")
      #expect(try device.pending() == 0)
      #expect(try device.digests() == new.digests())
      let found = try device.store.verify()
      #expect(found.isSound, "\(found)")
    }
    let read = try new.store.read { tx in
      (try tx.counter("count", of: sharedNote)?.value, try tx.text(of: "body", in: sharedNote))
    }
    #expect(read.0 == .int(Int64(writes)))
    #expect(read.1?.split(separator: ",").count == writes)
    #expect(try new.recordNames().count == writes + 1)
    new.store.close()
  }

  @Test(
    "Who has read more sends what is lost, others' work too",
    arguments: [RemotePlace.Kind.memory, .folder], [1, 9])
  func parted(kind: RemotePlace.Kind, others: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path, others: Array(100..<100 + others))
    // The one that only reads has it all. Those that wrote it may be gone.
    let report = try await devices[2].sync(place.remote)
    #expect(report.isInSync, "\(report)")
    #expect(report.zones[0].partedAt == 8 && report.zones[0].putBack == 0 && report.zones[0].sent == 6)
    let again = try await devices[2].sync(place.remote)
    #expect(again.isInSync && !again.hasMoved && again.zones[0].partedAt == nil, "\(again)")
    try await expectSameAsNew([devices[2], devices[3]], place, writes: 13 + others)
    // They come back, and send nothing twice.
    try await expectSameAsNew(devices, place, writes: 13 + others)
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    try await devices[0].write(200)
    try await expectSameAsNew(devices, place, writes: 14 + others)
    for device in devices { device.store.close() }
  }

  @Test(
    "What a store has sent ahead of what it has read, and the log has lost, is sent again",
    arguments: [RemotePlace.Kind.memory, .folder], [0, 1, 2, 3, 6])
  func sentAhead(kind: RemotePlace.Kind, others: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].write(1)
    try await settle(devices, place.remote)
    let copy = try await place.copy()
    try await devices[1].write(2)
    try await devices[1].sync(place.remote)
    // It has not read what is before that. What is lost, its token does not show.
    try await devices[0].write(3)
    #expect(try await devices[0].sync(place.remote, .ship).sent == 1)
    try await place.restore(copy)
    for number in 100..<100 + others {
      try await devices[2].write(number)
      try await devices[2].sync(place.remote)
    }
    try await devices[0].write(4)
    let report = try await devices[0].sync(place.remote)
    // Where the log ends before that, the round has sent it before it has read the log again.
    let isShort = others < 2
    #expect(report.isInSync && report.sent == (isShort ? 1 : 2), "\(report)")
    #expect(report.zones[0].partedAt == UInt64(isShort ? others + 2 : 3), "\(report)")
    #expect(report.rejectedSegments == 0, "\(report)")
    try await expectSameAsNew([devices[0], devices[2]], place, writes: 3 + others)
    try await expectSameAsNew(devices, place, writes: 4 + others)
    for device in devices { device.store.close() }
  }

  @Test("What had seen what is lost has seen the log up to where the two part, and no more")
  func limits() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    // It has seen all 13 segments, and was not sent.
    try await devices[2].set("milk", of: "shared", to: "unsent")
    try await settle(devices, place.remote)
    for device in devices {
      let (conflicts, milk) = try device.store.read { tx in
        (try tx.conflicts(in: zone), try tx.value(of: "milk", in: sharedNote))
      }
      let lost = try #require(conflicts.first { $0.record == sharedNote && $0.field == "milk" })
      // The other device's write at the same offset was not seen by it.
      #expect(milk == "unsent" || lost.losers.contains { $0.content.value == "unsent" })
    }
    try await expectSameAsNew(devices, place, writes: 14)
    for device in devices { device.store.close() }
  }

  @Test("A user lets the log be read again by hand: what the others send again counts once", arguments: 0..<3)
  func byHand(first: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    try await devices[0].write(101)
    for device in devices[..<2] { try await device.store.beginRereading(zone, from: 1) }
    try await devices[first].sync(place.remote)
    try await expectSameAsNew(devices, place, writes: 15)
    for device in devices { device.store.close() }
  }

  @Test("What was sent again is lost once more, and nobody has written there: it is put back as it was")
  func putBackAgain() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let copy = try await place.copy()
    try await settle(devices, place.remote)
    let end = try #require(try devices[2].store.read { try $0.changeToken(of: zone) }).offset
    try await place.restore(copy)
    let report = try await devices[2].sync(place.remote)
    #expect(report.isInSync && report.zones[0].partedAt == nil, "\(report)")
    #expect(end > 9 && report.zones[0].putBack == Int(end) - 8)
    try await expectSameAsNew(devices, place, writes: 14)
    for device in devices { device.store.close() }
  }

  @Test("A lane that continues the store's own lost one is sent behind it")
  func continued() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].write(1)
    try await settle(devices, place.remote)
    let copy = try await place.copy()
    for number in 2...4 {
      try await devices[0].write(number)
      try await devices[0].sync(place.remote)
    }
    // It continues what the first one has written, and is gone after that.
    let heir = try Device(in: scratch.path, "heir", seed: 9)
    try await heir.importLog(of: devices[0])
    try await heir.sync(place.remote)
    try await heir.write(5)
    try await heir.sync(place.remote)
    heir.store.close()
    try await devices[0].sync(place.remote)
    try await place.restore(copy)
    try await devices[1].write(6)
    try await devices[1].sync(place.remote)
    let report = try await devices[0].sync(place.remote)
    #expect(report.isInSync && report.sent == 4 && report.rejectedSegments == 0, "\(report)")
    try await expectSameAsNew(devices, place, writes: 6)
    for device in devices { device.store.close() }
  }

  @Test("The log parts twice, and what was sent again is lost once more", arguments: [true, false])
  func twice(isFirst: Bool) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let copy = try await place.copy()
    try await settle(devices, place.remote)
    try await devices[1].write(101)
    try await settle(devices, place.remote)
    try await place.restore(copy)
    let late = try Device(in: scratch.path, "late", seed: 12)
    try await late.sync(place.remote)
    for number in 102..<110 {
      try await late.write(number)
      try await late.sync(place.remote)
    }
    try await expectSameAsNew([devices[isFirst ? 0 : 2], late], place, writes: 13 + 10)
    try await expectSameAsNew(devices + [late], place, writes: 13 + 10)
    for device in devices + [late] { device.store.close() }
  }

  @Test("Reading what others have written there is cut short at any segment", arguments: 0...4)
  func cutShort(after count: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path, others: Array(100..<104))
    _ = try await devices[2].store.part(zone, from: 8)
    // What is written meanwhile is kept too.
    try await devices[2].write(150)
    try devices[2].reopen()
    #expect(try devices[2].store.isRereading(zone))
    if count > 0 {
      let short = LimitedPages(remote: place.remote, through: 7 + UInt64(count))
      _ = try? await devices[2].sync(short)
    }
    try await expectSameAsNew(devices, place, writes: 13 + 5)
    for device in devices { device.store.close() }
  }

  @Test(
    "Another process has read the log since it was found to have parted: what was written then stays as it is"
  )
  func readByAnother() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let store = devices[2].store
    let found = try #require(try store.read { try $0.changeToken(of: zone) })
    // Both processes meet the other log. One of them reads it, and the user writes.
    #expect(try await devices[2].sync(place.remote).zones[0].partedAt == 8)
    try await devices[3].set("mark", of: "shared", to: 1)
    try await devices[3].sync(place.remote)
    try await devices[2].sync(place.remote)
    try await devices[2].set("mark", of: "shared", to: 2)
    let runner = EffectRunner(
      store: store, remote: place.remote, selection: .all, pageBytesMax: 1 << 20,
      makeRandom: devices[2].makeRandom)
    let result = await runner.perform(.zone(zone, .part(found.incarnation, from: 8, isLost: false)))
    guard case .zone(_, .folded(let outcome)) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(outcome.partedAt == nil && outcome.problem == nil)
    // It may do so just before the other one's commit.
    #expect(try await store.part(zone, from: 8, knownAs: found) == nil)
    #expect(try !store.isRereading(zone))
    try await expectSameAsNew(devices, place, writes: 14)
    for device in devices {
      let conflicts = try device.store.read { try $0.conflicts(in: zone) }
      #expect(!conflicts.contains { $0.field == "mark" })
      device.store.close()
    }
  }

  @Test("A store exports its log, and another one continues with it")
  func exported() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    // Its log has parted, and nothing is sent again yet.
    let report = try await devices[2].sync(place.remote, .fetch)
    #expect(report.zones[0].partedAt == 8)
    #expect(try devices[2].pending() == 6)
    let imported = try Device(in: scratch.path, "imported", seed: 31)
    try await imported.importLog(of: devices[2])
    devices[2].store.close()
    try await expectSameAsNew([imported, devices[3]], place, writes: 14)
    try await expectSameAsNew([imported, devices[0], devices[1], devices[3]], place, writes: 14)
    for device in [imported, devices[0], devices[1], devices[3]] { device.store.close() }
  }

  @Test("Stores that have settled make the same snapshot, and a new one begins with it")
  func snapshots() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    try await settle(devices, place.remote)
    let manifests = try devices.map { try $0.store.makeSnapshot(of: zone) }
    #expect(Set(manifests.map(\.content)).count == 1)
    _ = try await devices[0].store.retireHistory(of: zone)
    try await devices[0].write(101)
    try await expectSameAsNew(devices, place, writes: 15)
    for device in devices { device.store.close() }
  }

  @Test("A store that has retired the history of what is lost says why it cannot go on, and keeps all")
  func retired() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    _ = try await devices[2].store.retireHistory(of: zone)
    let before = try devices[2].digests()
    let report = try? await devices[2].sync(place.remote)
    guard case .failed(let failure)? = report?.zones[0].status else {
      Issue.record("\(report.map { "\($0)" } ?? "no report")")
      return
    }
    #expect(failure.errorCode == .init(StoreError.Code.retired), "\(failure)")
    #expect(try devices[2].digests() == before)
    // The others have it, and it begins with the snapshot of one that has sent it again.
    try await expectSameAsNew([devices[0], devices[1], devices[3]], place, writes: 14)
    try await expectSameAsNew(devices, place, writes: 14)
    for device in devices { device.store.close() }
  }
}

/// Shows a log only up to an offset; what comes after it cannot be reached.
private struct LimitedPages: ForwardingRemote {
  let remote: any RemoteLog
  let through: UInt64

  init(remote: any RemoteLog, through: UInt64) { (self.remote, self.through) = (remote, through) }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    guard token.offset < through else {
      throw RemoteError(.unreachable, "there is no network", hint: "try again")
    }
    return try await remote.segments(after: token, bytesMax: 1)
  }
}
