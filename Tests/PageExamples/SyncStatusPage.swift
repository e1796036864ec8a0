import Foundation
import Observation
import StoreTesting
import Testing
import Tributary

// The examples of SyncStatus.md are between the marks: an app author's code, which may use only public API.

// page
@MainActor @Observable
final class SyncStatusLine {
  private(set) var text = ""
  private(set) var lastSynced: Date?
  private let replicator: LogReplicator

  init(_ store: Store, _ remote: any RemoteLog) {
    replicator = LogReplicator(store: store, remote: remote)
  }

  /// Syncs, and shows how it stands, until the task is cancelled.
  func run() async {
    async let rounds: Void = replicator.run()
    for await status in replicator.statuses { show(status) }
    await rounds
  }

  /// Syncs now: when the user asks, or after a sign-in. The status says what came of it.
  func syncNow() async { _ = try? await replicator.syncOnce() }

  private func show(_ status: ReplicatorStatus) {
    lastSynced = status.lastSynced
    switch status.whole {
    case .unknown: text = "Not synced yet"
    case .synced: text = "Up to date"
    case .pending(let count): text = "\(count) changes to send"
    case .syncing(let progress): text = "Syncing: \(progress.sent) sent, \(progress.received) received"
    case .offline(let outage): text = "Offline since \(outage.since.formatted(.iso8601))"
    case .needsAttention(let problems): text = problems[0].description
    }
  }
}
// page end

@Suite("The examples of the page Sync status", .timeLimit(.minutes(5)))
struct SyncStatusPage {
  struct Chore: Model { static let type: Name = "chore" }

  @Test("say what waits, what is in sync, and what is wrong") @MainActor
  func status() async throws {
    let directory = TemporaryDirectory()
    let store = try Store(
      directory.path + "/a", .consistent, models: [Chore.self], zones: [.synced("home"), .local("device")])
    let folder = directory.path + "/remote"
    // The remote is not there yet.
    let line = SyncStatusLine(store, FolderRemote(directory: folder))
    try await store.write { tx in
      try tx.create(Chore.self, in: "home")
      try tx.create(Chore.self, in: "device")
    }
    #expect(try store.pendingCount() == 1)
    let task = Task { await line.run() }
    while !line.text.hasPrefix("Offline since") { try await Task.sleep(for: .milliseconds(5)) }
    #expect(line.lastSynced == nil)
    _ = try await FolderRemote.create(directory: folder)
    await line.syncNow()
    while line.text != "Up to date" { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try store.pendingCount() == 0 && line.lastSynced != nil)
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "2")
    try await store.write { tx in try tx.create(Chore.self, in: "home") }
    while !line.text.hasPrefix("Offline since") { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try store.pendingCount() == 1)
    do {
      try await LogReplicator(store: store, remote: FolderRemote(directory: folder)).syncOnce()
      Issue.record("a remote that is away was synced with")
    } catch {
      let text = error.localizedDescription
      #expect(text.hasPrefix("There is no folder ") && text.hasSuffix("."), "\(text)")
      #expect((error as? any LocalizedError)?.recoverySuggestion?.hasSuffix(".") == true)
    }
    try FileManager.default.moveItem(atPath: folder + "2", toPath: folder)
    while line.text != "Up to date" { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try store.pendingCount() == 0)
    task.cancel()
    await task.value
  }
}
