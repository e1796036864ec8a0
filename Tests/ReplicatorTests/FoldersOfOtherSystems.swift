import EventStore
import Foundation
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Folders on file systems that ignore case, change the form of names, or have no links", .serialized)
struct FoldersOfOtherSystems {
  private let scratch = TemporaryDirectory(in: "/tmp")

  // MARK: Names

  /// Names of every kind of object, those that the folder has beside them, and their parts.
  private static func components(_ random: inout SeededRandom) -> Set<String> {
    let incarnation = IncarnationID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let (number, hash) = (
      random.next() >> UInt64(random.next(below: 60)) | 1, ContentHash(of: [UInt8(1)].span.bytes)
    )
    let maker = ReplicaID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let snapshot = RemoteSnapshot(of: ZoneID(name: "Ä"), incarnation, at: number, by: maker)
    let names: [ObjectName] = [
      .marker, .hint, .zoneEvent(number), .entry(of: incarnation, number), .amendment(of: nil, number),
      .amendment(of: incarnation, number), .assetChunk(number >> 32, of: hash, in: incarnation),
      .assetManifest(of: hash, in: incarnation), .snapshotPart(Int(number >> 40), of: snapshot),
      .snapshotManifest(of: snapshot), .snapshotName(number, of: incarnation),
      .floor(number, of: incarnation),
    ]
    for name in names { #expect(ObjectName(path: "\(name)") == name) }
    return Set(names.flatMap(\.components) + FolderTree.topFolders + ["\(incarnation)"])
  }

  @Test(
    "no name has an upper-case letter, nor anything that a form of Unicode changes, nor one that a system reserves"
  )
  func names() {
    var random = SeededRandom(seed: 1)
    var all: Set<String> = []
    for _ in 0..<200 { all.formUnion(Self.components(&random)) }
    #expect(all.count > 1000)
    for name in all {
      #expect(
        name.utf8.allSatisfy { Array("0123456789abcdefghijklmnopqrstuvwxyz-".utf8).contains($0) }, "\(name)")
      #expect(name == name.lowercased(), "\(name)")
      for form in [
        name.decomposedStringWithCanonicalMapping, name.precomposedStringWithCanonicalMapping,
        name.decomposedStringWithCompatibilityMapping, name.precomposedStringWithCompatibilityMapping,
      ] {
        #expect(Array(form.utf8) == Array(name.utf8), "\(name)")
      }
      #expect(name.utf8.count <= 64 && !["con", "prn", "aux", "nul"].contains(name), "\(name)")
    }
    #expect(Set(all.map { $0.uppercased() }).count == all.count)
  }

  // MARK: Case

  private static let checks = RemoteLogConformance.checks.indices

  @Test(
    "the contract is kept where case is ignored",
    arguments: WideTests.choose(Array(checks), otherwise: checks.filter { $0.isMultiple(of: 5) }))
  func ignoresCase(_ index: Int) async throws {
    guard let disk = MountedDisk(.ntfs, in: scratch.path) else { return }
    let conformance = RemoteLogConformance { doors in
      let path = "\(disk.path)/remote"
      _ = try await FolderRemote.create(directory: path)
      var opened: [any RemoteLog] = []
      for _ in 0..<doors { opened.append(try await FolderRemote.open(directory: path)) }
      return opened
    }
    try await conformance.run(RemoteLogConformance.checks[index])
  }

  @Test("a foreign name that differs by case takes the place of an entry, and all others are read")
  func foreignCase() async throws {
    guard let disk = MountedDisk(.ntfs, in: scratch.path) else { return }
    let path = "\(disk.path)/remote"
    let remote = try await FolderRemote.create(directory: path)
    let (zone, incarnation) = (ZoneID(name: "notes"), IncarnationID(rawValue: 0xab))
    _ = try await remote.createZone(zone, proposing: incarnation)
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    for offset in 0..<9 as Range<UInt64> { _ = try await remote.append(try maker.next(), after: offset) }
    let entry = "\(ObjectName.entry(of: incarnation, 10))"
    let foreign = entry.dropLast(1) + "A"
    #expect(FileManager.default.createFile(atPath: "\(path)/\(foreign)", contents: Data([1, 2, 3])))
    try #require(FileManager.default.fileExists(atPath: "\(path)/\(entry)"), "case counts here")
    let outcome = try await FolderRemote.open(directory: path).append(try maker.next(), after: 9)
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 11)))
    let read = try await FolderRemote.open(directory: path).segments(
      after: .start(of: zone, incarnation), bytesMax: 1 << 20)
    guard case .segments(let page, _) = read else {
      Issue.record("the zone is gone")
      return
    }
    #expect(page.map(\.offset) == Array(1...9))
    #expect(FileManager.default.contents(atPath: "\(path)/\(entry)") == Data([1, 2, 3]))
  }

  // MARK: Links

  @Test("without links and renames that keep what exists, no remote is made, and a store takes none")
  func neither() async throws {
    guard let disk = MountedDisk(.exfat, in: scratch.path) else { return }
    let path = "\(disk.path)/remote"
    do throws(RemoteError) {
      _ = try await FolderRemote.create(directory: path)
      Issue.record("it is made")
    } catch {
      #expect(error.code == .unsuitable, "\(error)")
    }
    // One that was copied there.
    let made = "\(scratch.path)/made"
    let writer = try Device(in: scratch.path, "w", seed: 1)
    try await writer.set("title", of: "first", to: 1)
    try await writer.sync(try await FolderRemote.create(directory: made))
    writer.store.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: made, toPath: path)
    let before = try await FolderRemote.open(directory: path).objects.list()
    let device = try Device(in: scratch.path, "d", seed: 2)
    await #expect(throws: SyncFailure.self) { try await device.sync(FolderRemote(directory: path)) }
    #expect(try device.store.syncState().databaseToken == nil)
    #expect(try await FolderRemote.open(directory: path).objects.list() == before)
    // Who only reads may.
    #expect(try await device.sync(FolderRemote(directory: path, isReadOnly: true)).isInSync)
    #expect(try device.recordNames().count == 1)
    device.store.close()
  }
}
