import EventStore
import OperationFormat
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// All that observes a store in a process: one that follows its commits, and some that read again.
final class StoreObservers: Sendable {
  private typealias Body = @Sendable (borrowing ReadTransaction) throws -> String

  private struct State {
    var followed: FollowedRecords
    /// What was followed at some position before.
    var past: FollowedRecords
    /// What each of the others has read last.
    var pictures: [String: String] = [:]
  }

  private let store: LocalStore
  private let prefix: String
  private let commits: Commits
  private let state: Mutex<State>
  private let tasks = Mutex<[Task<Void, Never>]>([])

  /// So long all observers may take. Only a wake that was lost takes so long.
  private static let waitSeconds = 60

  init(_ store: LocalStore, prefix: String) throws {
    (self.store, self.prefix) = (store, prefix)
    commits = store.commits
    let followed = try store.read { tx in try FollowedRecords(tx) }
    state = Mutex(State(followed: followed, past: followed))
  }

  // MARK: What is observed

  private static let bodies: [(name: String, body: Body)] = [
    (
      "records",
      { tx in
        let records = try FollowedRecords.records(of: CrashWriter.zones[0], tx)
        return "\(records.sorted { $0.key < $1.key })"
      }
    ),
    (
      "query",
      { tx in
        let query = RecordQuery(
          types: ["note"], condition: .compare(.value(of: "n"), .greater, 20),
          order: [QueryOrder(.value(of: "n"))])
        return "\(try tx.records(query))"
      }
    ),
    (
      "text",
      { tx in
        let record = RecordID(zone: CrashWriter.zones[1], name: "r0")
        return try tx.text(of: "text", in: record) ?? "none"
      }
    ),
    ("zones", { tx in "\(try tx.zones())" }),
  ]

  // MARK: Begin and end

  /// Begins to observe; returns when everything was read once.
  func begin() async throws {
    let following = Task { await self.follow() }
    tasks.withLock { $0.append(following) }
    for (name, body) in Self.bodies {
      let task = Task { await self.observe(name, body) }
      tasks.withLock { $0.append(task) }
    }
    while state.withLock({ $0.pictures.count < Self.bodies.count }) {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  func end() { for task in tasks.withLock({ $0 }) { task.cancel() } }

  private func observe(_ name: String, _ body: @escaping Body) async {
    do {
      for try await picture in store.values(body) {
        state.withLock { $0.pictures[name] = picture }
        say("seen \(name) \(ContentHash(of: Array(picture.utf8).span.bytes).description.prefix(12))")
      }
    } catch {
      say("WRONG \(name) ended: \(error)")
    }
  }

  private func follow() async {
    for await commit in commits {
      let now = nowMicroseconds()
      do {
        try store.read { tx in
          try state.withLock { state in
            try state.followed.follow(commit, tx).map { say("WRONG \($0)") }
            if commit.position.rawValue % 8 == 0, try state.followed.isAt(tx) { state.past = state.followed }
          }
        }
      } catch {
        guard (error as? StoreError)?.code != .closed else { return }
        return say("WRONG following ended: \(error)")
      }
      say("commit \(commit.position) \(waits(of: commit, now).map(String.init).joined(separator: " "))")
    }
  }

  /// How long ago other processes made a commit's transactions, as their labels say, in microseconds.
  private func waits(of commit: Commit, _ now: Int) -> [Int] {
    commit.transactions.compactMap { transaction in
      guard let parts = transaction.label?.split(separator: "@"), parts.count == 2,
        !parts[0].hasPrefix(prefix + "-"), let made = Int(parts[1])
      else { return nil }
      return now - made
    }
  }

  // MARK: Settling

  /// Waits until all observers have seen what a read sees, and prints that; nobody may write meanwhile.
  func settle() async throws {
    let start = nowMicroseconds()
    while let late = try late() {
      guard nowMicroseconds() - start < Self.waitSeconds * 1_000_000 else {
        return say("WRONG no wake came within \(Self.waitSeconds) s: \(late)")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    let (position, digest) = try store.read { tx in
      var text = ""
      for zone in try tx.zones() { text += "\(zone) \(try tx.digest(of: zone))\n" }
      return (try tx.lastPosition(), ContentHash(of: Array(text.utf8).span.bytes))
    }
    try await checkPast()
    say("settled \(position) \(digest)")
  }

  /// Reads the past, which all processes fold into the same files.
  private func checkPast() async throws {
    let past = state.withLock { $0.past }
    let snapshot = try await store.snapshot(at: past.position)
    guard try snapshot.read({ tx in try past.isShown(by: tx) }) else {
      return say("WRONG the past at \(past.position) shows other records")
    }
  }

  /// Those that have not seen yet what a read sees; nil if there are none.
  private func late() throws -> String? {
    try store.read { tx in
      let state = state.withLock { $0 }
      var late: [String] = []
      if let difference = try state.followed.difference(from: tx) { late.append(difference) }
      for (name, body) in Self.bodies where try body(tx) != state.pictures[name] { late.append(name) }
      return late.isEmpty ? nil : late.joined(separator: ", ")
    }
  }
}

/// A clock that all processes of the machine share.
func nowMicroseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}
