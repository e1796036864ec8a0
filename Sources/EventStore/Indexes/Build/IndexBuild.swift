import LMDB
import OperationFormat

/// Builds an index over the records that are there, in steps, while others read and write.
///
/// From its declaration on every write keeps it, also for records that it does not have yet. A build reads
/// records in a snapshot, some at a time, sorts what they have in the index, and writes it in small commits.
/// A record may have changed since the snapshot: then its new entries are there already, and each old one has
/// a note, which the build heeds. The notes go when all is built. Two processes may build one index: only a
/// part that begins where the stored mark is counts.
struct IndexBuild {
  /// How many bytes of entries are sorted at a time, and at most written by one commit.
  static let partBytesMax = 32 << 20
  /// How many records are read at a time.
  fileprivate static let recordsMax: UInt64 = 1 << 18
  private static let entriesAtOnce = 8192
  private static let removedAtOnce = 10_000

  /// The indexes that damaged records keep from being built, and the first error.
  struct Damage {
    fileprivate(set) var indexes: Set<IndexNumber> = []
    fileprivate(set) var first: (any Error)?
  }

  let core: StoreCore
  /// How many bytes of entries are sorted at a time.
  var partBytes = partBytesMax

  init(_ core: StoreCore) { self.core = core }

  /// Does a part of what is to be done, in several commits. Blocks the calling thread.
  ///
  /// - Parameter damage: which indexes earlier steps could not build. They do not keep the others waiting.
  /// - Returns: the index that it worked on, and how many records were read; nil if there was nothing to do.
  /// - Throws: the first damage, once all other indexes are built.
  func step(_ damage: inout Damage) throws -> (index: StoredIndex, records: UInt64)? {
    let left = try core.read { try $0.readView.indexes.all().filter { $0.status != .built } }
    guard let index = left.first(where: { !damage.indexes.contains($0.number) }) else {
      if let first = damage.first { throw first }
      return nil
    }
    do {
      return try step(index)
    } catch let error where (StoreError.translate(error) as? StoreError)?.code == .damaged {
      damage.indexes.insert(index.number)
      damage.first = damage.first ?? error
      return (index, 0)
    }
  }

  private func step(_ index: StoredIndex) throws -> (index: StoredIndex, records: UInt64) {
    let number = index.number
    if index.status == .removed {
      _ = try perform { try Self.removeSome(of: number, $0) }
      return (index, 0)
    }
    if index.mark == .end {
      _ = try perform { try Self.finishSome(of: number, $0) }
      return (index, 0)
    }
    return (index, try build(index))
  }

  private func perform<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) throws -> R {
    let result = Shared<R?>(nil)
    try core.performBlocking(.repeatable { store in result.value = try body(store) })
    return result.value!
  }

  private static func removeSome(of number: IndexNumber, _ store: StoreTransaction) throws {
    try store.flush()
    let storage = store.storage
    var left = removedAtOnce
    for state in try storage.states.all() {
      for prefix in [IndexEntry.prefix(state, number), IndexEntry.notesPrefix(state, number)] {
        try storage.indexes.removeRows(under: prefix, &left)
      }
    }
    if left > 0 { try storage.indexes.removeDefinition(of: number) }
  }

  /// Builds a part of an index.
  ///
  /// - Returns: how many records it has read.
  private func build(_ index: StoredIndex) throws -> UInt64 {
    let part = try core.read { try IndexPartReader($0, index, bytesMax: partBytes).read() }
    var place = 0
    while place < part.entries.count {
      let range = place..<min(part.entries.count, place + Self.entriesAtOnce)
      // Another process may have built the part meanwhile.
      guard try perform({ try Self.write(part, range, of: index, $0) }) else { return 0 }
      place = range.upperBound
    }
    try perform { store in
      try store.flush()
      let indexes = store.storage.indexes
      guard try indexes.isAt(index.mark, index.number), var row = try indexes.stored(index.number) else {
        return
      }
      row.mark = part.next ?? .end
      row.referenceParts |= part.referenceParts
      try indexes.put(row)
    }
    return part.recordCount
  }

  /// Writes some entries of a part.
  ///
  /// - Returns: false if another process has built the part meanwhile.
  static func write(
    _ part: IndexPartRead, _ range: Range<Int>, of index: StoredIndex, _ store: StoreTransaction
  ) throws -> Bool {
    let storage = store.storage
    guard try storage.indexes.isAt(index.mark, index.number) else { return false }
    // Of the records that the fold holds, the entries are not written yet.
    try store.flush()
    guard try storage.states.storedRowIfThere(of: part.state) != nil else { return true }
    let hasNotes = try storage.indexes.hasEntry(under: IndexEntry.notesPrefix(part.state, index.number))
    try part.forEachEntry(in: range) { key, row in
      if hasNotes, try storage.indexes.isChanged(key) { return }
      try storage.indexes.putIfAbsent(row, key)
    }
    return true
  }

  /// Removes notes of an index whose entries are all there.
  private static func finishSome(of number: IndexNumber, _ store: StoreTransaction) throws {
    try store.flush()
    let storage = store.storage
    guard try storage.indexes.isAt(.end, number), var row = try storage.indexes.stored(number) else { return }
    var left = removedAtOnce
    for state in try storage.states.all() {
      try storage.indexes.removeRows(under: IndexEntry.notesPrefix(state, number), &left)
    }
    guard left > 0 else { return }
    row.status = .built
    row.mark = IndexMark()
    try storage.indexes.put(row)
  }
}

