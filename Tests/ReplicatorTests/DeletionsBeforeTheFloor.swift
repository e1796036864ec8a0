import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

/// A record is deleted, and the part of the log that says so is removed. Stores that were away stand just before and
/// just after the end of that part.
@Suite("Deletions in the part of a log that was removed")
struct DeletionsBeforeTheFloor {
  private static let (doomed, kept) = (
    RecordID(zone: zone, name: "doomed"), RecordID(zone: zone, name: "kept")
  )

  /// The stores that were away, by the last entry that each has read. The deletion is entry 3, and the log begins with
  /// entry 4.
  private static let places: [UInt64] = [1, 2, 3, 4, 5]

  struct Way: CustomTestStringConvertible {
    /// Whether a floor lets everybody drop the deleted record, its deletion too.
    var isCompacted: Bool
    /// Whether the stores that do not know of the deletion have changed the record.
    var editsDeleted: Bool
    var testDescription: String { "compacted: \(isCompacted), edits the deleted record: \(editsDeleted)" }
  }

  private func sync(_ device: Device, _ remote: any RemoteLog, makes: Bool = false) async throws -> ZoneReport
  {
    let replicator = device.replicator(remote) { $0.policy.snapshotBytesMin = makes ? 1 : 1 << 40 }
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// What each store shows at the end.
  private func run(_ way: Way, isTrimmed: Bool) async throws -> [String: ContentHash] {
    let scratch = TemporaryDirectory()
    let parent = scratch.path
    let time = Mutex<Int64>(1_000_000)
    let clock: @Sendable () -> Int64 = { time.withLock { $0 } }
    let place = try await RemotePlace(.memory, in: parent)
    let writer = try Device(in: parent, "writer", seed: 1, clock: clock)
    let away = try Self.places.map { try Device(in: parent, "away \($0)", seed: 10 + $0, clock: clock) }
    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) async throws {
      try await writer.store.write(body)
      time.withLock { $0 += 1000 }
    }
    try await write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      for record in [Self.doomed, Self.kept] {
        try tx.create(record, type: "note", fields: ["title": "made"])
      }
    }
    for entry in 1...5 as ClosedRange<UInt64> {
      if entry > 1 {
        try await write { tx in
          if entry == 3 {
            try tx.delete(Self.doomed)
          } else {
            try tx.set("title", of: Self.kept, to: .string("\(entry)"))
          }
        }
      }
      _ = try await sync(writer, place.remote, makes: entry == 4)
      for (device, stop) in zip(away, Self.places) where stop == entry {
        #expect(try await device.sync(place.remote, .fetch).isInSync)
      }
    }
    // The edits of those who are away.
    for (device, stop) in zip(away, Self.places) {
      try await device.store.write { tx in
        try tx.create(RecordID(zone: zone, name: Name("mine \(stop)")), type: "note")
        try tx.set(Name("by \(stop)"), of: Self.kept, to: "unsent")
        let isThere = try tx.contains(Self.doomed)
        #expect(isThere == (stop < 3))
        if way.editsDeleted && isThere { try tx.set(Name("by \(stop)"), of: Self.doomed, to: "unsent") }
      }
      time.withLock { $0 += 1000 }
    }
    for number in 0..<12 {
      let long = Value.string(String(repeating: "long ", count: 40))
      try await write {
        try $0.create(RecordID(zone: zone, name: Name("\(number)")), type: "note", fields: ["t": long])
      }
      _ = try await sync(writer, place.remote, makes: number == 11 && !way.isCompacted)
    }
    if way.isCompacted {
      try await writer.store.compact(
        zone, keeping: CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0))
      _ = try await sync(writer, place.remote, makes: true)
      #expect(try writer.store.information().zones.first?.floor ?? 0 > 3)
    }
    if isTrimmed { try await trim(place, isCompacted: way.isCompacted) }

    let end = try #require(try writer.store.syncState().zones.first?.token).offset
    for (device, stop) in zip(away, Self.places) {
      let pending = try device.pending()
      let report = try await sync(device, place.remote)
      // One whose last entry or next one was removed begins with a snapshot.
      let hasToBegin = isTrimmed && (way.isCompacted || stop < 4)
      #expect(report.beganAt == (hasToBegin ? end : nil), "\(stop): \(report)")
      #expect(report.status == .inSync && report.sent == pending && pending > 0, "\(stop): \(report)")
    }
    let devices = [writer] + away
    try await settle(devices, place.remote)
    let digests = try writer.digests()
    for device in devices {
      #expect(try device.digests() == digests && device.pending() == 0)
      #expect(try device.store.verify().isSound)
      let records = try device.store.read { try $0.records(in: zone) }
      let kept = try #require(records.first { $0.id == Self.kept })
      for stop in Self.places {
        #expect(records.contains { $0.id.name == Name("mine \(stop)") })
        #expect(kept[Name("by \(stop)")] == "unsent")
      }
      // An edit that had not seen the deletion is later: it brings the record back, unless that was dropped.
      #expect(records.contains { $0.id == Self.doomed } == (way.editsDeleted && !way.isCompacted))
    }
    for device in devices { device.store.close() }
    return digests
  }

  /// Removes what snapshots stand for: the log begins with entry 4, or with that of the newest snapshot.
  private func trim(_ place: RemotePlace, isCompacted: Bool) async throws {
    let remote = try #require(place.remote as? any LogOfObjects)
    let objects = try await place.objects.list()
    let audit = try await RemoteAudit(of: remote, objects: objects)
    let trim = RemoteTrim(remote)
    let plan = try #require(
      trim.plan(audit, objects, LogFloorChoice(now: 1 << 47, olderThanMilliseconds: 0)).first)
    #expect(isCompacted ? plan.offset > 5 : plan.offset == 4, "\(plan)")
    try await trim.run(plan) {}
  }

  @Test(
    "bring nothing back and lose nothing, for stores that stand before, at and after its end",
    arguments: [false, true].flatMap { isCompacted in
      [false, true].map { Way(isCompacted: isCompacted, editsDeleted: $0) }
    })
  func away(_ way: Way) async throws {
    let trimmed = try await run(way, isTrimmed: true)
    // It ends as if nothing had been removed.
    let whole = try await run(way, isTrimmed: false)
    #expect(trimmed == whole)
  }
}
