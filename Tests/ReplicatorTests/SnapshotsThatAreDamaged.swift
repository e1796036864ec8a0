import StoreTesting
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Snapshots that are damaged, in a store or at a remote")
struct SnapshotsThatAreDamaged {
  private let scratch = TemporaryDirectory()
  private let objects = MemoryObjects()
  private var remote: ObjectRemote { ObjectRemote(objects) }

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    try Device(in: scratch.path, name, seed: seed)
  }

  /// One round, which makes a snapshot if anything was sent.
  @discardableResult
  private func sync(_ device: Device) async throws -> ZoneReport {
    let replicator = device.replicator(remote) { $0.policy.snapshotBytesMin = 1 }
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// A remote with a snapshot, and who made it.
  private func maker() async throws -> Device {
    _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: RemoteID(rawValue: 9)).bytes)
    let maker = try device("maker", 1)
    for number in 0..<30 { try await maker.set("title", of: Name("r\(number)"), to: .int(Int64(number))) }
    #expect(try await sync(maker).madeSnapshot)
    return maker
  }

  private func snapshot(_ device: Device) async throws -> RemoteSnapshot {
    let token = try #require(try device.store.read { try $0.changeToken(of: zone) })
    return try #require(try await remote.snapshots(of: zone, token.incarnation)?.first)
  }

  /// The directory of the snapshot that a store begins with.
  private func directory(_ device: Device) throws -> String {
    let origin = try #require(try device.store.information().zones.first?.origin)
    return "\(device.directory)/snapshots/\(origin.content)"
  }

  private func damage(_ path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  // MARK: In a store

  @Test(
    "A part with other bytes: a verification names it, who reads it too, and the next round fetches it again")
  func otherBytes() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    #expect(try await sync(new).beganAt != nil)
    let path = try directory(new) + "/0"
    try damage(path)
    let report = try new.store.verify()
    #expect(report.problems.map(\.kind) == [.snapshot] && !report.comparesRecords, "\(report)")
    #expect(report.problems.first?.message.contains(path) == true, "\(report)")
    let error = await #expect(throws: StoreError.self) { try await new.store.rebuild() }
    #expect(error?.code == .damaged && error?.message.contains(path) == true, "\(String(describing: error))")
    #expect(FileManager.default.fileExists(atPath: "\(path).damaged"))
    try await sync(new)
    let mended = try new.store.verify()
    #expect(mended.isSound && mended.comparesRecords, "\(mended)")
    _ = try await new.store.rebuild()
    #expect(try new.digests() == maker.digests())
    for device in [maker, new] { device.store.close() }
  }

  @Test(
    "Files that are gone or cut: the first round after the opening fetches them again",
    arguments: ["0", "manifest"], [false, true])
  func gone(name: String, isCut: Bool) async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    let path = try directory(new) + "/\(name)"
    if isCut { try Data([1]).write(to: URL(fileURLWithPath: path)) }
    if !isCut { try FileManager.default.removeItem(atPath: path) }
    #expect(try new.store.verify().problems.map(\.kind) == [.snapshot])
    try new.reopen()
    try await sync(new)
    #expect(try new.store.verify().isSound)
    for device in [maker, new] { device.store.close() }
  }

  @Test("Where the remote does not have it, history that is retired again writes it again")
  func retiredAgain() async throws {
    let maker = try await maker()
    try await maker.set("title", of: "r0", to: "later")
    _ = try await maker.sync(remote)
    try await maker.store.retireHistory(of: zone)
    try damage(try directory(maker) + "/0")
    try maker.reopen()
    _ = try await maker.sync(remote)
    #expect(try maker.store.verify().problems.map(\.kind) == [.snapshot])
    try await maker.store.retireHistory(of: zone)
    #expect(try maker.store.verify().isSound)
    maker.store.close()
  }

  @Test(
    "History that is retired again writes a new one where later work follows, also without the manifest",
    arguments: ["0", "manifest"])
  func retiredWithout(name: String) async throws {
    let maker = try await maker()
    try await maker.store.retireHistory(of: zone)
    try await maker.set("title", of: "r0", to: "later")
    _ = try await maker.sync(remote)
    try FileManager.default.removeItem(atPath: directory(maker) + "/\(name)")
    #expect(try maker.store.verify().problems.map(\.kind) == [.snapshot])
    try await maker.store.retireHistory(of: zone)
    let report = try maker.store.verify()
    #expect(report.isSound && report.comparesRecords, "\(report)")
    maker.store.close()
  }

  @Test("A part that is gone while the store is open is fetched once somebody has missed it")
  func goneWhileOpen() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    // The first round that looks has found all.
    try await sync(new)
    try FileManager.default.removeItem(atPath: directory(new) + "/0")
    #expect(await #expect(throws: StoreError.self) { try await new.store.rebuild() }?.code == .damaged)
    try await sync(new)
    #expect(try new.store.verify().isSound)
    for device in [maker, new] { device.store.close() }
  }

  @Test("Other zones are sent before what a snapshot lacks is fetched again")
  func othersFirst() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    try FileManager.default.removeItem(atPath: directory(new) + "/0")
    let other = ZoneID(name: "other")
    try await new.set("title", of: "r", to: 1, in: other)
    try new.reopen()
    let recording = RecordingRemote(remote: remote)
    let report = try await new.replicator(recording) { $0.policy.zonesAtOnceMax = 1 }.syncOnce()
    #expect(report.isInSync, "\(report)")
    #expect(recording.calls == ["append to \(other)", "part of \(zone)"])
    #expect(try new.store.verify().isSound)
    for device in [maker, new] { device.store.close() }
  }

  @Test("A round that is cancelled while it fetches one again leaves that to the next one")
  func cancelled() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    try FileManager.default.removeItem(atPath: directory(new) + "/0")
    try new.reopen()
    _ = try await new.sync(CancellingRemote(remote: remote))
    try await sync(new)
    #expect(try new.store.verify().isSound)
    for device in [maker, new] { device.store.close() }
  }

  @Test("A zone that is not chosen keeps a damaged snapshot, until it is")
  func notChosen() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    try FileManager.default.removeItem(atPath: directory(new) + "/0")
    let other = ZoneID(name: "other")
    try await new.set("title", of: "r", to: 1, in: other)
    try new.reopen()
    #expect(try await new.sync(remote, zones: .only([other])).isInSync)
    #expect(try new.store.verify().problems.map(\.kind) == [.snapshot])
    try await sync(new)
    #expect(try new.store.verify().isSound)
    for device in [maker, new] { device.store.close() }
  }

  @Test("Records that are behind their log get the snapshot that they need, in the same round")
  func behindTheLog() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    try damage(try directory(new) + "/0")
    // What the log is read again for is folded from the snapshot on.
    _ = try await new.store.beginRereading(zone, from: .max)
    _ = try await new.store.endRereading(zone)
    #expect(try new.store.read { try $0.isFoldingAgain() })
    let report = try await sync(new)
    #expect(report.status == .inSync, "\(report)")
    let mended = try new.store.verify()
    #expect(mended.isSound && mended.comparesRecords, "\(mended)")
    #expect(try new.digests() == maker.digests())
    for device in [maker, new] { device.store.close() }
  }

  @Test("A manifest at the remote that names the same content, and says other things of it, is not taken")
  func otherManifest() async throws {
    let maker = try await maker()
    let new = try device("new", 2)
    try await sync(new)
    let snapshot = try await snapshot(maker)
    var manifest = try #require(try await remote.snapshotManifest(of: snapshot))
    // As of version 2: the content has all entries.
    (manifest.floor, manifest.hasAllEntries) = (1, true)
    try await objects.overwrite(.snapshotManifest(of: snapshot), manifest.encode())
    try FileManager.default.removeItem(atPath: directory(new) + "/manifest")
    try new.reopen()
    try await sync(new)
    #expect(try new.store.verify().problems.map(\.kind) == [.snapshot])
    for device in [maker, new] { device.store.close() }
  }

  @Test("A backup whose snapshot was damaged since gets it again with the next copy")
  func damagedInBackup() async throws {
    let maker = try await maker()
    try await maker.store.retireHistory(of: zone)
    let target = "\(scratch.path)/backup"
    try maker.store.backup(to: target)
    let content = try #require(try maker.store.information().zones.first?.origin).content
    try damage("\(target)/snapshots/\(content)/0")
    try maker.store.backup(to: target)
    #expect(
      FileManager.default.contentsEqual(
        atPath: "\(target)/snapshots/\(content)/0", andPath: try directory(maker) + "/0"))
    maker.store.close()
  }

  @Test(
    "What a process has left that ended while it wrote one goes at the next opening or round; what is being written stays"
  )
  func leftOver() async throws {
    let maker = try await maker()
    try await maker.store.retireHistory(of: zone)
    let root = "\(maker.directory)/snapshots"
    let fetched = "\(ContentHash.zero).new"
    for name in ["1f.new", "2f.new", fetched] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: false)
      try Data(count: 100).write(to: URL(fileURLWithPath: "\(root)/\(name)/0"))
    }
    let writer = try #require(DirectoryLock(ifFree: "\(root)/2f.new"))
    try maker.reopen()
    let left = try FileManager.default.contentsOfDirectory(atPath: root).filter { $0.hasSuffix(".new") }
    #expect(Set(left) == ["2f.new", fetched])
    extendLifetime(writer)
    try FileManager.default.createDirectory(atPath: "\(root)/3f.new", withIntermediateDirectories: false)
    try await sync(maker)
    #expect(!FileManager.default.fileExists(atPath: "\(root)/3f.new"))
    // What a link names is not the store's.
    let others = "\(scratch.path)/others"
    try FileManager.default.createDirectory(atPath: others, withIntermediateDirectories: false)
    try Data([1]).write(to: URL(fileURLWithPath: "\(others)/0"))
    try FileManager.default.createSymbolicLink(atPath: "\(root)/6f.new", withDestinationPath: others)
    try await sync(maker)
    #expect(FileManager.default.fileExists(atPath: "\(others)/0"))
    #expect(!FileManager.default.fileExists(atPath: "\(root)/6f.new"))
    // As a process leaves it that ends while a whole one takes the place of a damaged one.
    let whole = try directory(maker)
    try FileManager.default.moveItem(atPath: whole, toPath: "\(root)/4f.new")
    try FileManager.default.createDirectory(atPath: "\(root)/5f.old", withIntermediateDirectories: false)
    try maker.reopen()
    #expect(try maker.store.verify().isSound)
    #expect(FileManager.default.fileExists(atPath: whole))
    #expect(!FileManager.default.fileExists(atPath: "\(root)/5f.old"))
    maker.store.close()
  }

  // MARK: At a remote

  private func repair(from device: Device) async throws -> [RemoteRepair.Outcome] {
    var repair = RemoteRepair(remote, from: device.store)
    try await repair.repairSnapshots(RemoteAudit(of: remote, objects: objects.list()))
    return repair.snapshots.map(\.outcome)
  }

  @Test(
    "A damaged or lost file is put back by a store that can make the snapshot again, or began with it",
    arguments: ["part", "lost part", "manifest"], [false, true])
  func putBack(what: String, hasBegunWithIt: Bool) async throws {
    let maker = try await maker()
    // The snapshot is of a former place then.
    try await maker.set("title", of: "r0", to: "later")
    _ = try await maker.sync(remote)
    let new = try device("new", 2)
    #expect(try await sync(new).beganAt != nil)
    let snapshot = try await snapshot(maker)
    let part = try await remote.snapshotPart(at: 0, of: snapshot)
    let zeros = [UInt8](repeating: 0, count: 100)
    switch what {
    case "part": try await objects.overwrite(.snapshotPart(0, of: snapshot), zeros)
    case "lost part": try await objects.delete(.snapshotPart(0, of: snapshot))
    default: try await objects.overwrite(.snapshotManifest(of: snapshot), zeros)
    }
    #expect(try await RemoteAudit(of: remote, objects: objects.list()).problems.count == 1)
    let store = hasBegunWithIt ? new : maker
    #expect(try await repair(from: store) == [.putBack])
    #expect(try await remote.snapshotPart(at: 0, of: snapshot) == part)
    #expect(try await RemoteAudit(of: remote, objects: objects.list()).problems.isEmpty)
    #expect(try await repair(from: store).isEmpty)
    let third = try device("third", 3)
    #expect(try await sync(third).beganAt == snapshot.offset)
    for device in [maker, new, third] { device.store.close() }
  }

  @Test(
    "A manifest that says something else than its snapshot or the log is found, and put back",
    arguments: ["records", "floor", "hash", "chain", "content", "zone", "part"])
  func lyingManifest(what: String) async throws {
    let maker = try await maker()
    let snapshot = try await snapshot(maker)
    let right = try #require(try await remote.snapshotManifest(of: snapshot))
    var lying = right
    switch what {
    case "records": lying.records += 1
    // As of version 2: the content has all entries.
    case "floor": (lying.floor, lying.hasAllEntries) = (1, true)
    case "hash": lying.hash = lying.content
    case "chain": lying.chain = LogChain(hash: lying.content)
    case "content": lying.content = lying.digest
    case "zone": lying.zone = ZoneID(name: "other")
    default: lying.parts[0].byteCount += 1
    }
    try await objects.overwrite(.snapshotManifest(of: snapshot), lying.encode())
    let audit = try await RemoteAudit(of: remote, objects: objects.list())
    #expect(audit.problems.map(\.brokenSnapshot) == [.other], "\(audit.problems)")
    #expect(audit.logs[0].snapshots.isEmpty)
    let reading = try device("reading", 2)
    // A store cannot tell another floor.
    #expect(try await sync(reading).beganAt == nil || what == "floor")
    #expect(try await repair(from: maker) == [.putBack])
    #expect(try await remote.snapshotManifest(of: snapshot) == right)
    #expect(try await RemoteAudit(of: remote, objects: objects.list()).problems.isEmpty)
    let new = try device("new", 3)
    #expect(try await sync(new).beganAt == snapshot.offset)
    for device in [maker, reading, new] { device.store.close() }
  }

  @Test("A snapshot of another log is found, and replaced by that of the store")
  func otherLog() async throws {
    let maker = try await maker()
    let snapshot = try await snapshot(maker)
    let right = try #require(try await remote.snapshotManifest(of: snapshot))
    let other = MemoryObjects()
    _ = try await other.putIfAbsent(.marker, RemoteMarker(remote: RemoteID(rawValue: 9)).bytes)
    let stranger = try device("stranger", 2)
    try await stranger.set("title", of: "r0", to: "other")
    _ = try await ObjectRemote(other).createZone(zone, proposing: snapshot.incarnation)
    _ = try await stranger.sync(ObjectRemote(other))
    let made: Void? = try await stranger.store.withSnapshotAgain(
      of: zone, snapshot.incarnation, at: snapshot.offset
    ) {
      manifest, part in
      for index in manifest.parts.indices {
        try await objects.overwrite(.snapshotPart(index, of: snapshot), part(index))
      }
      try await objects.overwrite(.snapshotManifest(of: snapshot), manifest.encode())
    }
    try #require(made != nil)
    let audit = try await RemoteAudit(of: remote, objects: objects.list())
    #expect(audit.problems.map(\.brokenSnapshot) == [.other], "\(audit.problems)")
    guard case .refused? = try await repair(from: stranger).first else {
      Issue.record("a store of the other log has put it back")
      return
    }
    #expect(try await repair(from: maker) == [.putBack])
    #expect(try await remote.snapshotManifest(of: snapshot) == right)
    for device in [maker, stranger] { device.store.close() }
  }

  @Test("A name that cannot be read gets another snapshot, so that the names stay dense")
  func unreadableName() async throws {
    let maker = try await maker()
    let incarnation = try await snapshot(maker).incarnation
    let name = ObjectName.snapshotName(2, of: incarnation)
    _ = try await objects.putIfAbsent(name, [1, 2, 3])
    let audit = try await RemoteAudit(of: remote, objects: objects.list())
    #expect(audit.problems.map(\.place) == ["\(name)"], "\(audit.problems)")
    let new = try device("new", 2)
    #expect(try await sync(new).beganAt != nil)
    #expect(try await repair(from: maker) == [.putBack])
    #expect(try await remote.snapshots(of: zone, incarnation)?.count == 1)
    #expect(try await RemoteAudit(of: remote, objects: objects.list()).problems.isEmpty)
    for device in [maker, new] { device.store.close() }
  }

  @Test("A snapshot that has got the name of another one too stays as long as its own name keeps it")
  func namedTwice() async throws {
    let maker = try await maker()
    let incarnation = try await snapshot(maker).incarnation
    var made: [RemoteSnapshot] = []
    for number in 2...6 {
      if number == 5 {
        try await objects.overwrite(.snapshotName(2, of: incarnation), [1, 2, 3])
        #expect(try await repair(from: maker) == [.putBack])
      }
      try await maker.set("title", of: "r0", to: .int(Int64(number)))
      try await maker.syncWithoutSnapshot(remote)
      made.append(try await maker.putSnapshot(at: remote).0)
    }
    #expect(try await remote.snapshots(of: zone, incarnation) == made.reversed().prefix(4).map { $0 })
    for snapshot in made.suffix(4) { #expect(try await remote.snapshotManifest(of: snapshot) != nil) }
    maker.store.close()
  }

  @Test("A store that has not read up to there puts nothing back, and says so")
  func notInStore() async throws {
    let maker = try await maker()
    let other = try device("other", 2)
    try await objects.delete(.snapshotPart(0, of: try await snapshot(maker)))
    #expect(try await repair(from: other) == [.notInStore])
    #expect(try await RemoteAudit(of: remote, objects: objects.list()).problems.count == 1)
    for device in [maker, other] { device.store.close() }
  }
}

/// A remote that notes which zones are written, and of which zones parts of snapshots are read.
private struct RecordingRemote: ForwardingRemote {
  private final class Calls: Sendable {
    let names = Mutex<[String]>([])
  }

  let remote: any RemoteLog
  private let noted = Calls()

  init(remote: any RemoteLog) { self.remote = remote }

  var calls: [String] { noted.names.withLock { $0 } }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    noted.names.withLock { $0.append("append to \(segment.header.zone)") }
    return try await remote.append(segment, after: token)
  }

  func snapshotPart(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]? {
    noted.names.withLock { $0.append("part of \(snapshot.zone)") }
    return try await remote.snapshotPart(at: index, of: snapshot)
  }
}

/// A remote of which no part of a snapshot is read before the round is cancelled.
private struct CancellingRemote: ForwardingRemote {
  let remote: any RemoteLog

  func snapshotPart(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]? {
    throw .cancelled(remote.name)
  }
}
