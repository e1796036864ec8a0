import LMDB
import OperationFormat
import Synchronization

/// An open store: its environment and tables, its writer, its files and what it was opened with.
///
/// ``LocalStore`` is the public door to it. Every type that does work of a store, such as a rebuild or a
/// transfer of assets, holds its core.
final class StoreCore: Sendable {
  /// The directory that holds the store.
  let directory: String
  let identity: StoreIdentity
  /// Nil if it was opened for reading alone.
  private let place: NotedPlace?
  let configuration: StoreConfiguration
  let environment: Environment
  let tables: Tables
  let interned = Interned()
  let observers = CommitObservers()
  let journal: CommitJournal
  let assets: AssetFiles
  /// Where files are read, written and hashed that may be large.
  let fileThreads: BlockingThreads
  /// Whether all pages of the data file were checked since the store was opened.
  let hasCheckedPages = Shared(false)
  /// The snapshots that zones begin with and that are not whole here, without those that a remote was asked for. Nil until they
  /// are looked for, and again once a part turned out to be damaged.
  let brokenOrigins = Shared<[BrokenOrigin]?>(nil)
  /// Nil for a store that was opened read-only.
  private let writer: StoreWriter?
  /// Where the past is folded, once somebody has asked for it.
  private let pastTables = Mutex<PastTables?>(nil)

  /// The most threads that work at files at one time.
  private static let fileThreadsMax = 4

  /// Opens the store of a directory, or makes one there.
  ///
  /// - Throws: ``StoreError``, as ``LocalStore/init(directory:durability:configuration:)``.
  init(_ directory: String, _ durability: Durability, _ configuration: StoreConfiguration) throws {
    self.directory = directory
    self.configuration = configuration
    journal = CommitJournal { [observers] in observers.notify() }
    assets = AssetFiles(
      directory: configuration.assetDirectory ?? directory, isSynced: !configuration.isUnsynced,
      calls: configuration.assetCalls, makeRandom: configuration.makeRandom)
    fileThreads = BlockingThreads(countMax: configuration.writesOnCallingThread ? 0 : Self.fileThreadsMax)
    do {
      let opened = try OpenedStore(directory, durability, configuration)
      environment = opened.environment
      tables = opened.tables
      identity = opened.identity
      place = opened.place
    } catch {
      throw StoreError.translate(error)
    }
    guard !configuration.isReadOnly else {
      writer = nil
      return
    }
    let (environment, tables, identity, interned, observers, journal, assets) = (
      environment, tables, identity, interned, observers, journal, assets
    )
    let makePerform: @Sendable () -> PerformWrites = {
      var changesPublished = -1
      let store = StoreTransaction(
        storage: TableStorage(tables: tables), identity: identity, assetFiles: assets,
        wallMilliseconds: configuration.wallMilliseconds, makeRandom: configuration.makeRandom)
      if !configuration.fieldKinds.isEmpty { store.declaredKinds = DeclaredKinds(configuration.fieldKinds) }
      store.journal = journal
      if let steps = configuration.foldBoundStepsMax {
        store.fold.bound.stepsMax = steps
        store.fold.bound.rowsAtOnce = max(1, min(steps / 4, store.fold.bound.rowsAtOnce))
      }
      let commit = GroupCommit(
        environment: environment,
        write: LocalWrite(store, assetThresholdBytes: configuration.assetThresholdBytes),
        configuration: configuration,
        didCommit: { written in
          if written.changeCount != changesPublished {
            interned.caches = written.caches
            changesPublished = written.changeCount
          }
          observers.notify()
        })
      return commit.perform
    }
    writer = try StoreWriter(hasThread: !configuration.writesOnCallingThread, makePerform: makePerform)
  }

  deinit { close() }

  /// Closes the store once the queued writes are done. Open reads continue to their end; later calls throw
  /// `closed`.
  func close() {
    writer?.stop()
    try? place?.noteEnd()
    environment.close()
    pastTables.withLock { $0.take() }?.close()
    // Who waits for a commit sees that there will be none.
    observers.notify()
  }

  // MARK: The past

