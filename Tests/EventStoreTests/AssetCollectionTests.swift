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

@Suite("Assets are counted, and collected when nothing refers to them")
struct AssetCollectionTests {
  private let zones = (0..<3).map { ZoneID(name: Name("zone\($0)")) }

  private func makeStore(_ directory: TemporaryDirectory) async throws -> LocalStore {
    let store = try directory.store()
    for zone in zones {
      try await store.makeZone(zone)
      try await store.write { tx in
        for name: Name in ["a", "b"] { try tx.create(RecordID(zone: zone, name: name), type: "note") }
      }
    }
    return store
  }

  @Test("an asset of two deleted records is kept: the log still refers to it")
  func twoRecords() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let bytes = assetBytes(70_000)
    let asset = try await store.importAsset(bytes: bytes)
    for name: Name in ["a", "b"] {
      try await store.write {
        try $0.set("photo", of: RecordID(zone: zones[0], name: name), to: .asset(asset))
      }
    }
    #expect(store.assetFiles().count == 1)
    for name: Name in ["a", "b"] {
      try await store.write { try $0.delete(RecordID(zone: zones[0], name: name)) }
      let report = try await store.reclaim()
      #expect(report.assets == 0)
      let content = try store.assetContent(asset)
      #expect(content == bytes)
    }
    var named: [NamedAsset] = []
    try store.forEachAsset {
      named.append($0)
      return true
    }
    #expect(named.map(\.reference) == [asset])
    #expect(named.map(\.transactions) == [2])
    #expect(named.map(\.zones) == [[zones[0]]])
    let information = try store.information()
    #expect(information.assets.count == 1)
    #expect(information.assets.bytes == 70_000)
    #expect(information.assets.missing == 0)
    // A record that is restored has its asset.
    try await store.write { tx in
      try tx.create(RecordID(zone: zones[0], name: "a"), type: "note", fields: ["photo": .asset(asset)])
    }
    try await checkSound(store)
  }

  @Test("an asset of two zones is collected with the last of them")
  func twoZones() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let shared = try await store.importAsset(bytes: assetBytes(70_000))
    let own = try await store.importAsset(bytes: assetBytes(1000, seed: 2))
    try await store.write { tx in
      for zone in zones.prefix(2) {
        try tx.set("photo", of: RecordID(zone: zone, name: "a"), to: .asset(shared))
      }
      try tx.set("other", of: RecordID(zone: zones[0], name: "b"), to: .asset(own))
    }
    try await store.write { try $0.deleteZone(zones[0]) }
    let beforeReclaim = try store.verify()
    #expect(beforeReclaim.problems == [])
    #expect(store.assetFiles().count == 2)
    let first = try await store.reclaim()
    #expect(first.assets == 1)
    #expect(first.assetBytes == 1000)
    #expect(code { _ = try store.openAsset(own) } == .assetMissing)
    _ = try store.assetContent(shared)
    try await checkSound(store)
    try await store.write { try $0.deleteZone(zones[1]) }
    var reader = try store.openAsset(shared)
    let second = try await store.reclaim()
    #expect(second.assets == 1)
    #expect(store.assetFiles() == [])
    let rows = try store.rows(\.assets)
    #expect(rows == [])
    // A reader that had it open reads it to its end.
    var count = 0
    while let piece = try reader.next() { count += piece.count }
    #expect(count == 70_000)
    try await checkSound(store)
  }

  @Test("an import is kept for a day, and then collected unless something refers to it")
  func imports() async throws {
    let directory = TemporaryDirectory()
    let clock = TestClock(1_700_000_000_000)
    let store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeZone()
    try await store.write { try $0.create(note("first"), type: "note") }
    let named = try await store.importAsset(bytes: [1])
    let unnamed = try await store.importAsset(bytes: [2])
    try await store.write { try $0.set("photo", of: note("first"), to: .asset(named)) }
    clock.milliseconds += 86_400_000 - 1
    let early = try await store.reclaim()
    #expect(early.assets == 0)
    clock.milliseconds += 1
    let late = try await store.reclaim()
    #expect(late.assets == 1)
    #expect(code { _ = try store.openAsset(unnamed) } == .assetMissing)
    _ = try store.assetContent(named)
    let refused = await awaitedCode {
      try await store.write { try $0.set("photo", of: note("first"), to: .asset(unnamed)) }
    }
    #expect(refused == .assetMissing)
    let held = try store.rows(\.assets).filter { $0.key[0] == 3 }
    #expect(held == [])
    try await checkSound(store)
  }

  @Test("the file of a failed write is collected, and nothing refers to it")
  func failedWrites() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store { $0.assetThresholdBytes = 1000 }
    try await store.makeZone()
    struct Refused: Error {}
    let kept = assetBytes(2000)
    try await store.write { try $0.create(note("first"), type: "note", fields: ["photo": .bytes(kept)]) }
    await #expect(throws: Refused.self) {
      try await store.write { tx in
        try tx.set("photo", of: note("first"), to: .bytes(assetBytes(2000, seed: 2)))
        try tx.set("other", of: note("first"), to: .bytes(kept))
        throw Refused()
      }
    }
    #expect(store.assetFiles().count == 2)
    let report = try store.verify()
    #expect(report.unnamedAssets == 1)
    let reclaimed = try await store.reclaim()
    #expect(reclaimed.assets == 1)
    let asset = try #require(try store.asset("photo", note("first")))
    let content = try store.assetContent(asset)
    #expect(content == kept)
    try await checkSound(store)
  }

  @Test("assets of others' transactions are counted, and wanted until they arrive")
  func remote() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone)
    var remote = TestRemote()
    let bytes = assetBytes(5000)
    let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: 5000)
    _ = try remote.append([
      transaction(9, 1, [create("theirs"), set("theirs", "photo", .array([.null, .asset(asset)]))])
    ])
    _ = try remote.append([transaction(9, 2, base: 1, [set("theirs", "copy", .asset(asset))])])
    _ = try await store.ingest(try remote.news(for: store))
    let wanted = try store.assetTransfers.nextWanted(of: noteZone, after: nil).reference
    #expect(wanted == asset)
    let next = try store.assetTransfers.nextWanted(of: noteZone, after: asset).reference
    #expect(next == nil)
    let information = try store.information()
    #expect(information.assets.missing == 1)
    let report = try store.verify()
    #expect(report.problems == [])
    #expect(report.missingAssets == 1)
    let partial = try #require(try store.assetTransfers.partial(asset))
    let another = try store.assetTransfers.partial(asset)
    #expect(another == nil)
    try partial.append(bytes)
    let isWhole = try partial.isWhole()
    #expect(isWhole)
    try partial.publish()
    try await store.assetTransfers.noteArrival(of: asset)
    let left = try store.assetTransfers.nextWanted(of: noteZone, after: nil).reference
    #expect(left == nil)
    let content = try store.assetContent(asset)
    #expect(content == bytes)
    let commit = try store.lastCommitID
    try await store.assetTransfers.noteArrival(of: asset)
    let same = try store.lastCommitID
    #expect(same == commit)
    try await checkSound(store)
  }

  @Test(
    "an asset of others is wanted no more after it is imported or written as bytes here",
    arguments: [false, true])
  func wantedAndImported(_ asBytes: Bool) async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store { $0.assetThresholdBytes = 1000 }
    try await store.makeAttachedZone(noteZone)
    var remote = TestRemote()
    let bytes = assetBytes(5000)
    let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: 5000)
    _ = try remote.append([transaction(9, 1, [create("theirs"), set("theirs", "photo", .asset(asset))])])
    _ = try await store.ingest(try remote.news(for: store))
    let wanted = try store.assetTransfers.nextWanted(of: noteZone, after: nil).reference
    #expect(wanted == asset)
    if asBytes {
      try await store.write { try $0.set("copy", of: note("theirs"), to: .bytes(bytes)) }
    } else {
      _ = try await store.importAsset(bytes: bytes)
    }
    let left = try store.assetTransfers.nextWanted(of: noteZone, after: nil).reference
    #expect(left == nil)
    try await checkSound(store)
    // The verification then misses its file.
    unlink(try store.assetPath(asset))
    let report = try store.verify()
    #expect(report.problems.map(\.kind) == [.asset])
  }

  @Test("verification finds counts, lists and files that are wrong")
  func wrongRows() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let asset = try await store.importAsset(bytes: assetBytes(3000))
    try await store.write { try $0.set("photo", of: RecordID(zone: zones[0], name: "a"), to: .asset(asset)) }
    for row in try store.rows(\.assets) {
      for value: [UInt8]? in [nil, [2], [], [0x80]] {
        if value == row.value || row.key[0] == 1 && value != nil { continue }
        try store.overwrite(row.key, value, in: \.assets)
        let report = try store.verify()
        #expect(report.problems.contains { $0.kind == .assetList }, "\(row) \(String(describing: value))")
      }
      try store.overwrite(row.key, row.value, in: \.assets)
      var longer = row.key
      longer.append(0)
      try store.overwrite(longer, row.value, in: \.assets)
      let report = try store.verify()
      #expect(report.problems.map(\.kind) == [.table])
      try store.overwrite(longer, nil, in: \.assets)
    }
    try await checkSound(store)
  }

  @Test(
    "a rebuild counts again: it corrects wrong counts, and counts assets of operations that it knows now"
  )
  func recount() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let asset = try await store.importAsset(bytes: assetBytes(3000))
    let other = try await store.importAsset(bytes: assetBytes(3000, seed: 2))
    try await store.write { tx in
      try tx.set("photo", of: RecordID(zone: zones[0], name: "a"), to: .asset(asset))
      try tx.set(
        "photo", of: RecordID(zone: zones[1], name: "a"), to: .array([.asset(asset), .asset(other)]))
    }
    try await store.write { try $0.set("copy", of: RecordID(zone: zones[1], name: "b"), to: .asset(asset)) }
    let rows = try store.rows(\.assets)
    #expect(rows.filter { $0.key[0] == 0 }.map(\.value).sorted { $0[0] < $1[0] } == [[1], [1], [2]])
    for row in rows where row.key[0] == 0 {
      for value: [UInt8]? in [nil, [9]] {
        try store.overwrite(row.key, value, in: \.assets)
        // As left by a version that did not know the operations.
        if value == nil { try store.overwrite(Array("unfolded".utf8), [4], in: \.meta) }
        _ = try await store.rebuild()
        let recounted = try store.rows(\.assets)
        #expect(recounted == rows)
      }
    }
    let deleted = rows.filter { $0.key[0] < 2 }
    for row in deleted { try store.overwrite(row.key, nil, in: \.assets) }
    try store.overwrite(Array("unfolded".utf8), [4], in: \.meta)
    let path = try store.assetPath(other)
    unlink(path)
    store.close()
    let opened = try directory.store()
    let recounted = try opened.rows(\.assets)
    #expect(recounted.filter { $0.key[0] < 2 } == deleted)
    let wanted = try opened.assetTransfers.nextWanted(of: zones[1], after: nil).reference
    #expect(wanted == other)
    try await checkSound(opened)
  }

  @Test("if the log cannot be read, its assets are not reported as missing too")
  func damagedLog() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let asset = try await store.importAsset(bytes: assetBytes(3000))
    try await store.write { try $0.set("photo", of: RecordID(zone: zones[0], name: "a"), to: .asset(asset)) }
    let last = try #require(try store.rows(\.log).last)
    var flipped = last.value
    flipped[flipped.count / 2] ^= 1
    try store.overwrite(last.key, flipped, in: \.log)
    let report = try store.verify()
    #expect(report.problems.map(\.kind) == [.log])
    #expect(report.assets == 1)
  }

  @Test("the policy of a zone is stored, and removed with the zone")
  func policies() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    try await store.setAssetPolicy(.eager, of: zones[1])
    func policies() throws -> [AssetPolicy] {
      try store.read { tx in try tx.zones().map { try tx.assetPolicy(of: $0) } }
    }
    let some = try policies()
    #expect(some == [.lazy, .eager, .lazy])
    let states = try store.syncState().zones.map(\.assetPolicy)
    #expect(states == some)
    try await checkSound(store)
    try await store.setAssetPolicy(.lazy, of: zones[1])
    try await store.setAssetPolicy(.eager, of: zones[2])
    let changed = try policies()
    #expect(changed == [.lazy, .lazy, .eager])
    try await store.write { try $0.deleteZone(zones[2]) }
    _ = try await store.reclaim()
    let rows = try store.rows(\.assets)
    #expect(rows == [])
    let unknown = await awaitedCode { try await store.setAssetPolicy(.eager, of: zones[2]) }
    #expect(unknown == .zoneUnknown)
  }

  @Test("a write that is repeated because the map was full is counted once")
  func smallMap() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store { $0.mapBytes = 1 << 20 }
    try await store.makeZone()
    let runs = Shared(0)
    var assets: [AssetReference] = []
    for number in 0..<3 {
      assets.append(try await store.importAsset(bytes: assetBytes(100, seed: UInt64(number))))
    }
    let all = assets
    let tasks = (0..<60).map { number in
      Task.immediate {
        try await store.write { tx in
          runs.value += 1
          let body = Value.string(String(repeating: "x", count: 50_000))
          try tx.create(
            note("n\(number)"), type: "note", fields: ["body": body, "photo": .asset(all[number % 3])])
        }
      }
    }
    for task in tasks { try await task.value }
    #expect(runs.value == 60)
    let mapBytes = try store.environment.information.mapBytes
    #expect(mapBytes > 1 << 20)
    let counts = try store.rows(\.assets).filter { $0.key[0] == 0 }.map(\.value)
    #expect(counts == [[20], [20], [20]])
    try await checkSound(store)
  }

  @Test("many assets of a zone are removed in steps, and an interrupted removal continues")
  func manyAssets() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    var assets: [AssetReference] = []
    for number in 0..<300 {
      assets.append(try await store.importAsset(bytes: assetBytes(100, seed: UInt64(number))))
    }
    let all = assets
    try await store.write { tx in
      for (number, asset) in all.enumerated() {
        try tx.set(Name("f\(number)"), of: RecordID(zone: zones[0], name: "a"), to: .asset(asset))
        if number % 3 == 0 {
          try tx.set(Name("f\(number)"), of: RecordID(zone: zones[1], name: "a"), to: .asset(asset))
        }
      }
    }
    try await store.write { try $0.deleteZone(zones[0]) }
    let batchRows = try await store.perform { store in
      try store.storage.assets.removeAll(of: ZoneNumber(rawValue: 1), rowsMax: 30)
    }
    #expect(batchRows == 30)
    let between = try store.verify()
    #expect(between.problems == [])
    let report = try await store.reclaim()
    #expect(report.assets == 200)
    #expect(store.assetFiles().count == 100)
    try await checkSound(store)
  }
}
