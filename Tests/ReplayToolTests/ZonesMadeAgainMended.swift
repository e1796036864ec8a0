import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool
@testable import Replicator

@Suite("Repairing entries of a zone that was created again, from the command line")
struct ZonesMadeAgainMended {
  private let temporary = TemporaryDirectory()
  private let random = SharedBits(1)
  private var folder: String { temporary.path + "/remote" }
  private var remote: String { "folder:\(folder)" }
  private let zone = ZoneID(name: "notes")

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  private func run(_ arguments: String...) async -> Tool.Result {
    await Tool(random).run(arguments)
  }

  private func sync(_ name: String, _ more: String...) async -> Tool.Result {
    await Tool(random).run(["sync", path(name), "--remote", remote] + more)
  }

  private func write(
    _ name: String, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(ShoppingStore.start), random)
    defer { store.close() }
    try await store.write { try body(&$0) }
  }

  private func write(_ name: String, record: Name) async throws {
    try await write(name) { [zone] tx in
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: record), type: "note")
    }
  }

  /// Store a has sent three segments of the zone's first incarnation and knows no other; b has read one of
  /// them, and has something to send. Store c has deleted the zone and created it again, with three segments.
  ///
  /// - Returns: both logs.
  private func twoLives() async throws -> [IncarnationID] {
    try await write("a", record: "first")
    try #require(await sync("a", "--create-remote", "--attach", "notes").exit == 0)
    try #require(await sync("b", "--create-store").exit == 0)
    try await write("b", record: "mine")
    for record in ["second", "third"] as [Name] {
      try await write("a", record: record)
      try #require(await sync("a").exit == 0)
    }
    try #require(await sync("c", "--create-store").exit == 0)
    try await write("c") { [zone] in try $0.deleteZone(zone) }
    try #require(await sync("c").exit == 0)
    try await write("c", record: "again")
    try #require(await sync("c", "--attach", "notes").exit == 0)
    for record in ["more", "most"] as [Name] {
      try await write("c", record: record)
      try #require(await sync("c").exit == 0)
    }
    let events = try await FolderRemote.open(directory: folder).zoneEvents(after: nil).events
    try #require(events.count == 3)
    return [events[0].incarnation, events[2].incarnation]
  }

  private func damage(_ log: IncarnationID, _ offset: UInt64) throws {
    try Data(count: 300).write(to: URL(fileURLWithPath: "\(folder)/\(ObjectName.entry(of: log, offset))"))
  }

  private func exists(_ log: IncarnationID, amendment offset: UInt64) -> Bool {
    FileManager.default.fileExists(atPath: "\(folder)/\(ObjectName.amendment(of: log, offset))")
  }

  @Test("an entry of the first incarnation is reported with its log, put back from a store, and stops nobody")
  func putBack() async throws {
    let lives = try await twoLives()
    try damage(lives[0], 2)
    let entry = "\(lives[0])@2"
    let told = await run("remote", remote)
    #expect(told.exit == 1 && told.output.contains("problem  \(entry)  logs/\(lives[0])/"), "\(told)")
    #expect(told.output.contains("`replay remote \(remote) --quarantine \(entry)`"), "\(told)")
    #expect(!told.output.contains("notes@2"), "\(told)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  \(entry)\n"), "\(mended)")
    #expect(mended.output.hasSuffix("\nsound\n"), "\(mended)")
  }

  @Test("a store that had not read so far ends the first incarnation, and keeps what it had to send")
  func ends() async throws {
    let lives = try await twoLives()
    try damage(lives[0], 2)
    let ended = await sync("b")
    #expect(ended.output.contains("notes  paused") && !ended.output.contains("parked"), "\(ended)")
    #expect(
      ended.output.contains(
        "it was deleted at the remote: everything here is kept, and nothing is sent or received"))
  }

  @Test("an entry is given up in the given log, and in no other", arguments: [2, 4] as [UInt64])
  func givenUp(offset: UInt64) async throws {
    let lives = try await twoLives()
    // The seal of the first incarnation is at 4.
    try damage(lives[0], offset)
    try damage(lives[1], offset)
    let refused = await run("remote", remote, "--quarantine", "notes@\(offset)")
    #expect(refused.exit == 2 && refused.errors.contains("was created more than once"), "\(refused)")
    for log in lives {
      #expect(refused.errors.contains("\(log)@\(offset)"), "\(refused)")
      #expect(!exists(log, amendment: offset))
    }
    let first = await run("remote", remote, "--quarantine", "\(lives[0])@\(offset)")
    #expect(first.exit == 1 && first.output.contains("problem  \(lives[1])@\(offset)  "), "\(first)")
    #expect(!first.output.contains("problem  \(lives[0])") && !first.output.contains("--reread"), "\(first)")
    #expect(exists(lives[0], amendment: offset) && !exists(lives[1], amendment: offset))
    // Only one log is left that can be meant.
    let second = await run("remote", remote, "--quarantine", "notes@\(offset)")
    #expect(second.exit == 0 && second.output.contains("--reread notes@\(offset)`"), "\(second)")
    #expect(exists(lives[1], amendment: offset))
  }

  @Test("the zone's name means its only log that lost the entry; a readable entry is refused")
  func named() async throws {
    let lives = try await twoLives()
    try damage(lives[0], 3)
    let given = await run("remote", remote, "--quarantine", "notes@3")
    #expect(given.exit == 0 && given.output.hasSuffix("\nsound\n"), "\(given)")
    #expect(exists(lives[0], amendment: 3) && !exists(lives[1], amendment: 3))
    for log in ["notes", "\(lives[0])", "\(lives[1])"] {
      let readable = await run("remote", remote, "--quarantine", "\(log)@2")
      #expect(readable.exit == 2 && readable.errors.contains("can be read"), "\(readable)")
    }
    let unknown = String(repeating: "5", count: 32)
    let wrong = await run("remote", remote, "--quarantine", "\(unknown)@2")
    #expect(wrong.exit == 2 && wrong.errors.contains("no zone “\(unknown)”"), "\(wrong)")
  }
}
