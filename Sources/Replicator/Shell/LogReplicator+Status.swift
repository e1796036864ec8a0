import EventStore

extension LogReplicator {
  /// How the store and its remote stand to each other now, as far as the rounds of this replicator have seen.
  ///
  /// - Complexity: linear in the zones.
  public var status: ReplicatorStatus {
    do {
      return try currentStatus()
    } catch {
      let failure = SyncFailure(error)
      let outage = SyncOutage(
        sinceMilliseconds: store.wallMilliseconds(), retryMilliseconds: nil, failure: failure)
      let problem = SyncProblem(zone: nil, reason: .failed(failure))
      return ReplicatorStatus(
        whole: failure.answer == .wait ? .offline(outage) : .needsAttention([problem]), zones: [:],
        lastSyncedMilliseconds: nil, clockOffset: nil)
    }
  }

  /// The status now, and again whenever it is another. It ends when the task is cancelled or the store closed. Writes of
  /// other processes are heard of while ``run(_:)`` runs; else with the next round or commit here.
  ///
  /// ```swift
  /// for await status in replicator.statuses { show(status.whole) }
  /// ```
  public var statuses: ReplicatorStatuses { ReplicatorStatuses(self) }

  func currentStatus() throws -> ReplicatorStatus { board.status(try store.syncState(), zones) }
}

/// The status of a replicator, whenever it is another.
public struct ReplicatorStatuses: AsyncSequence, Sendable {
  private let replicator: LogReplicator

  init(_ replicator: LogReplicator) { self.replicator = replicator }

  public func makeAsyncIterator() -> Iterator { Iterator(replicator) }

  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let listening: Listening
    private var last: ReplicatorStatus?
    private var isDone = false

    fileprivate init(_ replicator: LogReplicator) { listening = Listening(replicator) }

    /// The next status; nil if the store was closed, or the task was cancelled.
    public mutating func next() async -> ReplicatorStatus? {
      while !isDone {
        if last != nil {
          for await _ in listening.changes { break }
          // Many commits are one status.
          try? await listening.replicator.configuration.sleep(Self.pauseMilliseconds)
        }
        isDone = Task.isCancelled || listening.isStoreClosed
        let status = listening.replicator.status
        if isDone || status == last { continue }
        last = status
        return status
      }
      return nil
    }

    private static let pauseMilliseconds: Int64 = 20
  }

  /// Hears of rounds and commits until it is released.
  private final class Listening: Sendable {
    let replicator: LogReplicator
    let changes: AsyncStream<Void>
    private let number: UInt64
    private let commits: CommitObservation

    init(_ replicator: LogReplicator) {
      self.replicator = replicator
      let (number, changes, tell) = replicator.board.changes()
      (self.number, self.changes) = (number, changes)
      commits = replicator.store.onCommit { tell.yield() }
    }

    deinit { replicator.board.endChanges(number) }

    var isStoreClosed: Bool {
      do {
        _ = try replicator.store.lastCommitID
        return false
      } catch {
        return (error as? StoreError)?.code == .closed
      }
    }
  }
}
