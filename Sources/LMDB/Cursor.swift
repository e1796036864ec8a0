/// A place in a table's order of keys (bytes compared as unsigned, a prefix first).
///
/// It stands on an entry, or on none: before all, after all, where an entry was deleted, or nowhere yet. It must not
/// be used when its transaction has ended.
package struct Cursor: ~Copyable {
  private enum Position {
    case nowhere, entry, start, end, deleted
  }

  private let handle: Calls.Handle
  private let transaction: TransactionState
  private var position = Position.nowhere

  /// Whether LMDB may have marked its cursor as being at the end, a mark that outlives later puts.
  private var isEndMarked = false

  /// The entry's bytes as they were when `changeCount` was the transaction's.
  @usableFromInline private(set) var entry: Entry?
  private var changeCount = 0

  init(handle: Calls.Handle, transaction: TransactionState) {
    self.handle = handle
    self.transaction = transaction
  }

  deinit {
    // A write transaction that ends closes its cursors itself.
    if transaction.environment.isForked { return }
    if transaction.isReadOnly || transaction.handle != nil { transaction.calls.closeCursor(handle) }
  }

  /// Moves to the first entry; false if there is none. (mdb_cursor_get)
  package mutating func first() throws(LMDBError) -> Bool {
    try move(.first, orElse: .end)
  }

  /// Moves to the last entry; false if there is none. (mdb_cursor_get)
  package mutating func last() throws(LMDBError) -> Bool {
    defer { isEndMarked = true }
    return try move(.last, orElse: .start)
  }

  /// Moves to the entry after this one, to the first from nowhere; false at the end. (mdb_cursor_get)
  package mutating func next() throws(LMDBError) -> Bool {
    switch position {
    case .nowhere, .start: try move(.first, orElse: .end)
    case .entry, .deleted: try isEndMarked && isOutdated ? nextAnew() : move(.next, orElse: .end)
    case .end: false
    }
  }

  /// Moves to the entry before this one, to the last from nowhere; false at the start. (mdb_cursor_get)
  package mutating func previous() throws(LMDBError) -> Bool {
    switch position {
    case .nowhere, .end: try last()
    case .entry, .deleted: try move(.previous, orElse: .start)
    case .start: false
    }
  }

  /// Moves to the first entry whose key is not less; false, and to the end, if there is none. (mdb_cursor_get)
  package mutating func seek(atOrAfter key: RawSpan) throws(LMDBError) -> Bool {
    if key.isEmpty { return try first() }
    return try key.withUnsafeBytes { key throws(LMDBError) in try move(.atOrAfter(key), orElse: .end) }
  }

  /// Moves to the entry with this key; false, and to nowhere, if there is none. (mdb_cursor_get)
  package mutating func seek(to key: RawSpan) throws(LMDBError) -> Bool {
    try key.withUnsafeBytes { key throws(LMDBError) in
      guard key.isEmpty else { return try move(.to(key), orElse: .nowhere) }
      stand(.nowhere)
      return false
    }
  }

  /// Moves to the last entry whose key is less; false, and to the start, if there is none. (mdb_cursor_get)
  package mutating func seek(before key: RawSpan) throws(LMDBError) -> Bool {
    if key.isEmpty {
      stand(.start)
      return false
    }
    return try seek(atOrAfter: key) ? try previous() : try last()
  }

  /// Whether it stands on an entry.
  package var hasEntry: Bool { position == .entry }

  /// Gives the entry's key and value to a closure, in place: valid inside it, until the transaction's next write.
  ///
  /// The cursor must stand on an entry. After writes that did not go through this cursor, it is the entry that
  /// LMDB has left it at; if that one was deleted, move first.
  @inlinable
  package borrowing func withEntry<R>(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> R) rethrows -> R {
    let entry = current()
    return try body(entry.key.bytes, entry.value.bytes)
  }

  /// Deletes the entry; then `next` and `previous` move to its neighbours. (mdb_cursor_del)
  package mutating func deleteCurrent() throws(LMDBError) {
    precondition(position == .entry, "the cursor stands on no entry")
    let isMarkWrong = isEndMarked && isOutdated
    _ = try transaction.writable()
    try transaction.calls.deleteCurrent(handle)
    stand(.deleted)
    // LMDB marks the cursor if that was the last entry, and is right as long as nothing else is written.
    isEndMarked = true
    if !isMarkWrong { changeCount = transaction.changeCount }
  }

  /// Puts an entry, in place of one with the same key, and moves to it. (mdb_cursor_put)
  ///
  /// - Throws: as `Transaction.put`; then it stands nowhere.
  package mutating func put(
    _ value: RawSpan, for key: RawSpan, _ options: PutOptions = []
  ) throws(LMDBError) {
    _ = try transaction.writable()
    stand(.nowhere)
    try key.withUnsafeBytes { key throws(LMDBError) in
      try value.withUnsafeBytes { value throws(LMDBError) in
        try transaction.calls.put(handle, key, value, options)
      }
    }
    position = .entry
  }

  // MARK: Helpers

  private mutating func move(_ step: Calls.Step, orElse miss: Position) throws(LMDBError) -> Bool {
    _ = transaction.readable
    stand(.nowhere)
    guard let found = try transaction.calls.move(handle, step) else {
      position = miss
      isEndMarked = true
      return false
    }
    try transaction.guardBytes(found.key)
    try transaction.guardBytes(found.value)
    entry = found
    changeCount = transaction.changeCount
    position = .entry
    isEndMarked = false
    return true
  }

  /// Whether there were changes since the cursor moved.
  private var isOutdated: Bool { changeCount != transaction.changeCount }

  /// Moves to the entry after this one where LMDB's mark may be wrong: it forgets it when it goes back.
  private mutating func nextAnew() throws(LMDBError) -> Bool {
    let isDeleted = position == .deleted
    let hasPrevious = try transaction.calls.move(handle, .previous) != nil
    if isDeleted { return hasPrevious ? try move(.next, orElse: .end) : try first() }
    if hasPrevious { _ = try transaction.calls.move(handle, .next) }
    return try move(.next, orElse: .end)
  }

  private mutating func stand(_ position: Position) {
    self.position = position
    entry = nil
  }

  /// The entry's bytes, asked for anew if there were changes since the cursor moved.
  @usableFromInline
  borrowing func current() -> Entry {
    _ = transaction.readable
    precondition(position == .entry, "the cursor stands on no entry")
    if let entry, !isOutdated { return entry }
    do throws(LMDBError) {
      if let found = try transaction.calls.move(handle, .current) { return found }
      preconditionFailure("the cursor's entry was deleted by other means")
    } catch {
      preconditionFailure("the cursor's entry was deleted by other means: \(error)")
    }
  }
}
