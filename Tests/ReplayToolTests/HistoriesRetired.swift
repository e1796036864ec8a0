import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("`replay retire` with limits, and where history begins")
struct HistoriesRetired {
  private let temporary = TemporaryDirectory()
  private let zone = ZoneID(name: "notes")
  private var path: String { "\(temporary.path)/notes.store" }

  private func run(_ arguments: String...) async -> Tool.Result { await Tool(seed: 1).run(arguments) }

  /// A store that has sent twelve segments.
  private func makeStore() async throws {
    let remote = try await FolderRemote.create(directory: temporary.path + "/remote")
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start), SharedBits(1))
    for index in 0..<12 {
      try await store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        let id = RecordID(zone: zone, name: Name("\(index)"))
        try tx.create(id, type: "note", fields: ["title": .string(String(repeating: "x", count: 500))])
      }
      _ = try await LogReplicator(store: store, remote: remote).syncOnce()
    }
    store.close()
  }

  @Test("cuts what is old or too much, and info, log and explain say from where on the store knows the zone")
  func cuts() async throws {
    try await makeStore()
    let digest = await run("digest", path)
    let young = await run("retire", path, "--older-than", "36500d")
    #expect(
      young.exit == 0 && young.output.contains("0 transactions retired"), "\(young.output)\(young.errors)")
    let cut = await run("retire", path, "--larger-than", "3KB")
    #expect(
      cut.exit == 0 && cut.output.contains("7 transactions retired; its history begins at position 7, 20"),
      "\(cut.output)\(cut.errors)")
    #expect(await run("digest", path).output == digest.output)
    let info = await run("info", path)
    #expect(info.output.contains("at position 7, 20") && info.output.contains("offset 7"), "\(info.output)")
    let log = await run("log", path)
    #expect(log.output.contains("the history of notes begins at position 7, 20"), "\(log.output)")
    #expect(log.output.contains("with the snapshot at offset 7: this store does not have what was before"))
    let lines = await run("log", path, "--json")
    #expect(lines.output.contains("\"retiredThrough\":7,\"snapshot\":7,\"time\":\"20"), "\(lines.output)")
    let why = await run("explain", path, "notes:0", "title")
    #expect(
      why.output.contains(
        "begins with a snapshot, after position 7: this store does not have what was before")
        && !why.output.contains("1970"), "\(why.output)\(why.errors)")
    let verified = await run("verify", path)
    #expect(verified.exit == 0)
    let all = await run("retire", path, "--older-than", "0s", "--json")
    #expect(all.output.contains("\"begins\":12") && all.output.contains("\"retired\":5"), "\(all.output)")
  }

  @Test("refuses what is no age and no size", arguments: ["30", "x", "-1d", "d", "99999999999999999999d"])
  func refuses(text: String) async throws {
    try await makeStore()
    let age = await run("retire", path, "--older-than=\(text)")
    #expect(age.exit != 0 && age.errors.contains("hint:"), "\(age.errors)")
    let size = await run("retire", path, "--larger-than=\(text == "30" ? "30 MB" : text)")
    #expect(size.exit != 0 && size.errors.contains("hint:"), "\(size.errors)")
  }
}
