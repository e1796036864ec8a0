import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Zones that another device has deleted, named on the command line")
struct ZonesDeletedElsewhere {
  private let temporary = TemporaryDirectory()
  private let random = SharedBits(1)
  private var remote: String { "folder:\(temporary.path)/remote" }
  private var first: String { temporary.path + "/first.store" }

  private func sync(_ path: String, _ arguments: String...) async -> Tool.Result {
    await Tool(random).run(["sync", path, "--remote", remote] + arguments)
  }

  /// A store with a zone that another one has deleted at the remote, and a zone with something to send.
  private func makeStores() async throws {
    let zones = (["gone", "notes"] as [Name]).map { ZoneID(name: $0) }
    let store = try ShoppingStore.open(first)
    try await store.write { tx in
      for zone in zones {
        try tx.createZone(zone)
        try tx.create(RecordID(zone: zone, name: "a"), type: "note")
      }
    }
    store.close()
    #expect(await sync(first, "--create-remote", "--attach", "gone", "--attach", "notes").exit == 0)
    let second = temporary.path + "/second.store"
    #expect(await sync(second, "--create-store").exit == 0)
    let other = try ShoppingStore.open(second)
    try await other.write { try $0.deleteZone(zones[0]) }
    other.close()
    #expect(await sync(second).exit == 0)
    let again = try ShoppingStore.open(first)
    try await again.write { try $0.create(RecordID(zone: zones[1], name: "b"), type: "note") }
    again.close()
  }

  @Test("the report has it and the others; a zone that neither side has is an error after the report")
  func once() async throws {
    try await makeStores()
    let told = await sync(first, "--zone", "gone", "--zone", "notes", "--zone", "nope")
    #expect(told.exit == 2 && told.errors.contains("the store has no zone “nope”"), "\(told)")
    #expect(told.lines.contains { $0.hasPrefix("gone") && $0.contains("removed") }, "\(told)")
    #expect(told.lines.contains { $0.hasPrefix("notes") && $0.contains("sent 1 transaction") }, "\(told)")
    // It is deleted here too now.
    let after = await sync(first, "--zone", "gone")
    #expect(after.exit == 2 && after.errors.contains("the store has no zone “gone”"), "\(after)")
  }

  @Test("--watch continues", .timeLimit(.minutes(20)))
  func watched() async throws {
    try await makeStores()
    var watching = Tool(random)
    let sink = CapturedSink()
    watching.sink = sink
    watching.isInterrupted = { sink.text.contains("removed") }
    let result = await watching.run(
      "sync", first, "--remote", remote, "--zone", "gone", "--zone", "notes", "--watch")
    #expect(result.exit == 0 && result.errors == "", "\(result)")
    #expect(result.output.contains("sent 1 transaction"), "\(result)")
  }
}
