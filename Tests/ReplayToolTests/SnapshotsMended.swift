import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Snapshots at a remote that others have touched, from the command line")
struct SnapshotsMended: StoresOfAFolder {
  let temporary = TemporaryDirectory()
  let random = SharedBits(3)
  private var folder: String { temporary.path + "/remote" }

  /// Something that is no object.
  enum Foreign: CaseIterable {
    case directory
    case pipe
    /// A link to nothing.
    case link
  }

  /// Puts something foreign in the place of a file.
  private func put(_ foreign: Foreign, at path: String) throws {
    let path = "\(folder)/\(path)"
    try? FileManager.default.removeItem(atPath: path)
    switch foreign {
    case .directory:
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .pipe: try #require(mkfifo(path, 0o600) == 0)
    case .link:
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: "\(temporary.path)/nowhere")
    }
  }

  private func bytes(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)"))
  }

  /// The paths of the files of snapshots and their names that end so, in order.
  private func files(_ end: String) throws -> [String] {
    try #require(FileManager.default.subpaths(atPath: folder)).sorted()
      .filter { $0.contains("/snapshots") && $0.hasSuffix(end) }
  }

  private func trim() async throws {
    let trimmed = await run("trim", remote, "--older-than", "0s", "--write")
    try #require(trimmed.exit == 0, "\(trimmed)")
  }

  private func problems(_ result: Tool.Result) -> [String] {
    result.lines.filter { $0.hasPrefix("problem  ") }
  }

  @Test(
    "something foreign among the names of snapshots is one problem, and all else goes on",
    arguments: Foreign.allCases)
  func names(foreign: Foreign) async throws {
    try await makeRemoteWithSnapshots()
    let last = try #require(try files("/0000000000000002").last { $0.contains("/names/") })
    let file = "\(last.dropLast())3"
    try put(foreign, at: file)
    let found = await run("remote", remote)
    #expect(found.exit == 1 && problems(found).count == 1, "\(found)")
    #expect(
      problems(found).first?.hasPrefix("problem  \(file): it is damaged, or foreign") == true, "\(found)")
    let new = await sync("new", "--create-store")
    #expect(new.exit == 0 && new.output.contains("began with the snapshot at offset 12"), "\(new)")
    try await trim()
    let mended = await run("remote", remote, "--repair", path("writer"))
    guard foreign == .directory else {
      #expect(mended.exit == 0 && mended.output.contains("put back  \(file)"), "\(mended)")
      #expect(mended.output.hasSuffix("\nsound\n"), "\(mended)")
      return
    }
    #expect(mended.exit == 1 && mended.output.contains("refused  \(file): "), "\(mended)")
    #expect(mended.output.contains("move it away"), "\(mended)")
    let purged = await run("remote", remote, "--purge", "notes", "--write")
    #expect(purged.exit == 0, "\(purged)")
  }

  @Test(
    "something foreign in the place of a snapshot's file is named, and the file is put back once nothing is in the way",
    arguments: ["/manifest", "/00000000"], Foreign.allCases)
  func inPlace(end: String, foreign: Foreign) async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let file = try #require(try files(end).first)
    let whole = try bytes(file)
    try put(foreign, at: file)
    let found = await run("remote", remote)
    #expect(
      found.exit == 1 && found.output.contains("problem  \(file): something foreign has its name"), "\(found)"
    )
    var mended = await run("remote", remote, "--repair", path("writer"))
    if foreign == .directory {
      #expect(mended.exit == 1 && mended.output.contains("refused  \(file): "), "\(mended)")
      #expect(mended.output.contains("it is foreign: move it away"), "\(mended)")
      try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
      mended = await run("remote", remote, "--repair", path("writer"))
    }
    #expect(mended.exit == 0 && mended.output.contains("put back  \(file)"), "\(mended)")
    #expect(try bytes(file) == whole)
  }

  @Test(
    "something in the place of a log's entries ends no audit, if the snapshot is damaged with which that log begins"
  )
  func entriesAreForeign() async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let part = try #require(try files("/00000000").first)
    try put(.directory, at: part)
    let entries = "\(folder)/\(part.split(separator: "/").prefix(2).joined(separator: "/"))/0000000000000"
    try FileManager.default.removeItem(atPath: entries)
    try Data([1]).write(to: URL(fileURLWithPath: entries))
    let found = await run("remote", remote)
    #expect(found.exit == 1 && found.output.contains("is not what a remote keeps there"), "\(found)")
  }

  @Test(
    "where nothing says any more at which offset a log begins, it is written again, and nothing is given up",
    arguments: [nil, .pipe, .link] as [Foreign?])
  func lostFloors(foreign: Foreign?) async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let floor = try #require(try files("/floors/0000000000000001").first)
    let floors = "\(floor.dropLast("/0000000000000001".count))"
    try FileManager.default.removeItem(atPath: "\(folder)/\(floors)")
    if let foreign {
      try put(foreign, at: floors)
      let refused = await run("trim", remote, "--older-than", "36500d", "--write")
      #expect(refused.exit == 4 && refused.errors.contains(floors), "\(refused)")
    }
    let found = await run("remote", remote)
    #expect(found.exit == 1 && problems(found).count == 1, "\(found)")
    #expect(found.output.contains("trim") && !found.output.contains("--quarantine"), "\(found)")
    if foreign != nil { try FileManager.default.removeItem(atPath: "\(folder)/\(floors)") }
    let written = await run("trim", remote, "--older-than", "36500d", "--write")
    #expect(written.exit == 0, "\(written)")
    #expect(await run("remote", remote).exit == 0)
    let new = await sync("new", "--create-store")
    #expect(new.exit == 0 && new.output.contains("began with the snapshot at offset 12"), "\(new)")
  }

  @Test("where what says at which offset a log begins is an older one, it is written again")
  func formerFloor() async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let floor = try #require(try files("/floors/0000000000000001").first)
    let incarnation = try #require(IncarnationID(String(floor.split(separator: "/")[1])))
    let former = LogFloor(
      incarnation, offset: 3, maker: ReplicaID(rawValue: 5), hash: .zero, chain: LogChain(hash: .zero))
    try Data(former.encode()).write(to: URL(fileURLWithPath: "\(folder)/\(floor)"))
    for arguments in [[], ["--repair", path("writer")]] {
      let found = await Tool(random).run(["remote", remote] + arguments)
      #expect(found.exit == 1 && problems(found).count == 1, "\(found)")
      #expect(found.output.contains("says offset 3, its first entry is at offset 8"), "\(found)")
      #expect(!found.output.contains("--quarantine") && !found.output.contains("--repair STORE"), "\(found)")
    }
    let written = await run("trim", remote, "--older-than", "36500d", "--write")
    #expect(
      written.exit == 0 && written.output.contains("where it begins was written again: offset 8"),
      "\(written)")
    #expect(await run("remote", remote).exit == 0)
    let new = await sync("new", "--create-store")
    #expect(new.exit == 0 && new.output.contains("began with the snapshot at offset 12"), "\(new)")
  }

  @Test("two manifests that were exchanged are put back at once, where the log begins with one of them")
  func exchanged() async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let manifests = try files("/manifest")
    try #require(manifests.count == 2)
    let before = try manifests.map(bytes)
    for index in 0..<2 {
      try before[1 - index].write(to: URL(fileURLWithPath: "\(folder)/\(manifests[index])"))
    }
    let mended = await run("remote", remote, "--repair", path("writer"))
    #expect(mended.exit == 0 && mended.output.hasSuffix("\nsound\n"), "\(mended)")
    #expect(mended.lines.count(where: { $0.hasPrefix("put back  ") }) == 2, "\(mended)")
    #expect(try manifests.map(bytes) == before)
  }

  @Test(
    "what says that a log begins where it has nothing is told with its way out, which `replay trim` is",
    arguments: [false, true])
  func beginsBehindItsEnd(isTrimmed: Bool) async throws {
    try await makeRemoteWithSnapshots()
    if isTrimmed { try await trim() }
    let part = try #require(try files("/manifest").first).split(separator: "/")
    let incarnation = try #require(IncarnationID(String(part[1])))
    let floors = "\(folder)/logs/\(incarnation)/snapshots/floors"
    try FileManager.default.createDirectory(atPath: floors, withIntermediateDirectories: true)
    let wrong = LogFloor(
      incarnation, offset: 70, maker: ReplicaID(rawValue: 5), hash: .zero, chain: LogChain(hash: .zero))
    try Data(wrong.encode())
      .write(to: URL(fileURLWithPath: "\(floors)/000000000000000\(isTrimmed ? 2 : 1)"))
    let first = isTrimmed ? 8 : 1
    for arguments in [[], ["--repair", path("writer")]] {
      let found = await Tool(random).run(["remote", remote] + arguments)
      #expect(found.exit == 1 && problems(found).count == 1, "\(found)")
      #expect(found.output.contains("says that it begins at offset 70"), "\(found)")
      #expect(found.output.contains("`replay trim \(remote) --write`"), "\(found)")
      #expect(!found.output.contains("--repair STORE"), "\(found)")
    }
    let plan = await run("trim", remote, "--older-than", "36500d")
    #expect(plan.exit == 0 && plan.output.hasSuffix("\n--write does it\n"), "\(plan)")
    let trimmed = await run("trim", remote, "--older-than", "36500d", "--write")
    #expect(
      trimmed.exit == 0 && trimmed.output.contains("where it begins was written again: offset \(first)"),
      "\(trimmed)")
    let sound = await run("remote", remote)
    #expect(sound.exit == 0 && sound.output.hasSuffix("\nsound\n"), "\(sound)")
    let again = await run("trim", remote, "--older-than", "36500d", "--write")
    #expect(again.exit == 0 && !again.output.contains("written again"), "\(again)")
    let new = await sync("new", "--create-store")
    #expect(new.exit == 0, "\(new)")
    try await trim()
    let after = await run("remote", remote)
    #expect(after.exit == 0 && after.output.contains("begins        at offset 8"), "\(after)")
  }

  @Test(
    "something foreign in the place of what says where a log begins stops nobody", arguments: Foreign.allCases
  )
  func foreignFloor(foreign: Foreign) async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let floor = try #require(try files("/floors/0000000000000001").first)
    let file = "\(floor.dropLast())2"
    try put(foreign, at: file)
    let found = await run("remote", remote)
    #expect(found.exit == 1 && problems(found).count == 1, "\(found)")
    #expect(problems(found).first?.contains("\(file), which says where the log begins") == true, "\(found)")
    let new = await sync("new", "--create-store")
    #expect(new.exit == 0 && new.output.contains("began with the snapshot at offset 12"), "\(new)")
    let mended = await run("trim", remote, "--older-than", "36500d", "--write")
    #expect(
      mended.exit == 0 && mended.output.contains("where it begins was written again: offset 8"), "\(mended)")
    let sound = await run("remote", remote)
    #expect(sound.exit == 0 && sound.output.hasSuffix("\nsound\n"), "\(sound)")
  }

  @Test(
    "a log of which nothing is left but a floor that cannot be read is a problem, and all else is checked")
  func nothingLeft() async throws {
    try await makeRemoteWithSnapshots()
    try await trim()
    let floor = try #require(try files("/floors/0000000000000001").first)
    try Data(count: 10).write(to: URL(fileURLWithPath: "\(folder)/\(floor)"))
    let log = floor.split(separator: "/")[..<2].joined(separator: "/")
    try FileManager.default.removeItem(atPath: "\(folder)/\(log)/0000000000000")
    let found = await run("remote", remote)
    #expect(found.exit == 1 && found.output.contains("nothing of it is there any more"), "\(found)")
  }

  @Test("what is left of a snapshot without its manifest is listed")
  func leftParts() async throws {
    try await makeRemoteWithSnapshots()
    let manifest = try #require(try files("/manifest").last)
    try FileManager.default.removeItem(atPath: "\(folder)/\(manifest)")
    let found = await run("remote", remote)
    #expect(found.exit == 0 && found.output.contains("snapshots     at offset 8\n"), "\(found)")
    #expect(found.output.contains("unnamed       snapshot at offset 12, 1 object, "), "\(found)")
    let json = await run("remote", remote, "--json")
    #expect(json.output.contains(#""objects":1,"offset":12}]"#), "\(json)")
  }
}
