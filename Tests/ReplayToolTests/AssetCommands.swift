import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

// One after the other: each store reserves the available address space, and other tests run too.
@Suite("Assets from the command line", .serialized)
struct AssetCommands {
  private let temporary = TemporaryDirectory()
  private let zone = ZoneID(name: "album")
  private var path: String { temporary.path + "/album.store" }

  /// A store with two assets, one of them in two records, and one asset that is not here.
  private func makeStore() async throws -> [AssetReference] {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let record = RecordID(zone: zone, name: "a")
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.create(record, type: "photo")
      try tx.create(RecordID(zone: zone, name: "b"), type: "photo")
    }
    var assets: [AssetReference] = []
    for number in 0..<3 as Range<UInt8> {
      let asset = try await store.importAsset(bytes: [UInt8](repeating: number, count: 1000 + Int(number)))
      try await store.write { try $0.set(Name("photo \(number)"), of: record, to: .asset(asset)) }
      assets.append(asset)
    }
    let first = assets[0]
    try await store.write { tx in
      try tx.set("photo", of: RecordID(zone: zone, name: "b"), to: .asset(first))
    }
    try FileManager.default.removeItem(atPath: store.assetPath(assets[2]))
    return assets
  }

  @Test("the list has the zones of each, and whether it is here")
  func list() async throws {
    let assets = try await makeStore()
    let listed = await Tool().run("asset", "list", path)
    #expect(listed.exit == 0 && listed.errors == "")
    for (index, asset) in assets.enumerated() {
      let line = try #require(listed.lines.first { $0.hasPrefix("\(asset.hash)") })
      #expect(line.contains(index == 0 ? "2 transactions" : "1 transaction"))
      #expect(line.contains("1,00\(index) bytes") && line.hasSuffix("album"))
      #expect(line.contains("not here") == (index == 2))
    }
    let missing = await Tool().run("asset", "list", path, "--missing", "--json")
    let hash = assets[2].hash
    #expect(
      missing.output
        == #"{"bytes":1002,"hash":"\#(hash)","isHere":false,"transactions":1,"zones":["album"]}"# + "\n")
    let other = await Tool().run("asset", "list", path, "--zone", "nothing")
    #expect(other.exit == 2 && other.errors.contains("nothing"))
    let info = await Tool().run("info", path)
    #expect(info.output.contains("3, 3,003 bytes; 1 not here, 1,002 bytes"))
    let json = await Tool().run("info", path, "--json")
    #expect(json.output.contains(#""assets":{"bytes":3003,"count":3,"missing":1,"missingBytes":1002}"#))
    // Its file was here, and was removed.
    let verified = await Tool().run("verify", path)
    #expect(verified.exit == 1 && verified.output.contains("its file is gone"))
    #expect(verified.output.contains("Log and records are sound."))
  }

  @Test("an asset is copied to a file, given some digits of its hash")
  func export() async throws {
    let assets = try await makeStore()
    let file = temporary.path + "/photo"
    let hash = assets[1].hash.description
    for digits in [hash, String(hash.prefix(10))] {
      let copied = await Tool().run("asset", "export", path, digits, file)
      #expect(copied.exit == 0 && copied.output == "wrote 1,001 bytes to \(file)\n")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(bytes == Data(repeating: 1, count: 1001))
      try FileManager.default.removeItem(atPath: file)
    }
    let json = await Tool().run("asset", "export", path, hash, file, "--json")
    #expect(json.output.contains(#""bytes":1001"#))
    try FileManager.default.removeItem(atPath: file)
    for (digits, exit) in [("", 2), ("zz", 2), (hash + "0", 2), ("0000000000", 2), ("\(assets[2].hash)", 1)] {
      let refused = await Tool().run("asset", "export", path, digits, file)
      #expect(refused.exit == Int32(exit), "\(digits)")
      #expect(refused.errors.contains("hint:"))
      #expect(exit == 2 || refused.errors.contains("`replay asset download \(path) HASH --remote REMOTE`"))
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  @Test("a damaged asset is found by verify, and is not copied")
  func damaged() async throws {
    let assets = try await makeStore()
    let store = try ShoppingStore.open(path)
    let assetPath = try store.assetPath(assets[1])
    store.close()
    try Data(repeating: 9, count: 1001).write(to: URL(fileURLWithPath: assetPath))
    let file = temporary.path + "/photo"
    let refused = await Tool().run("asset", "export", path, "\(assets[1].hash)", file)
    #expect(refused.exit == 1 && refused.errors.contains("other bytes"))
    #expect(!FileManager.default.fileExists(atPath: file))
    let verified = await Tool().run("verify", path, "--json")
    #expect(verified.exit == 1)
    #expect(verified.output.contains(#""kind":"asset""#) && verified.output.contains(#""assets":2"#))
  }

  @Test("a zone's policy is shown, and set")
  func policy() async throws {
    _ = try await makeStore()
    let remote = "folder:\(temporary.path)/remote"
    let shown = await Tool().run("asset", "policy", path, "album")
    #expect(shown.exit == 0 && shown.errors == "")
    #expect(shown.output == "album is lazy: its assets are downloaded when the app asks for them\n")
    // The policy belongs to this store: another store has its own.
    _ = await Tool().run("sync", path, "--remote", remote, "--create-remote", "--attach", "album")
    let copy = temporary.path + "/copy.store"
    _ = await Tool().run("sync", copy, "--remote", remote, "--create-store")
    let set = await Tool().run("asset", "policy", copy, "album", "eager")
    #expect(set.exit == 0)
    #expect(
      set.output == "album is eager, and was lazy: its assets are downloaded in each round of replication\n")
    for (policy, changed) in [("eager", false), ("lazy", true), ("eager", true)] {
      let json = await Tool().run("asset", "policy", copy, "album", policy, "--json")
      #expect(json.exit == 0)
      #expect(json.output == #"{"changed":\#(changed),"policy":"\#(policy)","zone":"album"}"# + "\n")
    }
    let other = await Tool().run("asset", "policy", path, "album", "--json")
    #expect(other.output == #"{"changed":false,"policy":"lazy","zone":"album"}"# + "\n")
    // A separate process has done what it says: the next round downloads.
    let synced = await Tool().run("sync", copy, "--remote", remote)
    #expect(synced.output.contains("received 2 assets, 2,001 bytes"), "\(synced.output)")
    for (arguments, exit, words) in [
      (["album", "sometimes"], 2, "lazy or eager"), (["nothing"], 2, "nothing"),
      (["nothing", "eager"], 2, "nothing"),
    ] {
      let refused = await Tool().run(["asset", "policy", path] + arguments)
      #expect(refused.exit == Int32(exit), "\(arguments)")
      #expect(refused.errors.contains("hint:") && refused.errors.contains(words))
    }
    let missing = await Tool().run("asset", "policy", temporary.path + "/no.store", "album", "eager")
    #expect(missing.exit != 0 && missing.errors.contains("hint:"))
    #expect(!FileManager.default.fileExists(atPath: temporary.path + "/no.store"))
  }

  @Test("a missing or damaged file is downloaded again, as verify advises")
  func download() async throws {
    let assets = try await makeStore()
    let remote = "folder:\(temporary.path)/remote"
    let early = await Tool().run("asset", "download", path, "--remote", remote)
    #expect(early.exit == 4, "\(early)")
    _ = await Tool().run("sync", path, "--remote", remote, "--create-remote", "--attach", "album")
    let store = try ShoppingStore.open(path)
    let files = try assets.prefix(2).map { try store.assetPath($0) }
    store.close()
    try FileManager.default.removeItem(atPath: files[0])
    try Data(repeating: 9, count: 1001).write(to: URL(fileURLWithPath: files[1]))
    let verified = await Tool().run("verify", path)
    #expect(verified.exit == 1 && verified.output.contains("`replay asset download STORE --remote REMOTE`"))
    // The third one is nowhere.
    let missing = await Tool().run("asset", "download", path, "--remote", remote)
    #expect(missing.exit == 1 && missing.output.contains("downloaded 2 assets, 2,001 bytes"), "\(missing)")
    #expect(missing.output.contains("asset \(assets[2].hash) is not at the remote"))
    let again = await Tool().run("asset", "download", path, "\(assets[1].hash)", "--remote", remote)
    #expect(again.exit == 0 && again.output == "downloaded nothing: 1 asset is already here\n", "\(again)")
    try Data(repeating: 9, count: 1001).write(to: URL(fileURLWithPath: files[1]))
    let damaged = await Tool().run(
      "asset", "download", path, "\(assets[1].hash)", "--remote", remote, "--json")
    #expect(
      damaged.exit == 0 && damaged.output.contains(#""downloaded":["\#(assets[1].hash)"]"#), "\(damaged)")
    for (index, file) in files.enumerated() {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(bytes == Data(repeating: UInt8(index), count: 1000 + index))
    }
    let sent = await Tool().run("asset", "upload", path, "\(assets[1].hash)", "--remote", remote)
    #expect(sent.exit == 0 && sent.output == "uploaded nothing: 1 asset is already there\n", "\(sent)")
    let unknown = await Tool().run("asset", "upload", path, "ffff", "--remote", remote)
    #expect(unknown.exit == 2, "\(unknown)")
  }

  @Test("exporting a log without its assets reports how many are left out")
  func exportTellsAssets() async throws {
    _ = try await makeStore()
    let without = await Tool().run("export", path, "--output", temporary.path + "/log.jsonl")
    #expect(without.exit == 0)
    let gone = "note: 1 asset is not here and not included\n"
    #expect(
      without.errors == "note: 2 assets not included: --assets DIRECTORY copies the files\n" + gone,
      "\(without)")
    let with = await Tool().run(
      "export", path, "--output", temporary.path + "/log.jsonl", "--assets", temporary.path + "/files",
      "--json")
    #expect(with.exit == 0 && with.errors == gone, "\(with)")
    #expect(with.output.contains(#""assetsNotHere":1,"assetsNotIncluded":0"#), "\(with)")
  }

  @Test("a missing directory of assets is refused before anything is imported")
  func importWithoutDirectory() async throws {
    _ = try await makeStore()
    let (log, copy) = (temporary.path + "/log.jsonl", temporary.path + "/copy.store")
    #expect(await Tool().run("export", path, "-o", log).exit == 0)
    let refused = await Tool().run("import", copy, log, "--assets", temporary.path + "/nodir")
    #expect(refused.exit == 2 && refused.errors.contains("nodir” is not a directory"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test("an asset without its manifest at the remote is uploaded again, as its page advises")
  func missingAtRemote() async throws {
    let assets = try await makeStore()
    let store = try ShoppingStore.open(path)
    #expect(try await store.importAsset(bytes: [UInt8](repeating: 2, count: 1002)) == assets[2])
    store.close()
    let (folder, copy) = (temporary.path + "/remote", temporary.path + "/copy.store")
    let remote = "folder:\(folder)"
    let made = await Tool().run("sync", path, "--remote", remote, "--create-remote", "--attach", "album")
    #expect(made.exit == 0, "\(made)")
    let manifest = try #require(
      try FileManager.default.subpathsOfDirectory(atPath: folder).first {
        $0.hasSuffix("\(assets[1].hash)/manifest")
      })
    try FileManager.default.removeItem(atPath: "\(folder)/\(manifest)")
    let found = await Tool().run("remote", remote)
    let command = "replay asset upload STORE \(assets[1].hash) --remote "
    #expect(found.exit == 0 && found.output.contains(command + remote), "\(found)")
    #expect(await Tool().run("sync", copy, "--remote", remote, "--create-store").exit == 0)
    #expect(await Tool().run("asset", "policy", copy, "album", "eager").exit == 0)
    let lacking = await Tool().run("sync", copy, "--remote", remote, "--json")
    #expect(
      lacking.output.contains(#""hint":"send it from a store that has it, with `\#(command)\#(remote)`""#))
    #expect(lacking.output.contains(#""message":"asset \#(assets[1].hash) is not at the remote""#))
    let sent = await Tool().run("asset", "upload", path, "\(assets[1].hash)", "--remote", remote)
    #expect(sent.exit == 0 && sent.output == "uploaded 1 asset, 0 bytes\n", "\(sent)")
    let mended = await Tool().run("remote", remote)
    #expect(!mended.output.contains("replay asset upload"), "\(mended)")
  }

  @Test(
    "a file in an asset's place at the remote: a sync reports it, ends with 1, and later sends the asset"
  )
  func inTheWay() async throws {
    let remote = "folder:\(temporary.path)/remote"
    let store = try ShoppingStore.open(path)
    let record = RecordID(zone: zone, name: "a")
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.create(record, type: "photo")
    }
    store.close()
    let made = await Tool().run("sync", path, "--remote", remote, "--create-remote", "--attach", "album")
    #expect(made.exit == 0, "\(made)")
    let opened = try ShoppingStore.open(path)
    let asset = try await opened.importAsset(bytes: [UInt8](repeating: 1, count: 1000))
    try await opened.write { try $0.set("photo", of: record, to: .asset(asset)) }
    opened.close()
    let logs = temporary.path + "/remote/logs"
    let log = try #require(try FileManager.default.contentsOfDirectory(atPath: logs).first)
    let junk = URL(fileURLWithPath: "\(logs)/\(log)/assets-\("\(asset.hash)".prefix(2))")
    try Data([1]).write(to: junk)
    for _ in 0..<2 {
      let synced = await Tool().run("sync", path, "--remote", remote)
      #expect(synced.exit == 1 && synced.output.contains(junk.path), "\(synced)")
      #expect(synced.output.contains("album  in sync") && synced.output.contains("move it away"), "\(synced)")
    }
    try FileManager.default.removeItem(at: junk)
    let sent = await Tool().run("sync", path, "--remote", remote)
    #expect(sent.exit == 0 && sent.output.contains("sent 1 asset, 1,000 bytes"), "\(sent)")
  }

  @Test("a sync reports which assets moved, and which did not")
  func sync() async throws {
    _ = try await makeStore()
    let sent = await Tool().run(
      "sync", path, "--remote", "folder:\(temporary.path)/remote", "--create-remote", "--attach", "album")
    #expect(sent.exit == 0)
    #expect(sent.output.contains("sent 2 assets, 2,001 bytes"))
    #expect(sent.output.contains("is neither here nor at the remote"))
    let copy = temporary.path + "/copy.store"
    let received = await Tool().run(
      "sync", copy, "--remote", "folder:\(temporary.path)/remote", "--create-store", "--json")
    #expect(received.exit == 0)
    #expect(received.output.contains(#""receivedAssets":0"#))
    let verified = await Tool().run("verify", copy)
    #expect(verified.exit == 0 && verified.output.contains("3 assets not downloaded"))
    let remote = await Tool().run("remote", "folder:\(temporary.path)/remote")
    #expect(remote.exit == 0, "\(remote.output) \(remote.errors)")
    #expect(remote.output.contains("2, 1 not there"))
    #expect(!remote.output.contains("unnamed"))
    let files = try FileManager.default.subpathsOfDirectory(atPath: temporary.path + "/remote")
    // The rest of an upload whose segment was never sent.
    let assets = try #require(files.first { $0.hasSuffix("/00000000") }).split(separator: "/")
    let stray =
      "\(temporary.path)/remote/\(assets[0])/\(assets[1])/assets-ff/\(String(repeating: "f", count: 64))"
    try FileManager.default.createDirectory(atPath: stray, withIntermediateDirectories: true)
    try Data(repeating: 1, count: 1234).write(to: URL(fileURLWithPath: stray + "/00000000"))
    let unnamed = await Tool().run("remote", "folder:\(temporary.path)/remote")
    #expect(unnamed.exit == 0)
    #expect(unnamed.output.contains("\(String(repeating: "f", count: 64)), 1 object, 1,234 bytes"))
    let unnamedJSON = await Tool().run("remote", "folder:\(temporary.path)/remote", "--json")
    #expect(
      unnamedJSON.output.contains(
        #""unnamedAssets":[{"bytes":1234,"hash":"\#(String(repeating: "f", count: 64))","objects":1}]"#))
    for (name, message) in [("00000000", "it has other bytes"), ("manifest", "checksum")] {
      let path = try #require(files.first { $0.hasSuffix("/\(name)") })
      let url = URL(fileURLWithPath: "\(temporary.path)/remote/\(path)")
      let sound = try Data(contentsOf: url)
      var flipped = sound
      flipped[flipped.count - 1] ^= 1
      try flipped.write(to: url)
      let found = await Tool().run("remote", "folder:\(temporary.path)/remote")
      #expect(found.exit == 1 && found.output.contains(path) && found.output.contains(message))
      // Its advice repairs it. A missing manifest can be made again without the asset's file.
      #expect(found.output.contains("`replay asset upload STORE "))
      #expect(found.output.contains("--repair") == (name == "manifest"))
      let digits = try #require(
        found.output.split(separator: "asset upload STORE ").dropFirst().first?.prefix(64))
      let remote = "folder:\(temporary.path)/remote"
      let other = "\(temporary.path)/\(name).store"
      #expect(await Tool().run("sync", other, "--remote", remote, "--create-store").exit == 0)
      #expect(await Tool().run("asset", "policy", other, "album", "eager").exit == 0)
      let stuck = await Tool().run("sync", other, "--remote", remote)
      #expect(stuck.exit == 1, "\(stuck)")
      #expect(stuck.output.contains("replay asset upload STORE \(digits) --remote"), "\(stuck)")
      let mended = await Tool().run(
        "asset", "upload", self.path, String(digits), "--remote", "folder:\(temporary.path)/remote")
      #expect(mended.exit == 0 && mended.output.hasPrefix("uploaded 1 asset, "), "\(mended)")
      #expect(await Tool().run("remote", "folder:\(temporary.path)/remote").exit == 0)
    }
  }
}
