import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Snapshots of compacted logs, which do not have every entry")
struct SnapshotsOfCompactedLogs {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
  private let everything = CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0)

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    try Device(in: scratch.path, name, seed: seed)
  }

  /// Devices that write in turns, each having seen what the others wrote.
  private func write(_ devices: [Device], rounds: Int, from start: Int = 0) async throws {
    for round in start..<start + rounds {
      for (index, device) in devices.enumerated() {
        try await device.set("title", of: Name("r\(index)"), to: .string("\(round)"))
        try await device.set("title", of: "shared", to: .string("\(round) by \(index)"))
        try await device.sync(remote)
      }
    }
    try await settle(devices, remote)
  }

  private func compact(_ devices: [Device]) async throws {
    try await devices[0].store.compact(zone, keeping: everything)
    try await settle(devices, remote)
  }

  private func head(_ manifest: SnapshotManifest, _ device: Device) throws -> SnapshotHead {
    let store = device.store
    return try SnapshotHead(manifest) { try store.snapshotPart($0, of: manifest) }
  }

  private func begin(_ device: Device, with manifest: SnapshotManifest, of source: Device) async throws {
    let store = source.store
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    try await device.store.begin(zone, with: manifest) { try store.snapshotPart($0, of: manifest) }
  }

  private func close(_ devices: [Device]) { for device in devices { device.store.close() } }

  @Test("It grows with its lanes and with what is not compacted, not with the log")
  func bounded() async throws {
    let devices = try [device("a", 1), device("b", 2)]
    try await write(devices, rounds: 30)
    let whole = try devices[0].store.makeSnapshot(of: zone)
    #expect(try head(whole, devices[0]).entries.count == 60 && whole.hasAllEntries)
    try await compact(devices)
    let made = try devices[0].store.makeSnapshot(of: zone)
    let found = try head(made, devices[0])
    #expect(made.offset == 61 && made.floor == 60 && made.foldedThrough == 60)
    // The last entry of each lane, and that of the floor.
    #expect(found.entries.map(\.offset) == [59, 60, 61])
    #expect(found.lanes.allSatisfy { $0.bases.count <= 3 })
    #expect(try devices[1].store.makeSnapshot(of: zone) == made)
    close(devices)
  }

  @Test("What is named and not compacted keeps its place, wherever a maker began")
  func canonical() async throws {
    let devices = try [device("a", 1), device("b", 2)]
    try await write(devices, rounds: 6)
    for index in 0..<8 {
      try await devices[0].store.write { tx in
        let id = RecordID(zone: zone, name: "text")
        if index == 0 { try tx.create(id, type: "note") }
        try tx.insertText("\(index)", at: 0, in: "body", of: id)
      }
      try await devices[0].sync(remote)
    }
    try await settle(devices, remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try await devices[0].store.write { try $0.nameFloor(token.offset - 2, of: zone) }
    // The text changes before the floor takes effect: it stays whole.
    try await devices[1].store.write { tx in
      try tx.insertText("x", at: 0, in: "body", of: RecordID(zone: zone, name: "text"))
    }
    try await devices[1].sync(remote)
    try await settle(devices, remote)
    let first = try devices[0].store.makeSnapshot(of: zone)
    let kept = try head(first, devices[0]).entries.map(\.offset)
    #expect(Set(token.offset - 7...token.offset).isSubset(of: kept) && kept.count < 16, "\(kept)")
    let begun = try device("begun", 8)
    try await begin(begun, with: first, of: devices[0])
    #expect(try begun.store.makeSnapshot(of: zone) == first)
    #expect(try begun.store.verify().isSound)
    // Each began elsewhere: with the log, with the first snapshot, with a history that was retired then.
    try await devices[1].store.retireHistory(of: zone)
    let all = devices + [begun]
    for round in 0..<3 {
      try await write(all, rounds: 2, from: 10 + round)
      try await compact(all)
      let made = try all.map { try $0.store.makeSnapshot(of: zone) }
      #expect(Set(made).count == 1, "round \(round)")
      try await expectAgreement(all, remote)
    }
    for device in all { #expect(try device.store.verify().isSound) }
    let objects = try await remote.objects.list()
    let audit = try await RemoteAudit(of: remote, objects: objects)
    #expect(audit.problems.isEmpty && audit.logs[0].consequences.isEmpty, "\(audit)")
    close(all)
  }

  @Test("Who begins with it sends what was written before, with a base that the snapshot does not have")
  func late() async throws {
    let devices = try [device("a", 1), device("b", 2)]
    let away = try device("away", 3)
    try await write(devices + [away], rounds: 2)
    // It has seen an entry that is not the last one of its lane.
    try await write(devices, rounds: 1, from: 2)
    try await away.sync(remote)
    try await away.set("title", of: "r0", to: "late")
    try await away.set("title", of: "mine", to: "late")
    try await write(devices, rounds: 5, from: 3)
    try await compact(devices)
    let made = try devices[0].store.makeSnapshot(of: zone)
    let base = try #require(try away.store.read { try $0.base(of: zone) })
    let hash = try head(made, devices[0]).hash(at: base.offset)
    #expect(base.offset < made.foldedThrough && hash == nil)
    try await begin(away, with: made, of: devices[0])
    #expect(try away.pending() == 2)
    let all = devices + [away]
    try await settle(all, remote)
    try await expectAgreement(all, remote)
    for device in all {
      #expect(try device.pending() == 0 && device.store.verify().isSound)
      // What it had not seen is in conflict with what it set.
      #expect(try device.store.read { try $0.conflicts(in: zone).count } == 1)
    }
    let fresh = try device("fresh", 4)
    try await settle(all + [fresh], remote)
    try await expectAgreement(all + [fresh], remote)
    let report = try await fresh.sync(remote)
    #expect(report.isInSync)
    close(all + [fresh])
  }

  @Test("What was sent, and whose answer was lost, is found by the last entry of its lane")
  func answerLost() async throws {
    let devices = try [device("a", 1), device("b", 2)]
    let away = try device("away", 3)
    try await write(devices + [away], rounds: 1)
    try await away.set("title", of: "mine", to: "sent")
    _ = try? await away.sync(AnswerLosingRemote(remote: remote))
    #expect(try away.pending() == 1)
    try await write(devices, rounds: 4, from: 2)
    try await compact(devices)
    let made = try devices[0].store.makeSnapshot(of: zone)
    try await begin(away, with: made, of: devices[0])
    #expect(try away.pending() == 0)
    try await expectAgreement(devices + [away], remote)
    #expect(try away.store.verify().isSound)
    close(devices + [away])
  }

  /// The content with another byte: the lanes and the entries come first.
  private func changing(_ content: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = content
    bytes[random.next(below: min(bytes.count, 500))] = UInt8(random.next(below: 256))
    return bytes
  }

  /// Whether the content is read under a manifest that may be forged too.
  private func isRead(
    _ content: [UInt8], as made: SnapshotManifest, _ random: inout SeededRandom
  ) -> Bool {
    guard let packed = SnapshotManifest.Part.pack(content.span.bytes) else { return false }
    var forged = made
    (forged.parts, forged.content) = ([packed.part], ContentHash(of: content.span.bytes))
    if random.next(below: 4) == 0 { forged.offset = .max - UInt64(random.next(below: 3)) }
    if random.next(below: 4) == 0 { forged.floor = forged.offset - UInt64(random.next(below: 3)) }
    guard let head = try? SnapshotHead(forged, fetch: { _ in packed.stored }) else { return false }
    #expect(head.entries.count < 100 && head.received.count < 100)
    return true
  }

  @Test("With any byte changed it never traps, and is refused in most places")
  func hostile() async throws {
    let devices = try [device("a", 1), device("b", 2)]
    try await write(devices, rounds: 8)
    try await compact(devices)
    let made = try devices[0].store.makeSnapshot(of: zone)
    let stored = try devices[0].store.snapshotPart(0, of: made)
    let content = try made.parts[0].unpack(stored.span.bytes)
    var random = SeededRandom(seed: 7)
    var refused = 0
    for _ in 0..<2000 where !isRead(changing(content, &random), as: made, &random) { refused += 1 }
    #expect(refused > 500)
    close(devices)
  }
}
