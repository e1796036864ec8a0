import LMDB
import OperationFormat

/// A store as it was at a position of its log.
///
/// It answers the same queries about records, conflicts and digests as the store. Its log is empty: the log is the
/// store's. Its zones are those that the store has now. What the store has learnt since of the remote's receive times
/// counts here too. It can be read until the store is closed, and holds no read transaction between reads.
public final class StoreSnapshot: Sendable {
  /// The position of the last transaction that counts.
  public let position: Position

  private let core: StoreCore

  /// Folds what is missing.
  ///
  /// - Parameter progress: called now and then with how many transactions are done, of how many.
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`, `full`, `system`; what the closure throws.
  init(
    of core: StoreCore, at position: Position, progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    (self.core, self.position) = (core, position)
    try PastFold(core.past(), core).run(through: position, progress)
  }

  /// Runs a closure that reads the past.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      while true {
        let past = try core.past()
        if let transaction = try past.beginRead(at: position) {
          return try body(
            ReadTransaction(
              transaction, tables: past.tables, interned: past.interned, identity: core.identity))
        }
        // What was folded is gone: it was one of very many positions, or something of the log is another now.
        try PastFold(past, core).run(through: position) { _, _ in }
      }
    } catch {
      throw StoreError.translate(error)
    }
  }
}

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
  /// - Throws: ``StoreError`` `positionUnknown`, `closed`, `damaged`, `full`, `system`; `CancellationError`.
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
  /// - Parameter milliseconds: since 1970.
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
}
