import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Remotes that get smaller once records were compacted")
struct RemotesThatFloorsMakeSmaller {
  private let scratch = TemporaryDirectory()
  private let everything = CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0)
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  /// One round.
  ///
  /// - Parameters:
  ///   - bytesMin: from so many bytes on, a snapshot is due.
  ///   - trims: whether the log begins as late as it may.
  @discardableResult
  private func sync(_ device: Device, bytesMin: UInt64 = 4096, trims: Bool = true) async throws -> ZoneReport
  {
    let replicator = device.replicator(remote) {
      $0.policy.snapshotBytesMin = bytesMin
      $0.policy.trimMilliseconds = trims ? 0 : nil
    }
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// Sets fields of ten records again and again.
  private func edit(_ device: Device, count: Int) async throws {
    for round in 0..<count {
      try await device.store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        for record in 0..<10 {
          let id = RecordID(zone: zone, name: Name("r\(record)"))
          if try !tx.contains(id) { try tx.create(id, type: "note") }
          try tx.set("title", of: id, to: .string("\(round) \(device.makeRandom())"))
        }
      }
    }
  }

  private func bytes() async throws -> UInt64 {
    try await remote.objects.list().reduce(0) { $0 + ($1.bytes ?? 0) }
  }

  /// The offsets of the snapshots of which anything is there, named or not.
  private func snapshots() async throws -> Set<UInt64> {
    Set(try await remote.objects.list().compactMap { $0.name?.snapshot?.offset })
  }

  private func entries() async throws -> [UInt64] {
    try await remote.objects.list().compactMap { $0.name?.incarnation == nil ? nil : $0.name?.offset }
  }

  @Test("The round that sends a floor makes a snapshot, and all before it goes, also the snapshot before")
  func floorIsDue() async throws {
    let (one, other) = try (
      Device(in: scratch.path, "one", seed: 1), Device(in: scratch.path, "other", seed: 2)
    )
    try await edit(one, count: 300)
    #expect(try await sync(one).madeSnapshot)
    try await edit(one, count: 1)
    #expect(try await sync(one).madeSnapshot == false)
    try await sync(other)
    let (before, shown) = try await (bytes(), one.store.read { try $0.records(in: zone).map(\.fields) })
    try await one.store.compact(zone, keeping: everything)
    let report = try await sync(one)
    let end = try #require(try one.store.syncState().zones.first?.token).offset
    #expect(report.madeSnapshot && report.trimmedTo == end, "\(report)")
    let after = try await bytes()
    #expect(after * 5 < before, "\(after) of \(before) bytes")
    #expect(try await snapshots() == [end])
    #expect(try await entries() == [end])
    // A new store begins with it, and one that was behind reads on, or begins with it too.
    let new = try Device(in: scratch.path, "new", seed: 3)
    #expect(try await sync(new).beganAt == end)
    #expect(try await sync(other).status == .inSync)
    for device in [one, other, new] {
      #expect(try device.store.read { try $0.records(in: zone).map(\.fields) } == shown)
      #expect(try device.digests() == one.digests())
      #expect(try device.store.verify().isSound)
    }
    for device in [one, other, new] { device.store.close() }
  }

  @Test("The operator's trim lets the log begin with the newest snapshot, if only that has a floor")
  func operatorTrims() async throws {
    let device = try Device(in: scratch.path, "one", seed: 1)
    try await edit(device, count: 300)
    try await sync(device, trims: false)
    try await device.store.compact(zone, keeping: everything)
    #expect(try await sync(device, trims: false).madeSnapshot)
    let end = try #require(try device.store.syncState().zones.first?.token).offset
    #expect(try await snapshots().count == 2)
    let objects = try await remote.objects.list()
    let audit = try await RemoteAudit(of: remote, objects: objects)
    let trim = RemoteTrim(remote)
    let plan = trim.plan(audit, objects, LogFloorChoice(now: 1 << 47, olderThanMilliseconds: 0))
    #expect(plan.first?.offset == end && plan.first?.limit == nil, "\(plan)")
    for log in plan { try await trim.run(log) }
    #expect(try await snapshots() == [end])
    #expect(try await entries() == [end])
    device.store.close()
  }

  @Test("Many floors make no more snapshots than the growth of the log does")
  func manyFloors() async throws {
    let device = try Device(in: scratch.path, "one", seed: 1)
    let bytesMin: UInt64 = 32_768
    try await edit(device, count: 300)
    #expect(try await sync(device, bytesMin: bytesMin).madeSnapshot)
    var made: [Int] = []
    for round in 0..<60 {
      try await edit(device, count: 2)
      try await sync(device, bytesMin: bytesMin, trims: false)
      let token = try #require(try device.store.syncState().zones.first?.token)
      try await device.store.write { try $0.nameFloor(token.offset, of: zone) }
      if try await sync(device, bytesMin: bytesMin, trims: false).madeSnapshot { made.append(round) }
    }
    // The first floor makes one, for the 300 edits; 120 more are less than half of that.
    #expect(made.first == 0 && made.count <= 3, "\(made)")
    device.store.close()
  }

  @Test("Where a snapshot for a floor cannot be made, the next round does not try again")
  func failing() async throws {
    let device = try Device(in: scratch.path, "one", seed: 1)
    try await edit(device, count: 300)
    try await sync(device)
    try await edit(device, count: 1)
    try await sync(device, bytesMin: 1 << 40)
    try await device.store.compact(zone, keeping: everything)
    try await device.store.deferSnapshot(of: zone)
    #expect(try await sync(device).madeSnapshot == false)
    try await edit(device, count: 300)
    #expect(try await sync(device).madeSnapshot)
    device.store.close()
  }

  @Test(
    "Each time that a log begins later, the snapshot with which it began goes, and what an earlier time left")
  func formerFloors() async throws {
    let device = try Device(in: scratch.path, "one", seed: 1)
    let runner = EffectRunner(
      store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 20, makeRandom: { 1 })
    var made: [RemoteSnapshot] = []
    var manifests: [SnapshotManifest] = []
    for round in 0..<4 {
      try await edit(device, count: 3)
      try await sync(device, bytesMin: 1 << 40, trims: false)
      try await device.store.withSnapshot(of: zone) { manifest in
        let snapshot = RemoteSnapshot(
          of: zone, manifest.incarnation, at: manifest.offset, by: device.store.identity.replica)
        try await runner.put(manifest, snapshot) {
          // The second one is cut short after the floor was written.
          if round == 1 {
            try await remote.log.trimmer.snapshots.putManifest(manifest, of: snapshot)
            _ = try await remote.log.trimmer.raise(to: LogFloor(manifest, by: snapshot.maker))
          } else {
            _ = try await remote.trim(to: snapshot, manifest)
          }
        }
        made.append(snapshot)
        manifests.append(manifest)
      }
      let expected = round == 1 ? Set(made.map(\.offset)) : [made[round].offset]
      #expect(try await snapshots() == expected, "round \(round)")
    }
    // Only the last one is listed.
    #expect(try await remote.snapshots(of: zone, made[0].incarnation) == [made[3]])
    #expect(Set(manifests.map(\.offset)).count == 4)
    device.store.close()
  }
}
