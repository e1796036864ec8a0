import Foundation
import Observation
import StoreTesting
import Testing
import Tributary

// The examples of SyncStatus.md are between the marks: an app author's code, which may use only public API. `Answer` is in
// ErrorAnswers.swift.

// page
@MainActor @Observable
final class SyncStatusLine {
  private(set) var text = "Not synced yet"
  private(set) var pending = 0
  private(set) var lastInSync: Date?
  private let store: Store
  private let replicator: LogReplicator

  init(_ store: Store, _ remote: any RemoteLog) {
    self.store = store
    replicator = LogReplicator(store: store, remote: remote)
  }

  /// Syncs until the task is cancelled.
  func run() async {
    await replicator.run { report in Task { @MainActor in self.show(report) } }
  }

  /// Syncs now: when the user asks, or after a sign-in.
  func syncNow() async {
    do {
      show(try await replicator.syncOnce())
    } catch is CancellationError {
    } catch {
      show(SyncFailure(error))
    }
  }

  private func show(_ report: SyncReport) {
    do {
      pending = try store.pendingCount()
    } catch {
      return show(SyncFailure(error))
    }
    if let failure = report.failure { return show(failure) }
    if report.isInSync { lastInSync = .now }
    switch Answer(report) {
    case .wait: text = report.isInSync && pending == 0 ? "Up to date" : "Syncing"
    case .askUser(let message), .askOperator(let message): text = message
    case .reopen: text = "Please restart the app"
    }
  }

  private func show(_ failure: SyncFailure) {
    switch Answer(failure) {
    case .wait: text = "Offline: changes are kept, and sent later"
    case .askUser(let message), .askOperator(let message): text = message
    case .reopen: text = "Please restart the app"
    }
  }
}
// page end

@Suite("The examples of the page Sync status")
struct SyncStatusPage {
  struct Chore: Model { static let type: Name = "chore" }

  @Test("say what waits, what is in sync, and what is wrong") @MainActor
  func status() async throws {
    let directory = TemporaryDirectory()
    let store = try Store(
      directory.path + "/a", .consistent, models: [Chore.self], zones: [.synced("home"), .local("device")])
    let folder = directory.path + "/remote"
    let line = SyncStatusLine(store, try await FolderRemote.create(directory: folder))
    try await store.write { tx in
      try tx.create(Chore.self, in: "home")
      try tx.create(Chore.self, in: "device")
    }
    #expect(try store.pendingCount() == 1)
    await line.syncNow()
    #expect(line.text == "Up to date" && line.pending == 0 && line.lastInSync != nil)
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "2")
    try await store.write { tx in try tx.create(Chore.self, in: "home") }
    await line.syncNow()
    #expect(try store.pendingCount() == 1)
    #expect(line.text != "Up to date", "\(line.text)")
    try FileManager.default.moveItem(atPath: folder + "2", toPath: folder)
    let task = Task { await line.run() }
    while line.text != "Up to date" { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try store.pendingCount() == 0)
    task.cancel()
  }
}
