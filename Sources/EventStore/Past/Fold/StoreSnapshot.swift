import LMDB
import OperationFormat

/// A store as it was at a position of its log.
///
/// It answers the same queries about records, conflicts and digests as the store. Its log is empty: the log is the
/// store's. Its zones are those that the store had when it was made. What the store has learnt since of the remote's receive times
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
    try core.retryingPast { try PastFold(core.past(), core).run(through: position, progress) }
  }

  /// Runs a closure that reads the past.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      while true {
        let past = try core.past()
        if let transaction = try? past.beginRead(at: position) {
          return try body(
            ReadTransaction(
              transaction, tables: past.tables, interned: Interned(), identity: core.identity))
        }
        // What was folded is gone: it was one of very many positions, something of the log is another now, or all of it
        // was removed.
        try core.retryingPast { try PastFold(core.past(), core).run(through: position) { _, _ in } }
      }
    } catch {
      let error = StoreError.translate(error)
      // The next read finds it made again.
      if (error as? StoreError)?.code == .damaged { try? core.removePast() }
      throw error
    }
  }
}
