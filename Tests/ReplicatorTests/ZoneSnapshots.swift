import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Snapshots of zones, and stores that begin with them")
struct ZoneSnapshots {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    try Device(in: scratch.path, name, seed: seed)
  }

  /// Writes fields of all kinds, and more heads than a row has.
  private func write(_ round: Int, on device: Device) async throws {
    for index in 0..<3 {
      let id = RecordID(zone: zone, name: Name("r\(index)"))
      try await device.store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        if try !tx.contains(id) { try tx.create(id, type: "thing") }
        try tx.set("title", of: id, to: .string("\(round) \(device.store.identity.replica)"))
        try tx.set("long", of: id, to: .string(String(repeating: "ä", count: 900 + round)))
        try tx.add(.int(Int64(round)), to: "count", of: id)
        try tx.insert(.string("e\(round)"), into: "tags", of: id)
        try tx.put(.int(Int64(round)), at: Name("k\(round % 3)"), in: "map", of: id)
        try tx.insertText("text \(round) 🙂", at: 0, in: "body", of: id)
        try tx.insertElements([.int(1), .string("two"), .null], at: 0, in: "items", of: id)
        try tx.contribute(.string("c\(round)"), to: "sums", of: id)
      }
      try await device.store.write { tx in
        try tx.removeText(1..<3, from: "body", of: id)
        try tx.moveElement(from: 0, to: 2, in: "items", of: id)
        try tx.replaceElement(at: 1, in: "items", of: id, with: .string("other"))
        if round > 1 { try tx.removeElements(0..<1, from: "items", of: id) }
        if round == 2, index == 2 { try tx.delete(id) }
      }
    }
  }

  /// Three devices that wrote at once, and are in sync.
  private func world() async throws -> [Device] {
    let devices = try [device("a", 1), device("b", 2), device("c", 3)]
    for round in 0..<4 {
      for device in devices { try await write(round, on: device) }
      if round.isMultiple(of: 2) { try await settle(devices, remote) }
    }
    try await settle(devices, remote)
    return devices
  }

  private func close(_ devices: [Device]) { for device in devices { device.store.close() } }

  @Test("All who are in sync write the same bytes; what is pending keeps a store from it")
  func isCanonical() async throws {
    let devices = try await world()
    let made = try devices.map { try $0.store.makeSnapshot(of: zone) }
    #expect(Set(made).count == 1)
    let digest = try devices[0].digests().values.first
    #expect(made[0].digest == digest)
    #expect(made[0].records == 3)
    let bytes = made[0].encode()
    let read = try SnapshotManifest.read(bytes.span.bytes)
    #expect(read == made[0])
    try await devices[0].set("title", of: "r0", to: .null)
    let error = #expect(throws: StoreError.self) { try devices[0].store.makeSnapshot(of: zone) }
    #expect(error?.code == .unsettled)
    close(devices)
  }

  @Test("Later, all write of a former offset what was written there, also over a snapshot between")
  func isCanonicalLater() async throws {
    let devices = try [device("a", 1), device("b", 2), device("c", 3)]
    var made: [SnapshotManifest] = []
    for round in 0..<5 {
      for (index, device) in devices.enumerated() {
        // One is behind, so that what they write is concurrent.
        try await write(round, on: device)
        if index > 0 { try await device.sync(remote) }
        if round > 0, index == 1 { try await write(9, on: devices[0]) }
      }
      try await settle(devices, remote)
      made.append(try devices[round % 3].store.makeSnapshot(of: zone))
    }
    try await devices[1].set("title", of: "r0", to: .string("pending"))
    func expect(_ expected: ArraySlice<SnapshotManifest>) throws {
      for (index, device) in devices.enumerated() {
        for manifest in expected {
          let core = device.store.core
          let found = try core.read {
            try core.makeSnapshot(of: zone, at: manifest.offset, $0) { _, _ in }.manifest
          }
          #expect(found == manifest, "device \(index) at \(manifest.offset)")
        }
      }
    }
    try expect(made[...])
    let kept = try devices[0].store.core.read { source in
      try HistoryChoice(
        of: source.readView.zones.number(of: zone), source, keeping: HistoryPolicy(logBytesMax: 0), at: 0,
        devices[0].store.core.snapshots)
    }
    #expect(kept?.offset == made[4].offset)
    for (device, manifest) in [(devices[0], made[1]), (devices[1], made[2])] {
      try await device.store.begin(zone, with: manifest) { try device.store.snapshotPart($0, of: manifest) }
    }
    try expect(made[2...])
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    close(devices)
  }

  @Test("A store retires its history: what it shows stays, and it syncs on", arguments: [false, true])
  func retired(reopens: Bool) async throws {
    let devices = try await world()
    let before = try devices[0].digests()
    let entries = try devices[0].store.read { try $0.countLog() }
    try await devices[0].store.retireHistory(of: zone)
    if reopens { try devices[0].reopen() }
    #expect(try devices[0].digests() == before)
    let left = try devices[0].store.read { try $0.countLog() }
    #expect(left == 0 && entries > 50)
    #expect(try devices[0].store.verify().isSound)
    for device in devices { try await write(7, on: device) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    _ = try await devices[0].store.rebuild()
    try await expectAgreement(devices, remote)
    #expect(try devices[0].store.verify().isSound)
    // Once more, over the first, which is two days old.
    let root = "\(devices[0].directory)/snapshots"
    for name in try FileManager.default.contentsOfDirectory(atPath: root) {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -2 * 86_400)], ofItemAtPath: "\(root)/\(name)")
    }
    try await devices[0].store.retireHistory(of: zone)
    try await expectAgreement(devices, remote)
    #expect(try devices[0].store.verify().isSound)
    let kept = try FileManager.default.contentsOfDirectory(atPath: "\(devices[0].directory)/snapshots")
    // Another process may still read the first one.
    #expect(kept.count == 2)
    close(devices)
  }

  @Test("A snapshot that is being sent stays, if the zone stands on it by then")
  func keptForOrigin() async throws {
    let devices = try await world()
    let store = devices[0].store
    try await store.withSnapshot(of: zone) { _ in try await store.retireHistory(of: zone) }
    // It folds what the snapshot has.
    _ = try await store.rebuild()
    #expect(try store.verify().isSound)
    try await expectAgreement(devices, remote)
    close(devices)
  }

  @Test("The past begins where the history was retired")
  func past() async throws {
    let devices = try await world()
    let store = devices[0].store
    let first = Position(rawValue: 3)
    _ = try await store.snapshot(at: first)
    try await store.retireHistory(of: zone)
    let begin = try store.read { try $0.lastPosition() }
    let error = #expect(throws: StoreError.self) { _ = try store.snapshotBlockingThisThread(at: first) }
    #expect(error?.code == .retired)
    let record = RecordID(zone: zone, name: "r0")
    let title = try store.read { try $0.record(record)?["title"] }
    try await devices[0].set("title", of: "r0", to: .string("later"))
    let past = try await store.snapshot(at: begin)
    let then = try past.read { try $0.record(record)?["title"] }
    #expect(then == title)
    let end = try store.read { try $0.lastPosition() }
    let now = try await store.snapshot(at: end)
    let digests = (try now.read { try $0.digest(of: zone) }, try store.read { try $0.digest(of: zone) })
    #expect(digests.0 == digests.1)
    close(devices)
  }

  @Test("A new store begins with a snapshot, and folds the rest", arguments: [false, true])
  func fresh(hasPending: Bool) async throws {
    let devices = try await world()
    let manifest = try devices[0].store.makeSnapshot(of: zone)
    let source = devices[0].store
    for device in devices { try await write(8, on: device) }
    try await settle(devices, remote)
    let new = try device("new", 4)
    try await new.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    if hasPending { try await write(9, on: new) }
    try await new.store.begin(zone, with: manifest) { try source.snapshotPart($0, of: manifest) }
    #expect(try new.store.verify().isSound)
    if !hasPending {
      let digest = try new.store.read { try $0.digest(of: zone) }
      #expect(digest == manifest.digest)
      #expect(try new.store.makeSnapshot(of: zone) == manifest)
    }
    try await settle(devices + [new], remote)
    try await expectAgreement(devices + [new], remote)
    #expect(try new.store.verify().isSound)
    close(devices + [new])
  }

  /// The error with which a store refuses to begin with a snapshot; nil if it does begin with it.
  private func refusal(
    of manifest: SnapshotManifest, _ parts: [[UInt8]], by device: Device
  ) async -> StoreError? {
    do {
      try await device.store.begin(zone, with: manifest) { parts[$0] }
      return nil
    } catch {
      return error as? StoreError
    }
  }

  /// A manifest that says of other bytes that they are its content.
  private func described(
    _ bytes: [UInt8], as manifest: SnapshotManifest
  ) -> (manifest: SnapshotManifest, stored: [UInt8])? {
    guard let (part, stored) = SnapshotManifest.Part.pack(bytes.span.bytes) else { return nil }
    var manifest = manifest
    manifest.parts = [part]
    manifest.content = ContentHash(of: bytes.span.bytes)
    return (manifest, stored)
  }

  @Test("A damaged part is told, and nothing has changed")
  func damaged() async throws {
    let devices = try await world()
    let manifest = try devices[0].store.makeSnapshot(of: zone)
    let source = devices[0].store
    let new = try device("new", 4)
    try await new.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    var part = try source.snapshotPart(0, of: manifest)
    part[part.count / 2] ^= 1
    let error = await refusal(of: manifest, [part], by: new)
    #expect(error?.code == .damaged)
    #expect(try new.store.read { try $0.records(in: zone) }.isEmpty)
    let left = try FileManager.default.contentsOfDirectory(atPath: "\(new.directory)/snapshots")
    #expect(left.allSatisfy { $0.hasSuffix(".new") })
    try await settle(devices + [new], remote)
    try await expectAgreement(devices + [new], remote)
    close(devices + [new])
  }

  @Test("Any byte of a content may be another: loading ends with an error, or with the records that it says")
  func hostile() async throws {
    let devices = try await world()
    let manifest = try devices[0].store.makeSnapshot(of: zone)
    let whole = try devices[0].store.snapshotPart(0, of: manifest)
    let content = try manifest.parts[0].unpack(whole.span.bytes)
    let new = try device("new", 4)
    try await new.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    var random = SeededRandom(seed: 5)
    var refused = 0
    let count = WideTests.choose(400, otherwise: 80)
    for _ in 0..<count {
      var bytes = content
      switch random.next(below: 3) {
      case 0: bytes[random.next(below: bytes.count)] = UInt8(random.next(below: 256))
      case 1: bytes.removeLast(1 + random.next(below: bytes.count - 1))
      default: bytes.insert(UInt8(random.next(below: 256)), at: random.next(below: bytes.count))
      }
      guard let (lying, stored) = described(bytes, as: manifest) else { continue }
      let error = await refusal(of: lying, [stored], by: new)
      if error != nil { refused += 1 }
    }
    #expect(refused > count / 2)
    close(devices + [new])
  }
}

extension ReadTransaction {
  /// How many transactions the log has.
  fileprivate func countLog() throws -> Int {
    var count = 0
    try history { _ in
      count += 1
      return true
    }
    return count
  }
}
