import StoreTesting
import Testing
import Tributary

// The example of BackupAndRestore.md is between the marks: an app author's code, which may use only public API.

@Suite("The example of the page Backup and restore")
struct BackupPage {
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
