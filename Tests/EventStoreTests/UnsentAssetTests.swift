import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Assets that a remote lacks although it has their segments")
struct UnsentAssetTests {
  private let bytes = assetBytes(5000)

  /// A store with a zone that refers to an asset.
  private func makeStore(_ directory: TemporaryDirectory) async throws -> (LocalStore, AssetReference) {
    let store = try directory.store()
    try await store.makeAttachedZone()
    let asset = try await store.importAsset(bytes: bytes)
    try await store.write { try $0.create(note("first"), type: "note", fields: ["photo": .asset(asset)]) }
    return (store, asset)
  }

  private func hasUnsent(_ store: LocalStore) throws -> Bool {
    try store.syncState().zones.contains(where: \.hasUnsentAssets)
  }

  @Test(
    "an asset is due when it is here again, however it arrived, and also after a restart", arguments: 0..<4)
  func untilHere(_ kind: Int) async throws {
    let directory = TemporaryDirectory()
    var (store, asset) = try await makeStore(directory)
    let path = try store.assetPath(asset)
    switch kind {
    case 0: unlink(path)
    case 1: writeFile(path, Array(bytes.dropLast()))
    default: writeFile(path, Array(bytes.reversed()))
    }
    let condition = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    #expect(condition == (kind == 0 ? .missing : .damaged))
    store.close()
    store = try directory.store()
    #expect(try hasUnsent(store))
    let early = try store.assetTransfers.nextUnsent(of: noteZone, after: nil)
    #expect(early == nil)
    // A known asset costs no commit.
    let commit = try store.lastCommitID
    _ = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    #expect(try store.lastCommitID == commit)
    if kind == 3 {
      // By another process that ended before it recorded that.
      let other = path + ".other"
      writeFile(other, bytes)
      #expect(rename(other, path) == 0)
    } else {
      _ = try await store.importAsset(bytes: bytes)
    }
    let due = try store.assetTransfers.nextUnsent(of: noteZone, after: nil)
    #expect(due == asset)
    let next = try store.assetTransfers.nextUnsent(of: noteZone, after: asset)
    #expect(next == nil)
    try await checkSound(store)
    #expect(try hasUnsent(store))
    try await store.assetTransfers.noteSent(asset, in: noteZone, testIncarnation)
    #expect(try !hasUnsent(store))
    let sent = try store.lastCommitID
    try await store.assetTransfers.noteSent(asset, in: noteZone, testIncarnation)
    #expect(try store.lastCommitID == sent)
    try await checkSound(store)
  }

  @Test("a file that is sound when it is checked is due, whatever was wrong before")
  func soundMeanwhile() async throws {
    let directory = TemporaryDirectory()
    let (store, asset) = try await makeStore(directory)
    let condition = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    #expect(condition == .whole)
    let due = try store.assetTransfers.nextUnsent(of: noteZone, after: nil)
    #expect(due == asset)
  }

  @Test(
    "a file that was damaged twice is due again when it is imported, even with the same inode")
  func sameInode() async throws {
    let directory = TemporaryDirectory()
    let (store, asset) = try await makeStore(directory)
    let path = try store.assetPath(asset)
    writeFile(path, Array(bytes.reversed()))
    _ = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    for _ in 0..<8 {
      _ = try await store.importAsset(bytes: bytes)
      let due = try store.assetTransfers.nextUnsent(of: noteZone, after: nil)
      #expect(due == asset)
    }
  }

