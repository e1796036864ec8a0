internal import Dispatch
internal import EventStore
internal import LMDB
internal import OperationFormat
public import Replicator
internal import Synchronization

/// An index in a file of this machine, for a server by itself: LMDB, with one commit for all calls that wait.
public final class LMDBIndex: IndexOfRows {
  private typealias Rules = IndexRules<LMDBRows>

  /// A call that waits for a commit.
  private struct Job: Sendable {
    /// Does it in a transaction of its own within that of the commit; false if it is to be undone.
    var run: @Sendable (inout Rules) -> Bool
    /// Called once the commit is durable, or has failed.
    var finish: @Sendable (LMDBError?) -> Void
  }

  /// The most calls of one commit.
  private static let jobsMax = 256

  public let name: String
  private let environment: Environment
  private let tables: IndexTables
  private let jobs = Mutex<(waiting: [Job], isRunning: Bool)>(([], false))
  private let writer = DispatchQueue(label: "tributary.index.writer")
  private let milliseconds: @Sendable () -> UInt64
  private let makeRandom: @Sendable () -> UInt64

  /// Opens an index, and makes it if there is none.
  ///
  /// - Parameters:
  ///   - directory: where its files are; it must exist.
  ///   - isSynced: whether what a call has done survives a power cut; a crash of the process it survives always.
  ///   - milliseconds: the clock of the server, in milliseconds since 1970.
  ///   - makeRandom: gives the identities of lists.
  /// - Throws: `RemoteError` `system`, `newerFormat`.
  public init(
    directory: String, isSynced: Bool = true, milliseconds: @escaping @Sendable () -> UInt64,
    makeRandom: @escaping @Sendable () -> UInt64
  ) throws(RemoteError) {
    name = "lmdb:\(directory)"
    (self.milliseconds, self.makeRandom) = (milliseconds, makeRandom)
    let name = name
    (environment, tables) = try RemoteError.ofIndex(
      Result {
        let environment = try Environment(
          directory: directory, options: Environment.Options(sync: isSynced ? .full : .none))
        let transaction = try environment.beginWrite()
        let tables = try IndexTables(transaction)
        try transaction.commit()
        return (environment, tables)
      }, name)
  }

  /// Closes it, once nothing is being written.
  public func close() {
    writer.sync {}
    environment.close()
  }

  // MARK: Transactions

  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (inout IndexRules<LMDBRows>) throws -> Result
  ) async throws(RemoteError) -> Result {
    try RemoteError.ofIndex(
      Swift.Result {
        let transaction = try environment.beginRead()
        var rules = rules(transaction)
        return try body(&rules)
      }, name)
  }

  /// One thread writes, whatever the scope is.
  public func write<Result: Sendable>(
    _ scope: IndexScope, _ body: @escaping @Sendable (inout IndexRules<LMDBRows>) throws -> Result
  ) async throws(RemoteError) -> Result {
    let outcome = await withCheckedContinuation {
      (continuation: CheckedContinuation<Swift.Result<Result, any Error>, Never>) in
      let found = Shared<Swift.Result<Result, any Error>?>(nil)
      let job = Job { rules in
        let result = Swift.Result { try body(&rules) }
        found.value = result
        if case .success = result { return true } else { return false }
      } finish: { error in
        if let error, case .success? = found.value { found.value = .failure(error) }
        continuation.resume(returning: found.value ?? .failure(error ?? LMDBIndexClosed()))
      }
      let begins = jobs.withLock { jobs in
        jobs.waiting.append(job)
        defer { jobs.isRunning = true }
        return !jobs.isRunning
      }
      if begins { writer.async { self.commitAll() } }
    }
    return try RemoteError.ofIndex(outcome, name)
  }

  /// Commits what waits, and what has come meanwhile.
  private func commitAll() {
    while true {
      let batch = jobs.withLock { jobs in
        let batch = Array(jobs.waiting.prefix(Self.jobsMax))
        jobs.waiting.removeFirst(batch.count)
        if batch.isEmpty { jobs.isRunning = false }
        return batch
      }
      if batch.isEmpty { return }
      do throws(LMDBError) {
        try commit(batch)
        for job in batch { job.finish(nil) }
      } catch {
        // What was too much together may have room by itself.
        for job in batch {
          do throws(LMDBError) {
            if batch.count == 1 { throw error }
            try commit([job])
            job.finish(nil)
          } catch {
            job.finish(error)
          }
        }
      }
    }
  }

  private func commit(_ batch: [Job]) throws(LMDBError) {
    let transaction = try environment.beginWrite()
    for job in batch {
      let nested = transaction.beginNested()
      var rules = rules(nested)
      if job.run(&rules) { try nested.commit() } else { nested.abort() }
    }
    try transaction.commit()
  }

  private func rules(_ transaction: borrowing Transaction) -> Rules {
    IndexRules(
      LMDBRows(transaction.alias(), tables), milliseconds: milliseconds(), random: makeRandom, index: name)
  }
}

private struct LMDBIndexClosed: Error {}
