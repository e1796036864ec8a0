/// Taking writes back.
extension LocalStore {
  /// Takes a transaction of this store back, by a new one that does the opposite. It is synced as any other.
  ///
  /// What others have written since stays, and so does what this store has: a field gets what it would have without the
  /// transaction, a counter the opposite amount. What was inserted into a set, a map, a list or a text goes, and what was
  /// removed comes back: a text at its place, an element of a list as a new element. Also a record that was created goes,
  /// unless somebody has changed it since, and one that was deleted comes back with all its fields. The report says what
  /// was left alone.
  ///
  /// If a write has changed several zones, it is taken back in all of them.
  ///
  /// - Parameters:
  ///   - position: of one of the transactions of a write.
  ///   - author: of the new transaction.
  ///   - schemaVersion: of the new transaction.
  /// - Throws: ``StoreError`` `positionUnknown`, `retired`, `notUndoable` for a transaction of another store, for one that
  ///   is taken back already and for one that takes another back; as ``write(_:)`` and ``snapshot(at:progress:)``.
  /// - Complexity: linear in the transactions since; the first call also folds the log, as a snapshot of the past does.
  @discardableResult
  public func undo(
    _ position: Position, author: String? = nil, schemaVersion: UInt64? = nil
  ) async throws -> UndoReport {
    try await UndoRun(core, author: author, schemaVersion: schemaVersion).run(position, undoes: true)
  }

  /// Brings back what ``undo(_:author:schemaVersion:)`` has taken back, in the same way.
  ///
  /// - Parameters:
  ///   - position: of the transaction that was undone.
  ///   - author: of the new transaction.
  ///   - schemaVersion: of the new transaction.
  /// - Throws: ``StoreError`` as there; `notUndoable` for a transaction that is not taken back.
  @discardableResult
  public func redo(
    _ position: Position, author: String? = nil, schemaVersion: UInt64? = nil
  ) async throws -> UndoReport {
    try await UndoRun(core, author: author, schemaVersion: schemaVersion).run(position, undoes: false)
  }

  /// What an author can take back, in the order of its writes.
  ///
  /// - Parameters:
  ///   - author: whose writes; nil for those of all authors of this store.
  ///   - levels: how many writes it goes back.
  ///   - schemaVersion: of the new transactions.
  public func undoManager(
    author: String? = nil, levels: Int = 100, schemaVersion: UInt64? = nil
  ) -> StoreUndoManager {
    StoreUndoManager(core, author: author, levels: levels, schemaVersion: schemaVersion)
  }
}
