/// Reading the store as it was.
extension LocalStore {
  /// The store as it was at a position of its log.
  ///
  /// The first call folds the log up to the position, into files beside the store. From then on each position up to
  /// there is near: at most some hundreds of transactions are folded. Where the store is open for reading alone, the
  /// files are temporary.
  ///
  /// - Parameters:
  ///   - position: the last position that counts; ``Position/start`` for the empty store.
  ///   - progress: called now and then with how many transactions are done, of how many; what it throws ends the
  ///     work. What is done stays done.
  /// - Throws: ``StoreError`` `positionUnknown`, `retired`, `closed`, `damaged`, `full`, `system`; `CancellationError`.
  /// - Complexity: linear in the transactions up to the position that were not folded yet.
  public func snapshot(
    at position: Position,
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> StoreSnapshot {
    try await core.fileThreads.run(.waits) { [core] call in
      try StoreSnapshot(of: core, at: position) { done, total in
        try call.checkCancellation()
        try progress(done, total)
      }
    }
  }

  /// The store as it was at a time, by when transactions arrived here.
  ///
  /// Where the clock was set back in between, it is one of the places that fit.
  ///
  /// - Parameters:
  ///   - milliseconds: since 1970.
  ///   - progress: as there.
  /// - Throws: as ``snapshot(at:progress:)``.
  public func snapshot(
    asOf milliseconds: Int64,
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> StoreSnapshot {
    try await snapshot(at: read { try $0.lastPosition(arrivedBy: milliseconds) }, progress: progress)
  }

  /// Removes the files in which the past was folded, and gives their space back. It is folded again when somebody asks
  /// for it.
  ///
  /// - Throws: ``StoreError`` `closed`.
  public func removePast() throws { try core.removePast() }

  /// The same as ``snapshot(at:progress:)`` on the calling thread.
  public func snapshotBlockingThisThread(
    at position: Position, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) throws -> StoreSnapshot {
    try StoreSnapshot(of: core, at: position, progress: progress)
  }

  /// Reads a new fold of the whole log up to a position, which is removed then: slow, and the oracle of snapshots.
  /// Floors do not count there.
  package func withScratchFold<R>(
    through position: Position, _ body: (borrowing ReadTransaction) throws -> R
  ) throws -> R {
    try core.read { source in
      try ScratchFold(
        of: source, .all(through: position, compacts: false), core.snapshots,
        in: core.configuration.scratchDirectory
      ) { _, _ in }
      .read(body)
    }
  }

  /// Pins the store as it is now, for a screen that reads in parts while others write.
  ///
  /// - Parameters:
  ///   - holder: who holds it, in the app's words.
  ///   - budget: how long it may hold the space of what others replace, and what comes then.
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  public func pin(_ holder: String, budget: PinBudget = PinBudget()) throws -> PinnedRead {
    try PinnedRead(core, holder, budget)
  }
}
