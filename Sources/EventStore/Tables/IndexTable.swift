import LMDB
import OperationFormat

/// The rows of indexes: under state 0 what they are, and behind it their entries.
struct IndexTable<Source: TableReading>: TableView {
  let source: Source

  /// All indexes, in the order of their numbers.
  func all() throws -> [StoredIndex] {
    guard let table = tables.indexes else { return [] }
    var found: [StoredIndex] = []
    var cursor = try transaction.openCursor(table)
    var isThere = try cursor.seek(atOrAfter: IndexEntry.prefix(.none, 1).span.bytes)
    while isThere {
      let index = try cursor.withEntry { key, row -> StoredIndex? in
        guard key.byteCount == IndexEntry.prefixBytes, try key.bigEndian32(at: 0) == 0 else { return nil }
        let number = IndexNumber(try key.bigEndian32(at: 2) & 0xffff)
        return try tables.readIndexes.index(number, of: row) {
          try StoredIndex(CheckedRow.content(of: row, under: key), number)
        }
      }
      guard let index else { break }
      found.append(index)
      isThere = try cursor.next()
    }
    return found
  }

  /// An index by its number; nil if there is none.
  func stored(_ number: IndexNumber) throws -> StoredIndex? {
    guard let table = tables.indexes else { return nil }
    let key = IndexEntry.prefix(.none, number)
    return try transaction.withValue(of: key.span.bytes, in: table) { row in
      try StoredIndex(CheckedRow.content(of: row, under: key.span.bytes), number)
    }
  }

  /// Whether there is an entry under a prefix.
  func hasEntry(under prefix: [UInt8]) throws -> Bool {
    guard let table = tables.indexes else { return false }
    return try transaction.hasEntry(in: table, under: prefix)
  }
}

extension IndexTable where Source == TableStorage {
  /// The table, which every store that is open for writing has.
  private var table: Table { tables.indexes! }

  /// Writes what an index is.
  func put(_ index: StoredIndex) throws {
    let former = try stored(index.number)
    if former?.status != index.status || former?.referenceParts != index.referenceParts {
      source.noteOtherView()
    }
    let key = IndexEntry.prefix(.none, index.number)
    var writer = ByteWriter()
    try index.append(to: &writer)
    writer.appendChecksum(under: key.span.bytes)
    try transaction.put(writer.span, for: key.span.bytes, in: table)
    source.forgetIndexes()
  }

  /// The number of the next index.
  func makeNumber() throws -> IndexNumber {
    let key = IndexEntry.prefix(.none, 0)
    let last = try transaction.withValue(of: key.span.bytes, in: table) { row in
      var reader = ByteReader(try CheckedRow.content(of: row, under: key.span.bytes))
      return try reader.readVarint("index.number", in: 0...UInt64(IndexNumber.max))
    }
    guard (last ?? 0) < UInt64(IndexEntry.numberMax) else {
      throw StoreError(
        .full, "the store has had \(IndexEntry.numberMax) indexes", hint: "sync a new store from the remote")
    }
    let next = (last ?? 0) + 1
    var writer = ByteWriter()
    writer.append(varint: next)
    writer.appendChecksum(under: key.span.bytes)
    try transaction.put(writer.span, for: key.span.bytes, in: table)
    return IndexNumber(next)
  }

  /// Removes the row that says what an index is.
  func removeDefinition(of number: IndexNumber) throws {
    source.noteOtherView()
    _ = try transaction.delete(IndexEntry.prefix(.none, number).span.bytes, in: table)
    source.forgetIndexes()
  }

  /// Notes that a record changed while an index is built, by the key of an entry that it has no more.
  func putChanged(_ key: RawSpan) throws {
    try transaction.put([0].span.bytes, for: IndexEntry.note(of: key).span.bytes, in: table)
  }

  /// Whether there is such a note.
  func isChanged(_ key: RawSpan) throws -> Bool {
    try transaction.contains(IndexEntry.note(of: key).span.bytes, in: table)
  }

  /// Whether an index is being built, and up to a place.
  func isAt(_ mark: IndexMark, _ number: IndexNumber) throws -> Bool {
    guard let index = try stored(number) else { return false }
    return index.status == .building && index.mark == mark
  }

  func putIfAbsent(_ row: RawSpan, _ key: RawSpan) throws {
    do throws(LMDBError) {
      try transaction.put(row, for: key, in: table, .absentOnly)
    } catch {
      guard error.code == .keyExists else { throw error }
    }
  }

  func put(_ row: RawSpan, _ key: RawSpan) throws { try transaction.put(row, for: key, in: table) }

  func delete(_ key: RawSpan) throws { _ = try transaction.delete(key, in: table) }

  /// Removes some of the rows under a prefix.
  ///
  /// - Parameter left: how many it may remove; less by those that it has removed.
  func removeRows(under prefix: [UInt8], _ left: inout Int) throws {
    try transaction.deleteEntries(in: table, under: prefix, &left)
  }
}
