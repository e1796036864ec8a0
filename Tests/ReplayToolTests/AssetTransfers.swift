import EventStore
import Foundation
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Assets to and from a remote, zone by zone", .serialized)
struct AssetTransfers {
  private let temporary = TemporaryDirectory()
  private let random = SharedBits(1)
  private var path: String { temporary.path + "/my album.store" }
  private var folder: String { temporary.path + "/remote" }
  private var remote: String { "folder:\(folder)" }

  private func open() throws -> LocalStore { try ShoppingStore.open(path) }

  /// Refers to an asset in a zone, which is created.
  private func name(_ asset: AssetReference, in zone: ZoneID, _ store: LocalStore) async throws {
    try await store.write { tx in
      try tx.createZone(zone)
      let record = RecordID(zone: zone, name: Name("\(asset.hash)"))
      try tx.create(record, type: "photo", fields: ["photo": .asset(asset)])
    }
  }

  private func sync(_ path: String, _ arguments: String...) async -> Tool.Result {
    await Tool(random).run(["sync", path, "--remote", remote] + arguments)
  }

  private func directories(of asset: AssetReference) throws -> [String] {
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
    return files.filter { $0.hasSuffix("\(asset.hash)/manifest") }.sorted()
  }

  @Test("an asset of no synced zone is a separate problem, and an asset of deleted zones is none")
  func unsyncedZones() async throws {
    let store = try open()
    var assets: [AssetReference] = []
    for number in 0..<4 as Range<UInt8> {
      assets.append(try await store.importAsset(bytes: [UInt8](repeating: number, count: 1000)))
    }
    // A download takes them in the order of their hashes: the first two are problems.
    assets.sort { "\($0.hash)" < "\($1.hash)" }
    let (own, gone, album) = (ZoneID(name: "private"), ZoneID(name: "gone"), ZoneID(name: "album"))
    for (asset, zone) in zip(assets, [own, gone, album, album]) { try await name(asset, in: zone, store) }
    let files = try assets.map { try store.assetPath($0) }
    store.close()
    let made = await sync(path, "--create-remote", "--attach", "album", "--attach", "gone")
    #expect(made.exit == 0, "\(made)")
    let again = try open()
    try await again.write { try $0.deleteZone(gone) }
    again.close()
    for file in files { try FileManager.default.removeItem(atPath: file) }
    let hint = "replay sync '\(path)' --remote \(remote) --attach private"
    let brought = await Tool().run("asset", "download", path, "--remote", remote)
    #expect(brought.exit == 1 && brought.errors == "", "\(brought)")
    #expect(brought.output.contains("downloaded 2 assets, 2,000 bytes"), "\(brought)")
    #expect(brought.output.contains("no zone that names asset \(assets[0].hash) was ever synced"))
    #expect(brought.output.contains(hint) && !brought.output.contains("\(assets[1].hash)"), "\(brought)")
    for (asset, words) in [(assets[0], hint), (assets[1], "the zones that named asset")] {
      let named = await Tool().run("asset", "download", path, "\(asset.hash)", "--remote", remote)
      #expect(named.exit == 2 && named.errors.contains(words), "\(named)")
    }
  }

  @Test("an asset is downloaded from any zone whose log has it")
  func downloadsFromAny() async throws {
    let (store, bytes) = (try open(), [UInt8](repeating: 1, count: 1000))
    let asset = try await store.importAsset(bytes: bytes)
    for zone in ["a", "b"] as [Name] { try await name(asset, in: ZoneID(name: zone), store) }
    let file = try store.assetPath(asset)
    store.close()
    #expect(await sync(path, "--create-remote", "--attach", "a", "--attach", "b").exit == 0)
    let manifests = try directories(of: asset)
    try #require(manifests.count == 2)
    for manifest in manifests {
      // Only one of the two logs lacks it.
      let kept = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(manifest)"))
      try FileManager.default.removeItem(atPath: "\(folder)/\(manifest)")
      try FileManager.default.removeItem(atPath: file)
      let brought = await Tool().run("asset", "download", path, "--remote", remote)
      #expect(brought.exit == 0 && brought.output == "downloaded 1 asset, 1,000 bytes\n", "\(brought)")
      try kept.write(to: URL(fileURLWithPath: "\(folder)/\(manifest)"))
    }
    for manifest in manifests { try FileManager.default.removeItem(atPath: "\(folder)/\(manifest)") }
    try FileManager.default.removeItem(atPath: file)
    let lacking = await Tool().run("asset", "download", path, "--remote", remote)
    #expect(lacking.exit == 1 && lacking.lines.count == 3, "\(lacking)")
    #expect(lacking.output.hasPrefix("asset \(asset.hash) is not at the remote"), "\(lacking)")
  }

  @Test("an asset is sent to each log that accepts it, even if another log is closed")
  func uploadsToOpenLogs() async throws {
    let store = try open()
    let asset = try await store.importAsset(bytes: [UInt8](repeating: 1, count: 1000))
    for zone in ["a", "b"] as [Name] { try await name(asset, in: ZoneID(name: zone), store) }
    store.close()
    #expect(await sync(path, "--create-remote", "--attach", "a", "--attach", "b").exit == 0)
    let copy = temporary.path + "/copy.store"
    #expect(await sync(copy, "--create-store").exit == 0)
    let other = try ShoppingStore.open(copy)
    try await other.write { try $0.deleteZone(ZoneID(name: "a")) }
    other.close()
    #expect(await sync(copy).exit == 0)
    for manifest in try directories(of: asset) {
      try FileManager.default.removeItem(atPath: "\(folder)/\(manifest)")
    }
    let sent = await Tool().run("asset", "upload", path, "\(asset.hash)", "--remote", remote)
    #expect(sent.exit == 1 && sent.output.contains("uploaded 1 asset, 0 bytes"), "\(sent)")
    #expect(sent.output.contains("the log of the zone “a” at ") && sent.output.contains(" is closed"))
    #expect(try directories(of: asset).count == 1)
  }

  @Test("a missing or damaged file is not sent, and the error says where to get it")
  func nothingToSend() async throws {
    let store = try open()
    let asset = try await store.importAsset(bytes: [UInt8](repeating: 1, count: 1000))
    try await name(asset, in: ZoneID(name: "a"), store)
    let file = try store.assetPath(asset)
    store.close()
    #expect(await sync(path, "--create-remote", "--attach", "a").exit == 0)
    for (words, code) in [("is damaged here", "assetDamaged"), ("is not here", "assetMissing")] {
      if code == "assetDamaged" {
        try Data(repeating: 9, count: 1000).write(to: URL(fileURLWithPath: file))
      } else {
        try FileManager.default.removeItem(atPath: file)
      }
      let refused = await Tool().run("asset", "upload", path, "\(asset.hash)", "--remote", remote)
      #expect(
        refused.exit == 1 && refused.errors.contains("\(words): there is nothing to send"), "\(refused)")
      let command = "replay asset download '\(path)' \(asset.hash) --remote \(remote)"
      #expect(refused.errors.contains(command), "\(refused)")
      let inJSON = await Tool().run("asset", "upload", path, "\(asset.hash)", "--remote", remote, "--json")
      #expect(inJSON.errors.contains(#""code":"\#(code)""#), "\(inJSON)")
    }
    // Its advice helps.
    #expect(await Tool().run("asset", "download", path, "\(asset.hash)", "--remote", remote).exit == 0)
    #expect(await Tool().run("asset", "upload", path, "\(asset.hash)", "--remote", remote).exit == 0)
  }
}
