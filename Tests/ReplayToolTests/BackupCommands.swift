import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Copies of stores, made and put back")
struct BackupCommands {
  let temporary = TemporaryDirectory()
  private let milk = RecordID(zone: ZoneID(name: "home"), name: "milk")

  private func path(_ name: String) -> String { "\(temporary.path)/\(name)" }

  private func write(_ title: String) async throws {
    let store = try ShoppingStore.open(path("notes.store"))
    defer { store.close() }
    let milk = milk
    try await store.write { tx in
      try tx.createZone(milk.zone)
      if try !tx.contains(milk) { try tx.create(milk, type: "task") }
      try tx.set("title", of: milk, to: .string(title))
    }
  }

  private func run(_ arguments: String...) async -> Tool.Result { await Tool(seed: 1).run(arguments) }

  @Test("backup copies, again into the same directory; restore makes a store, with another identity")
  func there() async throws {
    try await write("one")
    let made = await run("backup", path("notes.store"), path("backup"))
    #expect(
      made.exit == 0 && made.output.hasPrefix("copied ") && made.output.hasSuffix("; sound\n"), "\(made)")
    try await write("two")
    let again = await run("backup", path("notes.store"), path("backup"), "--json")
    #expect(again.exit == 0 && again.output.contains("\"assetsMissing\":0"), "\(again)")
    try await write("three")
    let restored = await run("restore", path("backup"), path("restored"))
    #expect(restored.exit == 0 && restored.output.hasPrefix("restored "), "\(restored)")
    #expect(
      restored.output.hasSuffix("; sound\nit takes a new identity when it is first opened for writing\n"))
    let state = await run("state", path("restored"))
    #expect(state.exit == 0 && state.output.contains("two"), "\(state)")
    let old = try ShoppingStore.open(path("notes.store"))
    let new = try ShoppingStore.open(path("restored"))
    #expect(old.identity.replica != new.identity.replica)
    let replica = old.identity.replica
    for store in [old, new] { store.close() }
    let info = await run("info", path("restored"))
    #expect(info.lines.contains { $0.hasPrefix("before") && $0.hasSuffix("\(replica)") }, "\(info)")
    #expect(await run("verify", path("restored")).exit == 0)
  }

  @Test("A place that is in use, or has something else, is left alone, and the hint says what to do")
  func elsewhere() async throws {
    try await write("one")
    for command in ["backup", "restore"] {
      let used = await run(command, path("notes.store"), path("notes.store"))
      #expect(
        used.exit == 3 && used.errors.contains("holds a store") && !used.errors.contains("in use")
          && used.errors.contains("move the store away first"), "\(used)")
      let missing = await run(command, path("none"), path("copy"))
      #expect(missing.exit == 3, "\(missing)")
      #expect(!FileManager.default.fileExists(atPath: path("copy")))
    }
    try FileManager.default.createDirectory(atPath: path("mine"), withIntermediateDirectories: false)
    try "x".write(toFile: path("mine/file"), atomically: false, encoding: .utf8)
    let other = await run("backup", path("notes.store"), path("mine"))
    #expect(other.exit == 3 && other.errors.contains("hint: give an empty directory"), "\(other)")
    let inside = await run("backup", path("notes.store"), path("notes.store/copy"))
    #expect(
      inside.exit == 3 && inside.errors.contains("is in the directory of the store itself"), "\(inside)")
    #expect(!FileManager.default.fileExists(atPath: path("notes.store/copy")))
    let below = await run("backup", path("notes.store"), path("none/copy"))
    #expect(below.exit != 0 && below.errors.contains("the directory above it does not exist"), "\(below)")
  }
}