extension IndexMark {
  /// Behind all records.
  static let end = IndexMark(state: StateNumber(rawValue: .max), name: "")
}

/// Entries of a part of the records, sorted.
struct IndexPartRead: Sendable {
  let state: StateNumber
  /// Keys and rows, one behind the other.
  fileprivate let bytes: [UInt8]
  /// Where they begin, in the order of the keys.
  fileprivate(set) var entries: [IndexPlace]
  let recordCount: UInt64
  /// See ``StoredIndex/referenceParts``.
  let referenceParts: UInt8
  /// The last record that was read; nil if there are no more.
  let next: IndexMark?

  func forEachEntry(in range: Range<Int>, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void) throws {
    let all = bytes.span.bytes
    for place in entries[range] {
      let key = Int(place.start)..<Int(place.start) + Int(place.keyBytes)
      try body(all.extracting(key), all.extracting(key.upperBound..<key.upperBound + Int(place.rowBytes)))
    }
  }
}

/// Where an entry is.
struct IndexPlace: Sendable {
  /// The first eight bytes behind the prefix, which decide most comparisons.
  let head: UInt64
  let start: UInt32
  let keyBytes: UInt16
  let rowBytes: UInt16
}

/// Reads the entries that some records have in an index.
struct IndexPartReader {
  private let view: ReadView
  private let index: StoredIndex
  private let bytesMax: Int

  init(_ transaction: borrowing ReadTransaction, _ index: StoredIndex, bytesMax: Int) {
    view = ReadView(
      transaction.transaction.alias(), tables: transaction.tables, interned: transaction.readView.interned,
      showsAll: true)
    (self.index, self.bytesMax) = (index, bytesMax)
  }

  /// Reads from the index's mark on, to the end of a state or until there are enough.
  func read() throws -> IndexPartRead {
    var mark = index.mark
    while true {
      guard let state = try view.states.first(atOrAfter: mark.state) else {
        return IndexPartRead(
          state: mark.state, bytes: [], entries: [], recordCount: 0, referenceParts: 0, next: nil)
      }
      if state != mark.state { mark = IndexMark(state: state) }
      let part = try read(after: mark)
      if part.recordCount > 0 || !part.entries.isEmpty || part.next == nil { return part }
      guard let next = part.next else { return part }
      mark = next
    }
  }

  private func read(after mark: IndexMark) throws -> IndexPartRead {
    let state = mark.state
    let nextState = state.rawValue < .max ? IndexMark(state: StateNumber(rawValue: state.rawValue + 1)) : nil
    guard try view.states.storedRow(of: state).status != .discarded else {
      return IndexPartRead(
        state: state, bytes: [], entries: [], recordCount: 0, referenceParts: 0, next: nextState)
    }
    // An own view of the state: its zone may have two while it is folded again.
    let view = ReadView(
      view.transaction.alias(), tables: view.tables, interned: view.interned, showsAll: true)
    let prepared = try PreparedIndex(index, view)
    let types = Set(prepared.types)
    let zone = try view.show(state, of: view.zone(of: state))
    let reader = RecordReader(view)
    var bytes = ByteWriter()
    var maker = IndexedRecord()
    var places: [IndexPlace] = []
    var (count, referenceParts): (UInt64, UInt8) = (0, 0)
    var next: IndexMark?
    let after = mark.name == "" ? nil : mark.name
    try view.forEachStoredRow(in: state, after: after) { name, row in
      count += 1
      if let type = try view.alive(row, state)?.type, types.contains(type) {
        try view.withRow(row, ofFields: prepared.fields, state) { row in
          guard let record = try RecordView(row, name: name, zone: zone, state, view) else { return }
          let flags = try view.flags(inIndexesOf: row, state)
          try maker.forEachEntry(of: record, in: prepared, state, flags, reader) { key, row in
            places.append(
              IndexPlace(
                head: Self.head(of: key), start: UInt32(bytes.count), keyBytes: UInt16(key.byteCount),
                rowBytes: UInt16(row.byteCount)))
            bytes.append(key)
            bytes.append(row)
          }
          referenceParts |= maker.referenceParts
        }
      }
      guard bytes.count < bytesMax, count < IndexBuild.recordsMax else {
        next = IndexMark(state: state, name: try Name(utf8: name))
        return false
      }
      return true
    }
    let all = bytes.bytes
    sort(&places, all)
    return IndexPartRead(
      state: state, bytes: all, entries: places, recordCount: count, referenceParts: referenceParts,
      next: next ?? nextState)
  }

  private static func head(of key: RawSpan) -> UInt64 {
    var head: UInt64 = 0
    for offset in IndexEntry.prefixBytes..<IndexEntry.prefixBytes + 8 {
      let byte = offset < key.byteCount ? key.unsafeLoad(fromByteOffset: offset, as: UInt8.self) : 0
      head = head << 8 | UInt64(byte)
    }
    return head
  }

  private func sort(_ places: inout [IndexPlace], _ bytes: [UInt8]) {
    let all = bytes.span.bytes
    places.sort { a, b in
      if a.head != b.head { return a.head < b.head }
      let (start, other) = (Int(a.start), Int(b.start))
      return compareBytes(
        all.extracting(start..<start + Int(a.keyBytes)), all.extracting(other..<other + Int(b.keyBytes))) < 0
    }
  }
}
