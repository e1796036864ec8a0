import LMDB

extension LocalStore {
  /// Runs a closure that reads a snapshot of the store: all of it as it was after one commit.
  ///
  /// It runs at once, on the calling thread, and never waits for a write. While it runs, the space of what
  /// later writes replace cannot be used again: keep it short.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { try core.read(body) }

  /// Opens a snapshot that lasts beyond one closure.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  package func beginHeldRead() throws -> HeldRead {
    try StoreError.translating { HeldRead(try core.beginRead()) }
  }

  /// The clock of the store's configuration, in milliseconds since 1970.
  package func wallMilliseconds() -> Int64 { core.configuration.wallMilliseconds() }

  /// What a closure reads, now and again whenever that may be another. What it has read decides that, so that it
  /// may read anything.
  ///
  /// ```swift
  /// for try await titles in local.values({ tx in try tx.records(in: zone).map { $0["title"] } }) {
  ///   show(titles)
  /// }
  /// ```
  public func values<R: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) -> ObservedValues<R> {
    allValues(body)
  }

  /// As `values(_:)` of any closure, without an element that is equal to the one before.
  public func values<R: Sendable & Equatable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) -> ObservedValues<R> {
    ObservedValues(hub, isSame: ==, body)
  }

  /// What a closure reads, also where that is equal to what it read before.
  package func allValues<R: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) -> ObservedValues<R> {
    ObservedValues(hub, body)
  }

  /// What a closure reads now, and whether it may be another later, where the store writes on the calling thread:
  /// ``lookAtCommits()`` finds out.
  package func watchedRead<R>(
    _ body: @escaping (borrowing ReadTransaction) throws -> R
  ) throws -> WatchedRead<R> {
    try WatchedRead(hub, body)
  }

  /// Looks at the commits since the last call, where no task does.
  package func lookAtCommits() { hub.lookAtCommits() }

  /// The commits of the store from now on, also those of other processes.
  public var commits: Commits { Commits(core) }

  /// The id of the store's last commit, by this process or any other, that a read sees. It only grows.
  ///
  /// - Throws: ``StoreError`` `closed`.
  package var lastCommitID: UInt64 {
    get throws { try StoreError.translating { try core.environment.visibleTransactionID } }
  }

  /// Calls a closure after each commit of this process, as long as what it returns is held.
  ///
  /// The closure runs on the writer's thread, and the next write waits for it: it must be quick, and must not
  /// write. Commits of other processes show only in ``lastCommitID``.
  package func onCommit(_ handler: @escaping @Sendable () -> Void) -> CommitObservation {
    core.observers.add(handler)
  }
}
