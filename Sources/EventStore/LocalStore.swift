import LMDB
import OperationFormat

/// A store on this machine: an operation log, and the records that are its fold.
///
/// Open one for a directory, write in closures, read in closures:
///
/// ```swift
/// let store = try LocalStore(directory: "notes.store", durability: .durable)
/// let note = RecordID(zone: ZoneID(name: "notes"), name: "first")
/// try await store.write { tx in
///   try tx.createZone(note.zone)
///   try tx.create(note, type: "note", fields: ["title": "Hello"])
/// }
/// let title = try store.read { tx in try tx.value(of: "title", in: note) }
/// ```
///
/// Writes of many tasks are committed together; reads never wait for them. One process opens a store once;
/// several processes may open the same store.
public final class LocalStore: Sendable {
  /// The directory that holds the store.
  public let directory: String
  public let durability: Durability
  /// Which replica this store is.
  public let identity: StoreIdentity

  let environment: Environment
  let tables: Tables
  private let interned = Interned()
  private let writer: StoreWriter?
  let configuration: StoreConfiguration
  let observers = CommitObservers()
  let assets: AssetFiles
  /// Whether all pages of the data file were checked since the store was opened.
  let hasCheckedPages = Shared(false)
  /// Where files are read, written and hashed that may be large.
  package let assetThreads: BlockingThreads

  /// The most threads that work at files at one time.
  private static let assetThreadsMax = 4

  /// The version of the format of a store that this code reads and writes.
  public static let formatVersion: UInt64 = 2

  /// Opens the store of a directory, or makes one there.
  ///
  /// - Parameters:
  ///   - directory: path of the directory; the one above it must exist.
  ///   - durability: what a commit that returned means in a power cut.
  ///   - configuration: what else may be chosen.
  ///
  /// If the log has operations that a former version kept and did not know, and this one does, it is folded again before
  /// the call returns, unless the store is opened read-only.
  /// - Throws: ``StoreError`` `alreadyOpen`, `notAStore`, `newerFormat`, `importUnfinished`, `damaged`, `readOnly`,
  ///   `full`, `system`.
  public init(
    directory: String, durability: Durability, configuration: StoreConfiguration = StoreConfiguration()
  ) throws {
    self.directory = directory
    self.durability = durability
    self.configuration = configuration
    assets = AssetFiles(
      directory: directory, isSynced: !configuration.isUnsynced,
      calls: configuration.assetCalls, makeRandom: configuration.makeRandom)
    assetThreads = BlockingThreads(
      countMax: configuration.writesOnCallingThread ? 0 : Self.assetThreadsMax)
    do {
      let opened = try OpenedStore(directory, durability, configuration)
      environment = opened.environment
      tables = opened.tables
      identity = opened.identity
    } catch {
      throw StoreError.translate(error)
    }
    guard !configuration.isReadOnly else {
      writer = nil
      return
    }
    let (environment, tables, identity, interned, observers, assets) = (
      environment, tables, identity, interned, observers, assets
    )
    let makePerform: @Sendable () -> PerformWrites = {
      var changesPublished = -1
      let store = StoreTransaction(
        storage: TableStorage(tables: tables), identity: identity, assetFiles: assets,
        wallMilliseconds: configuration.wallMilliseconds, makeRandom: configuration.makeRandom)
      if let steps = configuration.foldStepsMax {
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
    do {
      try foldWhatIsKnownNow()
    } catch {
      throw StoreError.translate(error)
    }
    do throws(AssetFileError) {
      try assets.sweepIncoming()
    } catch {
      // What crashes left stays until the next opening: no reason not to work.
    }
  }

  deinit { close() }

  /// Closes the store once what waits is written. Reads that are open go on to their end; later calls throw
  /// `closed`.
  public func close() {
    writer?.stop()
    environment.close()
  }

  // MARK: Writing

  /// Runs a closure that writes, and commits what it did.
  ///
  /// The closure runs once, on the store's thread or that of another write, with no other write at the same time; it must
  /// not wait for anything. Writes of many tasks that wait are committed together. If it throws, nothing of it remains
  /// and the error is thrown on. A task that is cancelled before its turn throws `CancellationError`, and its
  /// closure does not run; after that, cancellation has no effect.
  ///
  /// - Returns: what the closure returns, once it is committed by the store's ``durability``.
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `readOnly`, `full`, `transactionTooLarge`,
  ///   `commitFailed`, `commitUncertain`, `removed`.
  public func write<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    let result = Shared<R?>(nil)
    try await perform(.local { write in result.value = try Self.run(body, in: write) })
    return result.value!
  }

  /// As ``write(_:)``, but blocks the calling thread until the commit. For tools, tests, and threads of your own: in an
  /// app's tasks it takes a thread from the others.
  ///
  /// Where nothing else is being written the closure runs on the calling thread, and no other thread is waited for.
  @inlinable
  public func writeBlockingThisThread<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) throws -> R {
    // The call ends after the closure has: what that comes to can lie here.
    var result: R?
    try withUnsafeMutablePointer(to: &result) { result in
      nonisolated(unsafe) let result = result
      try writeBlocking { transaction in result.pointee = try body(&transaction) }
    }
    return result!
  }

  @usableFromInline
  func writeBlocking(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws {
    try performBlocking(.local { write in try Self.run(body, in: write) })
  }

  /// Runs the closure of a write.
  private static func run<R>(
    _ body: (inout WriteTransaction) throws -> R, in write: LocalWrite
  ) throws -> R {
    write.begin()
    var transaction = WriteTransaction(write)
    let result = try body(&transaction)
    try write.end(
      author: transaction.author, label: transaction.label, schemaVersion: transaction.schemaVersion)
    return result
  }

  /// Runs work of the store's own in a transaction, and commits it. It may run again.
  func perform<R: Sendable>(_ work: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    let result = Shared<R?>(nil)
    try await perform(.repeatable { store in result.value = try work(store) })
    return result.value!
  }

  private func perform(_ work: WriteJob.Work) async throws {
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
      claim.cancel()
    }
  }

  /// Runs work in a transaction, and blocks the calling thread until its commit.
  func performBlocking(_ work: WriteJob.Work) throws {
    guard let writer else { throw StoreError.readOnly(directory) }
    precondition(!writer.isCurrent, "a write inside a write would wait for itself for ever")
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

  /// Does what may turn out to change nothing: then nothing is committed, and nobody is told of a change.
  ///
  /// - Parameter work: gives nil if it has changed nothing.
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

  /// Lets writes queue up until ``releaseWrites()``, so that they share a commit. For a simulator's store, which must
  /// be one that writes on the calling thread.
  package func holdWrites() { writerOfCallingThread.hold() }

  /// Does the writes that queued up, as one group, before it returns.
  package func releaseWrites() { writerOfCallingThread.release() }

  private var writerOfCallingThread: StoreWriter {
    precondition(
      configuration.writesOnCallingThread,
      "only a store that writes on the calling thread can hold its writes")
    return writer!
  }

  // MARK: Reading

  /// Runs a closure that reads a snapshot of the store: all of it as it was after one commit.
  ///
  /// It runs at once, on the calling thread, and never waits for a write. While it runs, the space of what later
  /// writes replace cannot be used again: keep it short.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
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
}
