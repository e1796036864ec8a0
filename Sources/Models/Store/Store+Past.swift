public import EventStore

/// What there was, and taking it back.
extension Store {
  /// The store as it was at a position of its log: it answers the same queries. See
  /// `LocalStore.snapshot(at:progress:)`.
  public func snapshot(
    at position: Position,
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> StoreSnapshot {
    try await local.snapshot(at: position, progress: progress)
  }

  /// Pins the store as it is now, for a screen that reads in parts while others write. See
  /// `LocalStore.pin(_:budget:)`.
  public func pin(_ holder: String, budget: PinBudget = PinBudget()) throws -> PinnedRead {
    try local.pin(holder, budget: budget)
  }

  /// The transactions that have changed a record, the last one first.
  ///
  /// - Parameters:
  ///   - ref: the record.
  ///   - position: only those before this position; nil for all.
  ///   - limit: how many at most.
  /// - Throws: `StoreError` `zoneUnknown`, `closed`, `damaged`, `system`.
  /// - Complexity: linear in the transactions of the record's zone up to the last one that it returns.
  public func history<M: Model>(
    of ref: Ref<M>, before position: Position? = nil, limit: Int = .max
  ) throws -> [LogEntry] {
    var entries: [LogEntry] = []
    guard limit > 0 else { return entries }
    try read { tx in
      try tx.historyBackward(before: position, record: ref.record) { entry in
        entries.append(entry)
        return entries.count < limit
      }
    }
    return entries
  }

  /// What the store's author can take back and bring back, the last write first: also writes of before the app was
  /// started.
  ///
  /// - Parameter levels: how many writes it goes back.
  public func undoManager(levels: Int = 100) -> StoreUndoManager {
    local.undoManager(author: author, levels: levels, schemaVersion: schema)
  }

  /// Takes a transaction of this store back. See `LocalStore.undo(_:author:schemaVersion:)`.
  @discardableResult
  public func undo(_ position: Position) async throws -> UndoReport {
    try await local.undo(position, author: author, schemaVersion: schema)
  }

  /// Brings back what was taken back. See `LocalStore.redo(_:author:schemaVersion:)`.
  @discardableResult
  public func redo(_ position: Position) async throws -> UndoReport {
    try await local.redo(position, author: author, schemaVersion: schema)
  }
}
