import Replicator
import Synchronization

/// A remote that answers appends only once it is let: what was appended is there, and the replica does not
/// know.
struct HoldingRemote: ForwardingRemote {
  let remote: any RemoteLog
  let gate: Gate

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    let outcome = try await remote.append(segment, after: token)
    guard await gate.pass() else {
      throw RemoteError(.unreachable, "the answer of \(name) was lost", hint: "sync again")
    }
    return outcome
  }

  /// Where the answers wait.
  final class Gate: Sendable {
    private struct State {
      var held: [CheckedContinuation<Bool, Never>] = []
      /// Set once the gate is open: whether the answers arrive.
      var answer: Bool?
      var isOver = false
      /// Waits until `count` answers are held.
      var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?

      /// Takes the watcher if what it waits for is there.
      mutating func takeWatcher() -> CheckedContinuation<Void, Never>? {
        guard let watcher, isOver || held.count >= watcher.count else { return nil }
        self.watcher = nil
        return watcher.continuation
      }
    }

    private let state = Mutex(State())

    /// Waits for the gate; gives whether the answer arrives.
    func pass() async -> Bool {
      await withCheckedContinuation { continuation in
        let (answer, watcher) = state.withLock { state in
          if state.answer == nil { state.held.append(continuation) }
          return (state.answer, state.takeWatcher())
        }
        watcher?.resume()
        if let answer { continuation.resume(returning: answer) }
      }
    }

    /// Waits until `count` answers are held, or no more will come.
    func holds(_ count: Int) async {
      await withCheckedContinuation { continuation in
        let watcher = state.withLock { state in
          state.watcher = (count, continuation)
          return state.takeWatcher()
        }
        watcher?.resume()
      }
    }

    /// Lets the answers go.
    func open(arrives: Bool) {
      let held = state.withLock { state in
        state.answer = arrives
        defer { state.held = [] }
        return state.held
      }
      for continuation in held { continuation.resume(returning: arrives) }
    }

    /// No more answers will come.
    func finish() {
      let watcher = state.withLock { state in
        state.isOver = true
        return state.takeWatcher()
      }
      watcher?.resume()
    }
  }
}
