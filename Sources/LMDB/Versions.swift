/// Tables that keep the values that their keys had.
///
/// | table | key | value |
/// |---|---|---|
/// | of the keys | the key | its number (8), the first version that has it (8) |
/// | versions | number (8), complement of the version (8) | the value, and 1; or 0 alone where the key was removed |
/// | versions | 0 (8), 0 (8) | the last number (8) |
/// | branches | number (8), branch (8) | as in versions |
///
/// Integers are big-endian. So the versions of a key are together, the last one first, and long keys are stored once.
/// It is what stores with multiversion concurrency control do (Bernstein and Goodman: Multiversion concurrency control,
/// 1983), with the keys apart. A key that only branches have has the greatest version as its first.
extension TransactionState {
  /// A key's value in the transaction's version and branch; nil if it has none.
  func version(of key: RawSpan, _ table: Table) throws(LMDBError) -> UnsafeRawBufferPointer? {
    guard let known = try knownKey(key, table) else { return nil }
    return try value(of: known, table) { () throws(LMDBError) in
      let cursor = try calls.openCursor(readable, table.versions)
      defer { calls.closeCursor(cursor) }
      return try value(of: known.number, cursor)
    }
  }

  /// A key's value in the branch, or else in the version.
  fileprivate func value(
    of known: KnownKey, _ table: Table, _ inVersion: () throws(LMDBError) -> UnsafeRawBufferPointer?
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if branch > 0 {
      let found = try withBytes(known.number, branch) { key throws(LMDBError) in
        try calls.get(readable, table.branches, key)
      }
      if let found { return try content(of: found) }
    }
    return known.first <= version ? try inVersion() : nil
  }

  /// The value of a key's number in the version; nil if it has none.
  fileprivate func value(of number: UInt64, _ cursor: Calls.Handle) throws(LMDBError)
    -> UnsafeRawBufferPointer?
  {
    let found = try withBytes(number, ~version) { key throws(LMDBError) in
      try calls.move(cursor, .atOrAfter(key))
    }
    guard let found else { return nil }
    try guardEntry(found)
    guard found.key.count == 16 else { throw damaged("a version has a key of another length") }
    guard bigEndian(found.key, at: 0) == number else { return nil }
    return try content(of: found.value)
  }

  /// A value without its mark; nil for that of a removal.
  private func content(of marked: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeRawBufferPointer? {
    try guardBytes(marked)
    guard let mark = marked.last else { throw damaged("a version has no value") }
    return mark == 0 ? nil : UnsafeRawBufferPointer(rebasing: marked.dropLast())
  }

  /// What is known of a key, in any version or branch; nil if none has it.
  private func knownKey(_ key: RawSpan, _ table: Table) throws(LMDBError) -> KnownKey? {
    let number = number(of: table)
    let found = try key.withUnsafeBytes { key throws(LMDBError) in
      key.isEmpty ? nil : try calls.get(readable, number, key)
    }
    return try found.map { found throws(LMDBError) in try knownKey(found) }
  }

  fileprivate func knownKey(_ row: UnsafeRawBufferPointer) throws(LMDBError) -> KnownKey {
    try guardBytes(row)
    guard row.count == 16 else { throw damaged("a key with versions has no number") }
    return KnownKey(number: bigEndian(row, at: 0), first: bigEndian(row, at: 8))
  }

  // MARK: Writing

  /// Puts an entry into the transaction's version, or its branch.
  func putVersion(
    _ value: RawSpan, _ key: RawSpan, _ table: Table, _ options: PutOptions
  ) throws(LMDBError) {
    if options.contains(.absentOnly), try version(of: key, table) != nil {
      throw LMDBError(code: .keyExists, call: "mdb_put", path: environment.directory)
    }
    // Copied before anything is written: it may be in a page that the writing changes.
    let marked = value.withUnsafeBytes { Array($0) } + [1]
    try put(marked, at: try makeNumber(for: key, table), table)
  }

  /// Removes an entry from the transaction's version, or its branch; returns whether it had it.
  func removeVersion(_ key: RawSpan, _ table: Table) throws(LMDBError) -> Bool {
    guard try version(of: key, table) != nil, let known = try knownKey(key, table) else { return false }
    try put([0], at: known.number, table)
    return true
  }

  private func put(_ marked: [UInt8], at number: UInt64, _ table: Table) throws(LMDBError) {
    if branch > 0 {
      try put(marked, number, branch, in: table.branches)
    } else {
      try put(marked, number, ~version, in: table.versions)
    }
  }

  private func put(
    _ value: [UInt8], _ number: UInt64, _ version: UInt64, in table: UInt32
  ) throws(LMDBError) {
    let handle = try writable()
    try withBytes(number, version) { key throws(LMDBError) in
      try value.span.bytes.withUnsafeBytes { value throws(LMDBError) in
        try calls.put(handle, table, key, value, [])
      }
    }
  }

  /// The number of a key that the transaction's version, or its branch, is to have.
  private func makeNumber(for key: RawSpan, _ table: Table) throws(LMDBError) -> UInt64 {
    let first = branch > 0 ? UInt64.max : version
    let known = try knownKey(key, table)
    if let known, known.first <= first { return known.number }
    let number = if let known { known.number } else { try takeNumber(table) }
    let handle = try writable()
    try withBytes(number, first) { row throws(LMDBError) in
      try key.withUnsafeBytes { key throws(LMDBError) in
        try calls.put(handle, self.number(of: table), key, row, [])
      }
    }
    return number
  }

  private func takeNumber(_ table: Table) throws(LMDBError) -> UInt64 {
    let last = try withBytes(0, 0) { key throws(LMDBError) in try calls.get(readable, table.versions, key) }
    if let last, last.count != 8 {
      throw damaged("the last number of a table with versions has another length")
    }
    let number = (last.map { bigEndian($0, at: 0) } ?? 0) + 1
    try put(withUnsafeBytes(of: number.bigEndian) { Array($0) }, 0, 0, in: table.versions)
    return number
  }
}

/// A key's row: its number, and the first version that has it.
private struct KnownKey {
  let number: UInt64
  let first: UInt64
}

private func bigEndian(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
  UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
}

private func withBytes<R>(
  _ first: UInt64, _ second: UInt64, _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
) throws(LMDBError) -> R {
  var words = (first.bigEndian, second.bigEndian)
  return try withUnsafeBytes(of: &words, body)
}

/// Finds the values of the keys of a table that keeps versions.
final class VersionCursor {
  private let table: Table
  private let handle: Calls.Handle
  private let transaction: TransactionState

  init(of table: Table, _ begun: Calls.Handle, _ transaction: TransactionState) throws(LMDBError) {
    (self.table, self.transaction) = (table, transaction)
    handle = try transaction.calls.openCursor(begun, table.versions)
  }

  deinit {
    if transaction.environment.isForked { return }
    if transaction.isReadOnly || transaction.handle != nil { transaction.calls.closeCursor(handle) }
  }

  /// The value of an entry of the table of keys, in the transaction's version and branch; nil if it has none.
  func value(of entry: Entry) throws(LMDBError) -> UnsafeRawBufferPointer? {
    let known = try transaction.knownKey(entry.value)
    return try transaction.value(of: known, table) { () throws(LMDBError) in
      try transaction.value(of: known.number, handle)
    }
  }

  func remove(_ key: [UInt8]) throws(LMDBError) {
    _ = try transaction.removeVersion(key.span.bytes, table)
  }
}
