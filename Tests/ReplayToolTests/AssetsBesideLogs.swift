import EventStore
import Foundation
import StoreTesting
import Synchronization
import Testing

@testable import ReplayTool

@Suite("Assets beside an exported log", .serialized)
struct AssetsBesideLogs {
  private let temporary = TemporaryDirectory()
  private let zone = ZoneID(name: "album")
  private var path: String { temporary.path + "/album.store" }
  private var copy: String { temporary.path + "/copy.store" }
  private var log: String { temporary.path + "/log.jsonl" }
  private var files: String { temporary.path + "/files" }

  /// A store with three assets, in the order of their hashes.
  private func makeStore() async throws -> [AssetReference] {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    var assets: [AssetReference] = []
    for number in 0..<3 as Range<UInt8> {
      let asset = try await store.importAsset(bytes: [UInt8](repeating: number, count: 1000))
      try await store.write { tx in
        try tx.createZone(zone)
        let record = RecordID(zone: zone, name: Name("\(number)"))
        // Two fields: each asset occurs twice in records.
        try tx.create(record, type: "photo", fields: ["photo": .asset(asset), "cover": .asset(asset)])
      }
      assets.append(asset)
    }
    return assets.sorted { "\($0.hash)" < "\($1.hash)" }
  }

  private func damage(_ file: String) throws {
    try Data(repeating: 9, count: 1000).write(to: URL(fileURLWithPath: file))
  }

  private func here() async -> Int {
    await Tool().run("asset", "list", copy).lines.filter { $0.contains(" here") && !$0.contains("not here") }
      .count
  }