  /// Where the past of the store is kept: beside its data, or in a temporary place if it is open for reading alone.
  ///
  /// - Throws: ``StoreError`` `closed`, `full`, `system`.
  func past() throws -> PastTables {
    try pastTables.withLock { tables in
      if let tables { return tables }
      do {
        _ = try environment.lastTransactionID
        let made = try PastTables(directory: configuration.isReadOnly ? nil : pastDirectory, configuration)
        tables = made
        return made
      } catch {
        throw StoreError.translate(error)
      }
    }
  }

  /// Runs a closure that works with the past. If that is removed meanwhile, or turns out to be damaged, it is made again,
  /// and the closure runs once more.
  func retryingPast<R>(_ body: () throws -> R) throws -> R {
    var wasDamaged = false
    while true {
      let used = try past()
      do {
        return try body()
      } catch {
        let error = StoreError.translate(error)
        switch (error as? StoreError)?.code {
        case .closed? where pastTables.withLock({ $0 !== used }): continue
        case .damaged? where !wasDamaged:
          wasDamaged = true
          try removePast()
        default: throw error
        }
      }
    }
  }

  func removePast() throws {
    try StoreError.translating { _ = try environment.lastTransactionID }
    pastTables.withLock { tables in
      tables.take()?.close()
      if configuration.isReadOnly { return }
      // The directory stays: its lock keeps others from opening what is half removed.
      let lock = try? DirectoryLock(pastDirectory, isRequired: false)
      if lock != nil { SystemEnvironment.removeDataFiles(in: pastDirectory) }
      extendLifetime(lock)
    }
  }

  private var pastDirectory: String { "\(directory)/past" }

  // MARK: Reading

  /// Runs a closure that reads a snapshot, on the calling thread.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try body(try beginRead())
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Opens a snapshot, which lasts until it is released.
  func beginRead() throws(LMDBError) -> ReadTransaction {
    ReadTransaction(try environment.beginRead(), tables: tables, interned: interned, identity: identity)
  }

  // MARK: Writing

  /// Runs work of the store in a transaction, and commits it. The work may run again.
  func perform<R: Sendable>(_ work: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    let result = Shared<R?>(nil)
    try await perform(.repeatable { store in result.value = try work(store) })
    return result.value!
  }

  /// Does work that may find nothing to change: then nothing is committed, and no observer is called.
  ///
  /// - Parameter work: returns nil if it has changed nothing.
  func performIfChanged<R: Sendable>(
    _ work: @escaping @Sendable (StoreTransaction) throws -> R?
  ) async throws -> R? {
    do {
      return try await perform { store in
        guard let result = try work(store) else { throw NothingChanged() }
        return result
      }
    } catch is NothingChanged {
      return nil
    }
  }

  private struct NothingChanged: Error {}

  /// Queues a job, and waits for its commit without blocking the thread.
  ///
  /// - Parameter isCancellable: whether it does not run if the task is cancelled before its turn.
  func perform(_ work: WriteJob.Work, isCancellable: Bool = true) async throws {
    guard let writer else { throw StoreError.readOnly(directory) }
    let claim = Claim()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        claim.wait { continuation.resume(throwing: CancellationError()) }
        let isQueued = writer.enqueue(
          WriteJob(
            work, start: { claim.start() },
            finish: { error in
              if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }))
        if !isQueued, claim.start() { continuation.resume(throwing: StoreError.closed(directory)) }
      }
    } onCancel: {
      if isCancellable { claim.cancel() }
    }
  }

  /// Runs work in a transaction, and blocks the calling thread until its commit.
  func performBlocking(_ work: WriteJob.Work) throws {
    guard let writer else { throw StoreError.readOnly(directory) }
    precondition(!writer.isCurrent, "a write inside a write would deadlock")
    var outcome: (isDone: Bool, failure: (any Error)?) = (false, nil)
    let isQueued = withUnsafeMutablePointer(to: &outcome) { outcome in
      nonisolated(unsafe) let outcome = outcome
      let job = WriteJob(
        work, start: { true }, finish: { error in writer.answer { outcome.pointee = (true, error) } })
      return writer.enqueue(job, waitingUntil: { outcome.pointee.isDone })
    }
    guard isQueued else { throw StoreError.closed(directory) }
    if let failure = outcome.failure { throw failure }
  }

  /// The writer of a store that writes on the calling thread: a simulator holds it and lets it go.
  var writerOfCallingThread: StoreWriter {
    precondition(
      configuration.writesOnCallingThread,
      "only a store that writes on the calling thread can hold its writes")
    return writer!
  }
}
