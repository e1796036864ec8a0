import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("`replay trim`")
struct TrimmedLogs: StoresOfAFolder {
  let temporary = TemporaryDirectory()
  let random = SharedBits(1)
  private let zone = ZoneID(name: "notes")
  private var folder: String { temporary.path + "/remote" }

  private func run(_ arguments: String...) async -> Tool.Result { await Tool(seed: 1).run(arguments) }

  @Test("says what would go and why no more does, does it, and a store that is behind continues")
  func trims() async throws {
    try await makeRemoteWithSnapshots()
    let young = await run("trim", "folder:\(folder)", "--older-than", "36525d")
    #expect(
      young.exit == 0
        && young.output.contains("nothing would go; more stays, because it is not older than 36525d"),
      "\(young)")
    let plan = await run("trim", "folder:\(folder)", "--older-than", "0s")
    #expect(plan.exit == 0, "\(plan.errors)")
    #expect(
      plan.output.contains("7 files would go") && plan.output.contains("--write does it"), "\(plan.output)")
    let before = await run("remote", "folder:\(folder)")
    #expect(before.exit == 0 && before.output.contains("snapshots     at offset 12, 8"), "\(before.output)")
    let done = await run("trim", "folder:\(folder)", "--older-than", "0min", "--write", "--json")
    #expect(done.exit == 0 && done.output.contains("\"begins\":8"), "\(done.output)")
    let after = await run("remote", "folder:\(folder)")
    #expect(after.exit == 0 && after.output.contains("begins        at offset 8"), "\(after.output)")
    let again = await run("trim", "folder:\(folder)", "--older-than", "0h", "--write")
    #expect(
      again.exit == 0
        && again.output.contains("nothing went; the log begins at offset 8, as late as its snapshots allow"),
      "\(again.output)")
    for name in ["behind", "new"] {
      let read = await run("sync", path(name), "--remote", "folder:\(folder)", "--create-store")
      #expect(read.exit == 0, "\(read.errors)\(read.output)")
      let digests = (await run("digest", path(name)), await run("digest", path("writer")))
      #expect(digests.0.output == digests.1.output)
    }
    let reread = await run("sync", path("behind"), "--remote", "folder:\(folder)", "--reread", "notes@2")
    #expect(
      reread.exit != 0 && reread.errors.contains("does not have the log of notes from offset 2 on"),
      "\(reread.errors)")
    let still = await run("sync", path("behind"), "--remote", "folder:\(folder)")
    #expect(still.exit == 0)
    let log = await run("log", path("behind"))
    #expect(
      log.exit == 0
        && log.output.contains("with the snapshot at offset 12: this store does not have what was before"),
      "\(log.output)")
    // A store that has read nothing else begins at the log's start, and does not know when that was written.
    let begun = await run("log", path("new"))
    #expect(begun.output.contains("the history of notes begins "), "\(begun.output)")
    for arguments in [["notes:0 0 0", "title"], ["notes:0 0 0"], ["notes:0 0 0", "--existence"]] {
      let why = await Tool(seed: 1).run(["explain", path("new")] + arguments)
      #expect(why.exit == 0 && !why.output.contains("1970"), "\(why.output)\(why.errors)")
      #expect(!why.output.contains("retired"), "\(why.output)")
    }
    let export = await run("export", path("new"))
    #expect(
      export.errors.contains("begins with a snapshot") && export.errors.contains("--records"), "\(export)")
  }

  @Test(
    "a damaged part of a snapshot is put back from a store; one that has not read so far says what serves instead"
  )
  func repairs() async throws {
    try await makeRemoteWithSnapshots()
    let paths = try #require(FileManager.default.subpaths(atPath: folder)).sorted()
    let part = try #require(paths.last { $0.contains("snapshots-") && $0.hasSuffix("/00000000") })
    let whole = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(part)"))
    try Data(count: 10).write(to: URL(fileURLWithPath: "\(folder)/\(part)"))
    let found = await run("remote", "folder:\(folder)")
    #expect(found.exit == 1 && found.output.contains("\(part): it is missing or damaged"), "\(found)")
    #expect(found.output.contains("its directory may be removed"), "\(found)")
    let behind = await run("remote", "folder:\(folder)", "--repair", path("behind"))
    #expect(behind.exit == 1 && behind.output.hasPrefix("unknown  \(part): "), "\(behind)")
    #expect(behind.output.contains("stores begin with another, or read the log"), "\(behind)")
    let json = await run("remote", "folder:\(folder)", "--repair", path("behind"), "--json")
    #expect(json.output.contains("\"outcome\":\"notInStore\""), "\(json)")
    let mended = await run("remote", "folder:\(folder)", "--repair", path("writer"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  logs/"), "\(mended)")
    #expect(mended.output.hasSuffix("\nsound\n"), "\(mended)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(part)")) == whole)
  }

  @Test("where the log begins with a damaged snapshot, sync names the part and the repair, and that helps")
  func begin() async throws {
    try await makeRemoteWithSnapshots()
    let trimmed = await run("trim", "folder:\(folder)", "--older-than", "0s", "--write")
    #expect(trimmed.exit == 0, "\(trimmed)")
    let parts = try #require(FileManager.default.subpaths(atPath: folder)).sorted()
      .filter { $0.contains("snapshots-") && $0.hasSuffix("/00000000") }
    for part in parts { try FileManager.default.removeItem(atPath: "\(folder)/\(part)") }
    let first = try #require(parts.first)
    let failed = await run("sync", path("new"), "--remote", "folder:\(folder)", "--create-store")
    #expect(failed.exit != 0 && !failed.output.contains("sync again"), "\(failed)")
    #expect(
      failed.output.contains("begins with a snapshot, and that at offset 8 is damaged: \(first) of "),
      "\(failed)")
    #expect(
      failed.output.contains("`replay remote folder:\(folder) --repair OTHER`")
        && failed.output.contains("4 MiB"), "\(failed)")
    let found = await run("remote", "folder:\(folder)")
    #expect(
      found.exit == 1 && found.output.contains("\(first): it is missing or damaged")
        && found.output.contains("keep what is left of it"), "\(found)")
    let mended = await run("remote", "folder:\(folder)", "--repair", path("writer"))
    #expect(mended.exit == 0 && mended.output.contains("put back  \(first)"), "\(mended)")
    let read = await run("sync", path("new"), "--remote", "folder:\(folder)")
    #expect(
      read.exit == 0 && read.output.contains("received a snapshot")
        && read.output.contains("began with the snapshot at offset 12: 840 records, counting deleted ones"),
      "\(read)")
  }

  @Test("an empty log is not damaged, and directories of snapshots that went are not foreign")
  func empty() async throws {
    let remote = try await FolderRemote.create(directory: folder)
    let incarnation = try await remote.createZone(zone, proposing: IncarnationID(rawValue: 7))
    let trim = await run("trim", "folder:\(folder)")
    #expect(trim.exit == 0 && trim.output == "notes  nothing would go; the log is empty\n", "\(trim)")
    let log = "\(folder)/logs/\(incarnation)"
    for directory in [
      "snapshots-0000000000000004/\(ReplicaID(rawValue: 5))", "snapshots/names", "snapshots/floors",
    ] {
      try FileManager.default.createDirectory(
        atPath: "\(log)/\(directory)", withIntermediateDirectories: true)
    }
    let shown = await run("remote", "folder:\(folder)")
    #expect(shown.exit == 0 && !shown.output.contains("foreign"), "\(shown)")
    try FileManager.default.createDirectory(
      atPath: "\(log)/snapshots-0000000000000004/other", withIntermediateDirectories: true)
    let foreign = await run("remote", "folder:\(folder)")
    #expect(
      foreign.output.contains("foreign  logs/\(incarnation)/snapshots-0000000000000004/other/"), "\(foreign)")
  }

  @Test("refuses what it cannot read")
  func refuses() async throws {
    let missing = await run("trim", "folder:\(folder)")
    #expect(missing.exit == 4 && missing.errors.contains("hint:"))
    _ = try await FolderRemote.create(directory: folder)
    for arguments in [["--older-than", "90"], ["--older-than", "soon"], ["--zone", "none"]] {
      let wrong = await Tool(seed: 1).run(["trim", "folder:\(folder)"] + arguments)
      #expect(wrong.exit != 0 && wrong.errors.contains("hint:"), "\(wrong.errors)")
    }
  }
}