  @Test(
    "a damaged file is left out of an export and reported; the rest is exported", arguments: [false, true])
  func exportsTheRest(ofRecords: Bool) async throws {
    let assets = try await makeStore()
    let store = try ShoppingStore.open(path)
    try damage(store.assetPath(assets[0]))
    store.close()
    let kind = ofRecords ? ["--records"] : []
    let exported = await Tool().run(["export", path, "--output", log, "--assets", files, "--json"] + kind)
    #expect(exported.exit == 1, "\(exported)")
    let lines = exported.errors.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("asset \(assets[0].hash) is left out: "), "\(exported)")
    #expect(lines.last?.contains("replay asset download \(path) --remote REMOTE") ?? false, "\(exported)")
    #expect(exported.output.contains(#""assetsFailed":[{"hash":"\#(assets[0].hash)","#), "\(exported)")
    let found = try FileManager.default.contentsOfDirectory(atPath: files).sorted()
    #expect(found == assets.dropFirst().map { "\($0.hash)" })
    // Also if the lines go to standard output.
    let plain = await Tool().run(["export", path, "--assets", files] + kind)
    #expect(plain.exit == 1 && plain.lines.count > 3, "\(plain)")
    if !ofRecords {
      let imported = await Tool().run("import", copy, log, "--assets", files)
      #expect(
        imported.exit == 0 && imported.output == "imported 3 transactions and 2 assets\n", "\(imported)")
    }
  }

  @Test(
    "a damaged file of the directory is reported, the others are imported; the same command imports the rest")
  func importsTheRest() async throws {
    let assets = try await makeStore()
    #expect(await Tool().run("export", path, "--output", log, "--assets", files).exit == 0)
    let file = "\(files)/\(assets[0].hash)"
    let sound = try Data(contentsOf: URL(fileURLWithPath: file))
    try damage(file)
    let first = await Tool().run("import", copy, log, "--assets", files)
    #expect(first.exit == 1 && first.output == "imported 3 transactions and 2 assets\n", "\(first)")
    #expect(
      first.errors.contains(
        "asset \(assets[0].hash) is left out: the bytes of the file “\(file)” do not match"))
    #expect(first.errors.contains("run the same command: it brings the assets that are missing"), "\(first)")
    let still = await Tool().run("import", copy, log, "--assets", files, "--json")
    #expect(still.exit == 1, "\(still)")
    #expect(still.output.hasPrefix(#"{"assets":0,"assetsFailed":[{"hash":"\#(assets[0].hash)","#), "\(still)")
    try sound.write(to: URL(fileURLWithPath: file))
    let rest = await Tool().run("import", copy, log, "--assets", files)
    #expect(rest.exit == 0 && rest.output == "the store already has this log: imported 1 asset\n", "\(rest)")
    #expect(await here() == 3)
    let digests = (await Tool().run("digest", path), await Tool().run("digest", copy))
    #expect(digests.0.output == digests.1.output)
  }

  @Test(
    "a record with a damaged or missing asset is not imported, the others are; the same command imports it")
  func importsOtherRecords() async throws {
    let assets = try await makeStore()
    #expect(await Tool().run("export", path, "--records", "-o", log, "--assets", files).exit == 0)
    let (damaged, missing) = ("\(files)/\(assets[0].hash)", "\(files)/\(assets[1].hash)")
    let sound = try Data(contentsOf: URL(fileURLWithPath: damaged))
    try damage(damaged)
    try FileManager.default.moveItem(atPath: missing, toPath: log + ".asset")
    let first = await Tool().run("import", copy, log, "--assets", files)
    #expect(
      first.exit == 1
        && first.output == "imported 1 record: 1 created, 0 updated, 0 unchanged; 2 left out\n", "\(first)")
    #expect(
      first.errors.contains(
        "asset \(assets[0].hash) is left out: the bytes of the file “\(damaged)” do not match"))
    #expect(first.errors.contains("asset \(assets[1].hash) is left out: "), "\(first)")
    try sound.write(to: URL(fileURLWithPath: damaged))
    try FileManager.default.moveItem(atPath: log + ".asset", toPath: missing)
    let second = await Tool().run("import", copy, log, "--assets", files)
    #expect(second.exit == 0, "\(second)")
    #expect(second.output == "imported 3 records: 2 created, 0 updated, 1 unchanged\n")
  }

  @Test("an import of nothing leaves no store")
  func leavesNoStore() async throws {
    _ = try await makeStore()
    #expect(await Tool().run("export", path, "--records", "-o", log, "--assets", files).exit == 0)
    let refused = await Tool().run("import", copy, log)
    #expect(refused.exit == 2 && refused.errors.contains("give --assets"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: copy))
    // An existing directory stays, without a store in it.
    try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
    for file in try FileManager.default.contentsOfDirectory(atPath: files) { try damage("\(files)/\(file)") }
    let nothing = await Tool().run("import", copy, log, "--assets", files)
    #expect(nothing.exit == 1 && nothing.output.hasPrefix("imported 0 records"), "\(nothing)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: copy).isEmpty)
    // An existing store stays as it is.
    let store = try ShoppingStore.open(copy)
    store.close()
    #expect(await Tool().run("import", copy, log).exit == 2)
    #expect(await Tool().run("info", copy).exit == 0)
  }

  @Test("a store with only a part of a log is refused, even with --assets")
  func refusesOtherLogs() async throws {
    _ = try await makeStore()
    #expect(await Tool().run("export", path, "--output", log, "--assets", files).exit == 0)
    #expect(await Tool().run("import", copy, log, "--assets", files).exit == 0)
    let without = await Tool().run("import", copy, log)
    #expect(
      without.exit == 2 && without.errors.contains("--assets DIRECTORY imports the missing assets"),
      "\(without)")
    let store = try ShoppingStore.open(path)
    try await store.write { try $0.create(RecordID(zone: zone, name: "later"), type: "photo") }
    store.close()
    #expect(await Tool().run("export", path, "--output", log, "--assets", files).exit == 0)
    let later = await Tool().run("import", copy, log, "--assets", files)
    #expect(later.exit == 2, "\(later)")
    #expect(later.errors.contains("it does not have all of this log"), "\(later)")
    #expect(later.errors.contains("already has a log, up to position 3; nothing was imported"), "\(later)")
  }

  @Test("both end when interrupted during the copy of assets; the next run copies the rest")
  func interrupted() async throws {
    _ = try await makeStore()
    var hurried = Tool()
    hurried.isInterrupted = { true }
    let export = await hurried.run("export", path, "--output", log, "--assets", files)
    #expect(export.exit == 130, "\(export)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: files).isEmpty)
    #expect(await Tool().run("export", path, "--output", log, "--assets", files).exit == 0)
    // It checks once before the log, which is small, is written.
    let questions = Mutex(0)
    hurried.isInterrupted = {
      questions.withLock { questions in
        questions += 1
        return questions > 1
      }
    }
    let cut = await hurried.run("import", copy, log, "--assets", files)
    #expect(cut.exit == 130 && cut.errors.contains("what was written before is kept; run it again"), "\(cut)")
    #expect(await here() == 0)
    let rest = await Tool().run("import", copy, log, "--assets", files)
    #expect(rest.exit == 0 && rest.output == "the store already has this log: imported 3 assets\n", "\(rest)")
    #expect(await here() == 3)
  }
}