  @Test("an asset of no zone, of another incarnation, or of a removed zone is not recorded")
  func nobodys() async throws {
    let directory = TemporaryDirectory()
    let (store, asset) = try await makeStore(directory)
    unlink(try store.assetPath(asset))
    let commit = try store.lastCommitID
    let stranger = AssetReference(hash: asset.hash, byteCount: 77)
    let places: [(AssetReference, ZoneID, IncarnationID)] = [
      (stranger, noteZone, testIncarnation), (asset, noteZone, IncarnationID(rawValue: 0xBAD)),
      (asset, ZoneID(name: "nothing"), testIncarnation),
    ]
    for (asset, zone, incarnation) in places {
      let condition = try await store.assetTransfers.noteUnsent(asset, in: zone, incarnation)
      #expect(condition == .missing)
      try await store.assetTransfers.noteSent(asset, in: zone, incarnation)
    }
    #expect(try store.lastCommitID == commit)
    _ = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    try await store.assetTransfers.noteSent(asset, in: noteZone, IncarnationID(rawValue: 0xBAD))
    #expect(try hasUnsent(store))
    try await store.write { try $0.deleteZone(noteZone) }
    let gone = await store.withdrawnRows()
    #expect(gone.isEmpty, "\(gone)")
  }

  @Test(
    "the position of the last transaction with a wanted asset is stored, so that a new one is noticed")
  func namedAgain() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone)
    var remote = TestRemote()
    let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: 5000)
    _ = try remote.append([transaction(9, 1, [create("theirs"), set("theirs", "photo", .asset(asset))])])
    _ = try await store.ingest(try remote.news(for: store))
    let first = try store.assetTransfers.nextWanted(of: noteZone, after: nil)
    #expect(first.reference == asset)
    #expect(first.logEnd == (try store.lastPosition()))
    let none = try store.assetTransfers.nextWanted(of: noteZone, after: nil, namedAfter: first.logEnd)
    #expect(none.reference == nil)
    _ = try remote.append([transaction(9, 2, base: 1, [set("theirs", "title", .int(1))])])
    _ = try await store.ingest(try remote.news(for: store))
    let other = try store.assetTransfers.nextWanted(of: noteZone, after: nil, namedAfter: first.logEnd)
    #expect(other.reference == nil)
    _ = try remote.append([transaction(9, 3, base: 2, [set("theirs", "copy", .asset(asset))])])
    _ = try await store.ingest(try remote.news(for: store))
    let again = try store.assetTransfers.nextWanted(of: noteZone, after: nil, namedAfter: first.logEnd)
    #expect(again.reference == asset)
    // An asset that is here is not wanted because of another reference.
    _ = try await store.importAsset(bytes: bytes)
    _ = try remote.append([transaction(9, 4, base: 3, [set("theirs", "third", .asset(asset))])])
    _ = try await store.ingest(try remote.news(for: store))
    let left = try store.assetTransfers.nextWanted(of: noteZone, after: nil)
    #expect(left.reference == nil)
    try await checkSound(store)
  }

  @Test("a row of the list with an invalid number is reported, and a row without a number means 0")
  func damagedRow() async throws {
    let directory = TemporaryDirectory()
    let (store, asset) = try await makeStore(directory)
    unlink(try store.assetPath(asset))
    _ = try await store.assetTransfers.noteUnsent(asset, in: noteZone, testIncarnation)
    let row = try #require(try store.rows(\.assets).first { $0.key[0] == 5 })
    try store.overwrite(row.key, [], in: \.assets)
    _ = try await store.importAsset(bytes: bytes)
    let due = try store.assetTransfers.nextUnsent(of: noteZone, after: nil)
    #expect(due == asset)
    try store.overwrite(row.key, [0x80], in: \.assets)
    #expect(throws: (any Error).self) { try store.assetTransfers.nextUnsent(of: noteZone, after: nil) }
  }
}

extension LocalStore {
  /// The rows of assets that are left after a removed zone's rows were removed, without holds.
  fileprivate func withdrawnRows() async -> [Row] {
    do {
      for zone in try syncState().zones where zone.attachment == .deleting {
        guard let token = zone.token else { continue }
        try await finishDeletion(of: zone.zone, token.incarnation)
      }
      _ = try await reclaim()
      return try rows(\.assets).filter { $0.key[0] != 3 }
    } catch {
      Issue.record("\(error)")
      return []
    }
  }
}
