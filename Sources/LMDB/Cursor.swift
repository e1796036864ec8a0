/// A position in a table. The keys are ordered as unsigned bytes, a prefix before a longer key.
///
/// A cursor is on an entry, or on none: before the first, after the last, where an entry was deleted, or
/// nowhere because it has not moved yet. Do not use it after its transaction has ended.
package struct Cursor: ~Copyable {
  private enum Position {
    case nowhere, entry, start, end, deleted
  }

  private let handle: Calls.Handle
  private let transaction: TransactionState
  /// Finds the values in a table that keeps versions; nil in others.
  private let versions: VersionCursor?
  /// What the keys that are of interest begin with.
  private let prefix: [UInt8]
  private var position = Position.nowhere

  /// Whether LMDB may have marked its cursor as being at the end. The mark stays, even if a later put adds
  /// entries.
  private var isEndMarked = false

  /// The entry's bytes; valid while the transaction's change count equals `changeCount`.
  @usableFromInline private(set) var entry: Entry?
  private var changeCount = 0

  init(handle: Calls.Handle, transaction: TransactionState, versions: VersionCursor?, prefix: [UInt8]) {
    self.handle = handle
    self.transaction = transaction
    self.versions = versions
    self.prefix = prefix
  }

  deinit {
    // A write transaction closes its own cursors when it ends.
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

  /// Moves to the next entry, or from nowhere to the first; false at the end. (mdb_cursor_get)
  package mutating func next() throws(LMDBError) -> Bool {
    switch position {
    case .nowhere, .start: try move(.first, orElse: .end)
    case .entry, .deleted: try isEndMarked && isOutdated ? nextAfterEndMark() : move(.next, orElse: .end)
    case .end: false
    }
  }

  /// Moves to the previous entry, or from nowhere to the last; false at the start. (mdb_cursor_get)
  package mutating func previous() throws(LMDBError) -> Bool {
    switch position {
    case .nowhere, .end: try last()
    case .entry, .deleted: try move(.previous, orElse: .start)
    case .start: false
    }
  }

  /// Moves to the first entry whose key is equal or greater. Without one, moves to the end and returns false.
  /// (mdb_cursor_get)
  package mutating func seek(atOrAfter key: RawSpan) throws(LMDBError) -> Bool {
    if key.isEmpty { return try first() }
    return try key.withUnsafeBytes { key throws(LMDBError) in try move(.atOrAfter(key), orElse: .end) }
  }

  /// Moves to the entry with this key. Without one, moves to nowhere and returns false. (mdb_cursor_get)
  package mutating func seek(to key: RawSpan) throws(LMDBError) -> Bool {
    try key.withUnsafeBytes { key throws(LMDBError) in
      guard key.isEmpty else { return try move(.to(key), orElse: .nowhere) }
      stand(.nowhere)
      return false
    }
  }

  /// Moves to the last entry whose key is less. Without one, moves to the start and returns false.
  /// (mdb_cursor_get)
  package mutating func seek(before key: RawSpan) throws(LMDBError) -> Bool {
    if key.isEmpty {
      stand(.start)
      return false
    }
    _ = transaction.readable
    stand(.nowhere)
    // Whether that one has a value in the version does not matter.
    let behind = try key.withUnsafeBytes { key throws(LMDBError) in
      try transaction.calls.move(handle, .atOrAfter(key))
    }
    guard let behind else { return try last() }
    try transaction.guardEntry(behind)
    return try move(.previous, orElse: .start)
  }

  /// Passes the entry's key and value to a closure without a copy. They are valid inside the closure, until
  /// the transaction's next write.
  ///
  /// The cursor must be on an entry. After writes of the transaction, LMDB decides which entry that is; if
  /// that entry was deleted, move the cursor first.
  @inlinable
  package borrowing func withEntry<R>(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> R) rethrows -> R {
    let entry = current()
    return try body(entry.key.bytes, entry.value.bytes)
  }

  /// Deletes the entry; `next` and `previous` then move to its neighbours, unless something was put
  /// meanwhile: then seek first. (mdb_cursor_del)
  package mutating func deleteCurrent() throws(LMDBError) {
    precondition(position == .entry, "the cursor is not on an entry")
    if let versions {
      try versions.remove(Array(current().key))
      return stand(.deleted)
    }
    let isMarkWrong = isEndMarked && isOutdated
    _ = try transaction.writable()
    try transaction.calls.deleteCurrent(handle)
    stand(.deleted)
    // If that was the last entry, LMDB marks the cursor as at the end. That is right until something else is
    // written.
    isEndMarked = true
    if !isMarkWrong { changeCount = transaction.changeCount }
  }

  // MARK: Helpers

  private mutating func move(_ step: Calls.Step, orElse miss: Position) throws(LMDBError) -> Bool {
    _ = transaction.readable
    stand(.nowhere)
    var next = Optional(step)
    while let step = next, var found = try transaction.calls.move(handle, step) {
      try transaction.guardEntry(found)
      if let versions {
        guard let value = try versions.value(of: found) else {
          next = found.key.starts(with: prefix) ? step.further : nil
          continue
        }
        found.value = value
      }
      stand(at: found)
      return true
    }
    position = miss
    isEndMarked = true
    return false
  }

  /// Whether the transaction has changed something since the cursor moved.
  private var isOutdated: Bool { changeCount != transaction.changeCount }

  /// Moves to the next entry when LMDB's mark for the end may be wrong: LMDB drops the mark when the cursor
  /// moves back.
  private mutating func nextAfterEndMark() throws(LMDBError) -> Bool {
    let isDeleted = position == .deleted
    let hasPrevious = try transaction.calls.move(handle, .previous) != nil
    if isDeleted { return hasPrevious ? try move(.next, orElse: .end) : try first() }
    if hasPrevious { _ = try transaction.calls.move(handle, .next) }
    return try move(.next, orElse: .end)
  }

  private mutating func stand(at found: Entry) {
    entry = found
    changeCount = transaction.changeCount
    position = .entry
    isEndMarked = false
  }

  private mutating func stand(_ position: Position) {
    self.position = position
    entry = nil
  }

  /// The entry's bytes; read again if the transaction has changed something since the cursor moved.
  @usableFromInline
  borrowing func current() -> Entry {
    _ = transaction.readable
    precondition(position == .entry, "the cursor is not on an entry")
    if let entry, !isOutdated { return entry }
    do throws(LMDBError) {
      if var found = try transaction.calls.move(handle, .current) {
        guard let versions else { return found }
        if let value = try versions.value(of: found) {
          found.value = value
          return found
        }
      }
      preconditionFailure("the cursor's entry was deleted by other means")
    } catch {
      preconditionFailure("the cursor's entry was deleted by other means: \(error)")
    }
  }
}
