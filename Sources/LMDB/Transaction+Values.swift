extension Transaction {
  /// Passes a key's value to a closure without a copy, or returns nil if the key does not exist. (mdb_get)
  ///
  /// The bytes are valid inside the closure, and only until the transaction's next write.
  ///
  /// - Throws: `.corrupted`, and what the closure throws.
  /// - Complexity: O(log n).
  @inlinable
  package borrowing func withValue<R>(
    of key: RawSpan, in table: Table, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    guard let value = try state.value(of: key, in: table) else { return nil }
    return try body(value.bytes)
  }

  /// Returns whether a key exists. (mdb_get)
  package borrowing func contains(_ key: RawSpan, in table: Table) throws(LMDBError) -> Bool {
    try state.value(of: key, in: table) != nil
  }

  /// Puts an entry, and replaces the one with the same key. (mdb_put)
  ///
  /// - Parameters:
  ///   - value: at most 2³² − 1 bytes.
  ///   - key: 1 to 511 bytes.
  /// - Throws: `.mapFull`, `.badValueSize`, `.keyExists` for an append out of order.
  package borrowing func put(
    _ value: RawSpan, for key: RawSpan, in table: Table, _ options: PutOptions = []
  ) throws(LMDBError) {
    if table.keepsVersions { return try state.putVersion(value, key, table, options) }
    let handle = try state.writable()
    let number = state.number(of: table)
    try key.withUnsafeBytes { key throws(LMDBError) in
      try value.withUnsafeBytes { value throws(LMDBError) in
        try state.calls.put(handle, number, key, value, options)
      }
    }
  }

  /// Deletes an entry; returns whether it existed. (mdb_del)
  package borrowing func delete(_ key: RawSpan, in table: Table) throws(LMDBError) -> Bool {
    if table.keepsVersions { return try state.removeVersion(key, table) }
    let handle = try state.writable()
    let number = state.number(of: table)
    return try key.withUnsafeBytes { key throws(LMDBError) in
      key.isEmpty ? false : try state.calls.delete(handle, number, key)
    }
  }

  /// Passes the entries of a table to a closure without copies, from the first whose key is equal or greater, until
  /// the closure returns false. It must not write. The bytes are valid inside the closure.
  ///
  /// - Parameter prefix: what the keys that are of interest begin with: see ``openCursor(_:within:)``.
  /// - Throws: `.corrupted`, and what the closure throws.
  @inlinable
  package borrowing func forEachEntry(
    in table: Table, from key: RawSpan, within prefix: @autoclosure () -> [UInt8] = [],
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    if let walk = try state.walk(of: table, from: key) {
      var walk = walk
      while let entry = try walk.next() {
        guard try body(entry.key.bytes, entry.value.bytes) else { return }
      }
      return
    }
    var cursor = try openCursor(table, within: prefix())
    guard try cursor.seek(atOrAfter: key) else { return }
    while try cursor.withEntry(body), try cursor.next() {}
  }

  /// Opens a cursor, which is not on an entry yet. (mdb_cursor_open)
  ///
  /// - Parameter prefix: what the keys that are of interest begin with. In a table that keeps versions, the cursor passes
  ///   over keys that have no value in the transaction's version, but not beyond those: it is as if there were no entry.
  package borrowing func openCursor(
    _ table: Table, within prefix: @autoclosure () -> [UInt8] = []
  ) throws(LMDBError) -> Cursor {
    let versions = table.keepsVersions ? try VersionCursor(of: table, state.begun(), state) : nil
    let cursor = try state.calls.openCursor(state.begun(), state.number(of: table))
    return Cursor(
      handle: cursor, transaction: state, versions: versions, prefix: versions == nil ? [] : prefix())
  }
}

extension TransactionState {
  /// A walk through a table from a key; nil if the transaction can have none.
  @usableFromInline
  func walk(of table: Table, from key: RawSpan) throws(LMDBError) -> EntryWalk? {
    guard !table.keepsVersions, let tree = try tree(of: table) else { return nil }
    return try EntryWalk(tree, from: key, pageBytes: environment.pageBytes, in: self)
  }

  /// The bytes of a key's value. LMDB refuses an empty key, so it never exists.
  @usableFromInline
  func value(of key: RawSpan, in table: Table) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if table.keepsVersions { return try version(of: key, table) }
    let handle = readable
    let number = number(of: table)
    let value = try key.withUnsafeBytes { key throws(LMDBError) in
      key.isEmpty ? nil : try calls.get(handle, number, key)
    }
    if let value { try guardBytes(value) }
    return value
  }
}
