import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Snapshots at a remote")
struct SnapshotsAtRemotes {
  private let scratch = TemporaryDirectory()

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    try Device(in: scratch.path, name, seed: seed)
  }

  /// One round that makes a snapshot once a zone's log has grown by so many bytes.
  @discardableResult
  private func sync(_ device: Device, _ remote: any RemoteLog, bytesMin: UInt64 = 1) async throws
    -> ZoneReport
  {
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    configuration.policy.snapshotBytesMin = bytesMin
    let replicator = LogReplicator(store: device.store, remote: remote, configuration: configuration)
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  private func write(_ names: [String], on device: Device) async throws {
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      for name in names {
        let id = RecordID(zone: zone, name: Name(name))
        try tx.create(id, type: "thing")
        try tx.set("title", of: id, to: .string("\(name) has a title"))
        try tx.insertText(name, at: 0, in: "body", of: id)
      }
    }
  }

  private func incarnation(_ device: Device) throws -> IncarnationID {
    let token = try device.store.read { try $0.changeToken(of: zone) }
    return try #require(token).incarnation
  }

  private func names(_ device: Device, _ remote: any RemoteLog) async throws -> [RemoteSnapshot] {
    try await remote.snapshots(of: zone, incarnation(device)) ?? []
  }

  private func expectEqual(_ devices: [Device]) throws {
    let first = try devices[0].digests()
    for device in devices {
      let digests = try device.digests()
      #expect(digests == first)
      let isSound = try device.store.verify().isSound
      #expect(isSound)
    }
  }

  @Test("Who has sent enough makes one, and a new store begins with it", arguments: [false, true])
  func begins(inFolder: Bool) async throws {
    let remote: any RemoteLog =
      inFolder
      ? try await FolderRemote.create(directory: "\(scratch.path)/remote")
      : MemoryRemote(identity: RemoteID(rawValue: 9))
    let maker = try device("maker", 1)
    for index in 0..<20 {
      try await write(["a\(index)", "b\(index)"], on: maker)
      let report = try await sync(maker, remote, bytesMin: index == 19 ? 1 : 1 << 20)
      #expect(report.madeSnapshot == (index == 19))
      #expect(report.snapshotFailure == nil)
    }
    let known = try await names(maker, remote)
    #expect(known.map(\.offset) == [20])
    // Nothing is left of it beside the store.
    let left = try FileManager.default.contentsOfDirectory(atPath: "\(maker.directory)/snapshots")
    #expect(left == [])
    try await write(["later"], on: maker)
    let later = try await sync(maker, remote, bytesMin: 1 << 20)
    #expect(!later.madeSnapshot)
    let new = try device("new", 2)
    let report = try await sync(new, remote)
    #expect(report.beganAt == 20 && report.receivedSegments == 1 && report.status == .inSync)
    try expectEqual([maker, new])
    try await write(["other"], on: new)
    try await sync(new, remote)
    try await sync(maker, remote)
    try expectEqual([maker, new])
    maker.store.close()
    new.store.close()
  }

  @Test("Another store makes none before the log has grown by as much as the last one has")
  func isNotMadeTwice() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (one, other) = (try device("one", 1), try device("other", 2))
    try await write((0..<40).map { "n\($0)" }, on: one)
    let first = try await sync(one, remote)
    #expect(first.madeSnapshot)
    try await sync(other, remote)
    try await write(["x"], on: other)
    let second = try await sync(other, remote)
    #expect(!second.madeSnapshot)
    try await write((0..<80).map { "m\($0)" }, on: other)
    let third = try await sync(other, remote)
    #expect(third.madeSnapshot)
    let known = try await names(one, remote)
    #expect(known.count == 2 && known[0].maker == other.store.identity.replica)
    one.store.close()
    other.store.close()
  }

  @Test(
    "One that is damaged is passed over for the one before, or for the log",
    arguments: ["part", "manifest", "index", "all", "chain"])
  func damaged(what: String) async throws {
    let objects = MemoryObjects()
    let remote = ObjectRemote(objects)
    _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: RemoteID(rawValue: 9)).bytes)
    let maker = try device("maker", 1)
    for round in 0..<2 {
      try await write((0..<30 * (1 + 9 * round)).map { "r\(round) \($0)" }, on: maker)
      let report = try await sync(maker, remote)
      #expect(report.madeSnapshot)
    }
    let known = try await names(maker, remote)
    #expect(known.count == 2)
    let log = try incarnation(maker)
    let zeros = [UInt8](repeating: 0, count: 100)
    switch what {
    case "part": try await objects.overwrite(.snapshotPart(0, of: known[0]), zeros)
    case "manifest": try await objects.delete(.snapshotManifest(of: known[0]))
    case "index": try await objects.overwrite(.snapshotName(2, of: log), zeros)
    case "all":
      for snapshot in known { try await objects.delete(.snapshotPart(0, of: snapshot)) }
    default:
      let found = try await remote.snapshotManifest(of: known[0])
      var lying = try #require(found)
      lying.chain = LogChain(hash: lying.content)
      try await objects.overwrite(.snapshotManifest(of: known[0]), lying.encode())
    }
    let new = try device("new", 2)
    let report = try await sync(new, remote)
    #expect(report.beganAt == (what == "all" ? nil : known[1].offset))
    #expect(report.status == .inSync)
    try expectEqual([maker, new])
    maker.store.close()
    new.store.close()
  }

  @Test("What a new store wrote before its first round is sent, and the assets of the snapshot come")
  func pendingAndAssets() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let maker = try device("maker", 1)
    try await write(["photo"], on: maker)
    let asset = try await maker.setAsset(assetBytes(3000), of: "photo")
    let made = try await sync(maker, remote)
    #expect(made.madeSnapshot)
    let new = try device("new", 2)
    try await write(["mine"], on: new)
    try await new.store.setAssetPolicy(.eager, of: zone)
    let report = try await sync(new, remote)
    #expect(report.beganAt != nil && report.sent == 1 && report.receivedAssets == 1)
    try await sync(maker, remote)
    try expectEqual([maker, new])
    let content = try new.content(asset)
    #expect(content == assetBytes(3000))
    // The history of the asset's naming goes, the asset stays.
    try await new.store.retireHistory(of: zone)
    _ = try await new.store.reclaim()
    let kept = try new.content(asset)
    #expect(kept == assetBytes(3000))
    try expectEqual([maker, new])
    maker.store.close()
    new.store.close()
  }

  @Test("A store that began with a snapshot can be copied, and the copy is whole")
  func backup() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let maker = try device("maker", 1)
    try await write(["a", "b"], on: maker)
    try await sync(maker, remote)
    let new = try device("new", 2)
    try await sync(new, remote)
    for _ in 0..<2 { try new.store.backup(to: "\(scratch.path)/copy") }
    var configuration = StoreConfiguration()
    configuration.isReadOnly = true
    let copy = try LocalStore(
      directory: "\(scratch.path)/copy", durability: .durable, configuration: configuration)
    let isSound = try copy.verify().isSound
    #expect(isSound)
    let digests = (try copy.read { try $0.digest(of: zone) }, try new.store.read { try $0.digest(of: zone) })
    #expect(digests.0 == digests.1)
    copy.close()
    maker.store.close()
    new.store.close()
  }

  @Test("A store without the history explains what is left of it, and says what is gone")
  func explained() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let maker = try device("maker", 1)
    try await write(["a"], on: maker)
    try await sync(maker, remote)
    try await maker.store.retireHistory(of: zone)
    let id = RecordID(zone: zone, name: "a")
    let found = try maker.store.read { try $0.explain(id, field: "title") }
    let explanation = try #require(found)
    #expect(explanation.heads.count == 1 && explanation.heads[0].entry == nil)
    #expect(explanation.heads[0].placement?.offset == 1)
    let last = try maker.store.read { try $0.lastPosition() }
    #expect(explanation.retiredThrough == last)
    let gone = #expect(throws: StoreError.self) { try maker.store.read { try $0.entry(at: last).position } }
    #expect(gone?.code == .retired)
    let information = try maker.store.information().zones[0]
    #expect(information.origin?.offset == 1 && information.transactions == 0)
    #expect(information.replicas.map(\.lastSequence) == [1])
    let error = #expect(throws: StoreError.self) {
      try maker.store.read { try $0.forEachExportedLine { _ in true } }
    }
    #expect(error?.code == .retired)
    maker.store.close()
  }
}
