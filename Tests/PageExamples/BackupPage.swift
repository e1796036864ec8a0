import StoreTesting
import Testing
import Tributary

// The examples of BackupAndRestore.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Backup and restore")
struct BackupPage {
  // page
  /// Copies the store, and returns how many bytes its data has. `backup` blocks its thread until the copy is whole: so
  /// not on the main actor.
  @concurrent func backUp(_ store: Store, to directory: String) async throws -> UInt64 {
    let report = try store.local.backup(to: directory) { done in
      try Task.checkCancellation()
      print("copied", done.dataBytes + done.assetBytes, "bytes")
    }
    return report.dataBytes
  }
  // page end

  // page
  func makeReplicator(_ store: Store, _ remote: any RemoteLog) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    // Here: a month of history, and at most 100 MiB of a zone, or up to twice of that.
    configuration.policy.history = HistoryPolicy(millisecondsMax: 30 * 86_400_000, logBytesMax: 100 << 20)
    // At the remote: a quarter of a year.
    configuration.policy.trimMilliseconds = 90 * 86_400_000
    return LogReplicator(store: store, remote: remote, configuration: configuration)
  }
  // page end

  private struct Note: Model {
    static let type: Name = "note"
    let title = Field<String>("title")
  }

  @Test("A backup is a store, with what was there")
  func backsUp() async throws {
    let scratch = TemporaryDirectory()
    func open(_ name: String) throws -> Store {
      try Store("\(scratch.path)/\(name)", .consistent, models: [Note.self], zones: [.synced("notes")])
    }
    let store = try open("notes.store")
    let note = try await store.write { tx in try tx.create(Note.self, in: "notes") { $0.title = "Tea" } }
    #expect(try await backUp(store, to: scratch.path + "/backup") > 0)
    store.close()
    let copy = try open("backup")
    #expect(try copy.fetch(note)?.title == "Tea")
    copy.close()
  }

  @Test("A replicator with policies syncs")
  func syncs() async throws {
    let scratch = TemporaryDirectory()
    let store = try Store(
      scratch.path + "/notes.store", .consistent, models: [Note.self], zones: [.synced("notes")])
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let report = try await makeReplicator(store, remote).syncOnce()
    #expect(report.isInSync && report.retired.isEmpty)
    store.close()
  }
}
