import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The first sync of a new store, which is interrupted again and again, and how much memory it takes.
enum FirstSync {
  /// Syncs a store in rounds of which each ends after its first commit, up to a number of rounds; the last one ends by
  /// itself. Prints how many were interrupted, how many segments were read, and by how many KiB of its own memory the
  /// process grew.
  static func run(store: LocalStore, folder: String, interruptions: Int, pageBytesMax: Int) async throws {
    let remote = CountedPages(try await FolderRemote.open(directory: folder))
    let memory = Memory()
    var interrupted = 0
    while true {
      var configuration = ReplicatorConfiguration()
      configuration.pageBytesMax = pageBytesMax
      let replicator = LogReplicator(store: store, remote: remote, configuration: configuration)
      let isLast = interrupted == interruptions
      let commits = Commits(most: isLast ? nil : 1)
      let observation = store.onCommit {
        memory.look()
        commits.count()
      }
      defer { observation.cancel() }
      let round = Task { try await replicator.syncOnce() }
      commits.arm { round.cancel() }
      do {
        let report = try await round.value
        precondition(report.isInSync, "\(report)")
        break
      } catch is CancellationError {
        interrupted += 1
      }
    }
    Line.print("\(interrupted) \(remote.count) \(memory.grown)\n")
  }
}

/// Ends a round after some commits.
private final class Commits: Sendable {
  private struct State {
    var left: Int?
    var action: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  init(most: Int?) { state = Mutex(State(left: most)) }

  func arm(_ action: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.action = action
      return state.left.map { $0 <= 0 } ?? false
    }
    if isLate { action() }
  }

  func count() {
    let action = state.withLock { state in
      state.left = state.left.map { $0 - 1 }
      return state.left == 0 ? state.action : nil
    }
    action?()
  }
}

/// By how much this process's own memory has grown; 0 where the system does not say it. What is mapped from files does not
/// count: the system takes it back when it needs it.
private final class Memory: Sendable {
  private let start = Memory.anonymousKilobytes
  private let most = Mutex(0)

  var grown: Int { most.withLock { $0 } }

  func look() {
    let now = Self.anonymousKilobytes
    most.withLock { $0 = max($0, now - start) }
  }

  private static var anonymousKilobytes: Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 200)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard text.hasPrefix("RssAnon:") else { continue }
      return text.split(separator: " ").dropFirst().first.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
    return 0
  }
}

/// Counts the segments that are read.
private final class CountedPages: ForwardingRemote {
  let remote: any RemoteLog
  private let segments = Mutex(0)

  init(_ remote: any RemoteLog) { self.remote = remote }

  var count: Int { segments.withLock { $0 } }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await remote.segments(after: token, bytesMax: bytesMax)
    if case .segments(let page, _) = outcome { segments.withLock { $0 += page.count } }
    return outcome
  }
}
