import Foundation
import Observation
import StoreTesting
import Synchronization
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

@Suite("The examples of the page Sync status", .timeLimit(.minutes(20)))
struct SyncStatusPage {
  struct Chore: Model { static let type: Name = "chore" }
  struct Message: Model {
    static let type: Name = "message"
    let text = Field<String>("text")
  }

  // page
  /// What to show about clocks; nil if there is nothing to tell.
  func clockWarning(for status: ReplicatorStatus) -> String? {
    guard let offset = status.clockOffset, offset.isNotable else { return nil }
    return "\(offset). \(offset.hint)."
  }
  // page end

  // page
  /// Sends a message, and returns when the remote has it.
  func send(_ text: String, in store: Store) async throws {
    let written = try await store.write { tx in
      _ = try tx.create(Message.self, in: "chat") { $0.text = text }
      return tx.written
    }
    try await store.receipt(of: written) { $0.isShipped }
  }
  // page end

  // page
  /// Shows a tick for a message when the remote has it, and who has read it since.
  func follow(_ message: Ref<Message>, in store: Store, _ show: @Sendable (String) -> Void) async throws {
    for try await receipt in store.values({ tx in try tx.receipt(of: message) }) {
      switch receipt {
      case nil, .local: show("sending")
      case .shipped: show("sent")
      case .seen(let peers, _):
        return show("seen by " + peers.map { $0.author ?? "?" }.joined(separator: ", "))
      }
    }
  }
  // page end

  @Test("tell who has seen a message") @MainActor
  func receipts() async throws {
    let directory = TemporaryDirectory()
    let remote = try await FolderRemote.create(directory: directory.path + "/remote")
    let stores = try ["ann", "bob"].map { name in
      try Store(
        directory.path + "/" + name, .consistent, models: [Message.self], zones: [.synced("chat")],
        author: name)
    }
    let replicators = stores.map { LogReplicator(store: $0, remote: remote) }
    let message = try await stores[0].write { tx in
      try tx.create(Message.self, in: "chat") { $0.text = "Hello" }
    }
    #expect(try stores[0].receipt(of: message) == .local)
    let shown = Mutex<[String]>([])
    let following = Task {
      try await follow(message, in: stores[0]) { text in shown.withLock { $0.append(text) } }
    }
    try await replicators[0].syncOnce()
    guard case .shipped = try stores[0].receipt(of: message) else {
      Issue.record("the message is not at the remote")
      return
    }
    // Bob reads, and tells nobody; then he writes.
    try await replicators[1].syncOnce()
    try await replicators[0].syncOnce()
    #expect(try stores[0].peers(of: "chat").isEmpty)
    try await stores[1].write { tx in _ = try tx.create(Message.self, in: "chat") { $0.text = "Hi" } }
    try await replicators[1].syncOnce()
    try await replicators[0].syncOnce()
    let peers = try stores[0].peers(of: "chat")
    #expect(peers.map(\.id) == [stores[1].local.identity.replica] && peers.map(\.author) == ["bob"])
    #expect(try stores[0].receipt(of: message) == .seen(by: peers, offset: 1))
    try await following.value
    let sending = Task { try await send("Bye", in: stores[0]) }
    while try stores[0].pendingCount() == 0 { await Task.yield() }
    try await replicators[0].syncOnce()
    try await sending.value
    let texts = shown.withLock { $0 }
    #expect(texts.last == "seen by bob" && Set(texts).isSubset(of: ["sending", "sent", "seen by bob"]))
  }

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
