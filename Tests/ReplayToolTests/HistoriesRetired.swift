import EventStore
import Foundation
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

  @Test(
    "sizes have the usual units, in any case",
    arguments: [
      ("500", 500), ("500b", 500), ("1k", 1000), ("1kB", 1000), ("1KB", 1000), ("1KiB", 1024), ("1kib", 1024),
      ("2M", 2_000_000), ("2mb", 2_000_000), ("2MiB", 2 << 20), ("3G", 3_000_000_000), ("3GB", 3_000_000_000),
      ("3gib", 3 << 30), ("1T", 1_000_000_000_000), ("1TiB", 1 << 40),
    ] as [(String, UInt64)])
  func sizes(text: String, bytes: UInt64) throws {
    #expect(try Inputs.byteCount(text) == bytes)
  }

  @Test("of a store that began with a snapshot, it says with which")
  func begunWithSnapshot() async throws {
    try await makeStore()
    let remote = try await FolderRemote.open(directory: temporary.path + "/remote")
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start), SharedBits(2))
    try await store.write { try $0.create(RecordID(zone: zone, name: "last"), type: "note") }
    var configuration = ReplicatorConfiguration()
    configuration.policy.snapshotBytesMin = 1
    _ = try await LogReplicator(store: store, remote: remote, configuration: configuration).syncOnce()
    store.close()
    let new = "\(temporary.path)/new.store"
    let synced = await run("sync", new, "--remote", "folder:\(temporary.path)/remote", "--create-store")
    #expect(synced.exit == 0, "\(synced)")
    let retired = await run("retire", new)
    #expect(
      retired.exit == 0
        && retired.output.contains("its history begins with the snapshot at offset 13, which came here at 20"),
      "\(retired)")
    let json = await run("retire", new, "--json")
    #expect(json.output.contains("\"snapshot\":13"), "\(json)")
  }

  @Test("a damaged snapshot: verify names the file, rebuild too, and retire writes it again")
  func damagedSnapshot() async throws {
    try await makeStore()
    #expect(await run("retire", path).exit == 0)
    let snapshots = "\(path)/snapshots"
    let content = try #require(try FileManager.default.contentsOfDirectory(atPath: snapshots).first)
    let part = "\(snapshots)/\(content)/0"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: part))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(fileURLWithPath: part))
    let verified = await run("verify", path)
    #expect(verified.exit == 1 && verified.output.contains(part), "\(verified)")
    #expect(
      verified.output.contains("replay retire") && !verified.output.contains("replay export"), "\(verified)")
    let rebuilt = await run("rebuild", path)
    #expect(rebuilt.exit == 3 && rebuilt.errors.contains(part), "\(rebuilt)")
    #expect(rebuilt.errors.contains("`replay retire \(path)`"), "\(rebuilt)")
    #expect(await run("retire", path).exit == 0)
    let again = await run("verify", path)
    #expect(again.exit == 0, "\(again)")
  }
}
