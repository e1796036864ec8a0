package import OperationFormat

/// Keeps the rows of a fold in memory: for checks that need many small folds and no disk.
///
/// Rows lie in sorted arrays: a look-up is a binary search, nothing is hashed, and a row that is written again
/// keeps its memory.
package final class MemoryFoldStorage: FoldStorage, RunStorage {
  /// A row and its key.
  package struct Entry: Hashable, Sendable {
    package var key: [UInt8]
    package var row: [UInt8]
  }

  /// All rows: a value, so that it can be kept and put back.
  package struct Contents: Hashable, Sendable {
    /// Ascending by key: state, then name.
    package fileprivate(set) var records: [Entry] = []
    /// Ascending by key.
    package fileprivate(set) var elements: [Entry] = []
    /// Ascending by key.
    package fileprivate(set) var runs: [Entry] = []
    /// The index of references, ascending by key.
    package fileprivate(set) var references: [Entry] = []
    /// How many record numbers each state has given out.
    fileprivate var recordNumbers: [StateNumber: UInt32] = [:]

    package init() {}
  }

  package var contents = Contents()
  private let replicas: [ReplicaID]
  private let places: (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?

  /// Makes an empty storage.
  ///
  /// - Parameters:
  ///   - replicas: the identities; the first has number 1.
  ///   - places: the place of a transaction (replica, epoch, sequence) in a zone's incarnation.
  package init(
    replicas: [ReplicaID],
    places: @escaping (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?
  ) {
    self.replicas = replicas
    self.places = places
  }

  // MARK: Records

  /// The rows of records, by state and name: a copy of all.
  package var records: [StateNumber: [[UInt8]: [UInt8]]] {
    contents.records.reduce(into: [:]) { records, entry in
      let state = entry.key.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      records[StateNumber(rawValue: state), default: [:]][Array(entry.key.dropFirst(4))] = entry.row
    }
  }

  package func readRecord(_ key: RawSpan, into row: inout [UInt8]) -> Bool {
    let (index, isThere) = Self.find(key, in: contents.records)
    guard isThere else { return false }
    row.removeAll(keepingCapacity: true)
    row.append(contentsOf: contents.records[index].row)
    return true
  }

  package func writeRecord(_ row: RawSpan, _ key: RawSpan) {
    Self.write(row, key, to: &contents.records)
  }

  package func makeRecordNumber(in state: StateNumber) -> UInt32 {
    contents.recordNumbers[state, default: 0] += 1
    return contents.recordNumbers[state, default: 0]
  }

  /// The whole row of a record, nil if there is none.
  package func row(of name: RawSpan, in state: StateNumber) throws -> [UInt8]? {
    let key = TableKey.record(state, name)
    guard let row = Self.row(key.span, in: contents.records) else { return nil }
    guard DividedRow.isBase(row.span.bytes) else { return row }
    let apart = ElementKey.registers(of: state, record: try RecordLayout.recordNumber(of: row.span.bytes))
    let registers = readElement(apart) ?? []
    return try DividedRow.whole(row.span.bytes, registers.span.bytes)
  }

  // MARK: Elements

  package func readElement(_ key: ElementKey) -> [UInt8]? {
    Self.row(key.bytes.span.bytes, in: contents.elements)
  }

  package func writeElement(_ row: RawSpan, _ key: ElementKey) {
    Self.write(row, key.bytes.span.bytes, to: &contents.elements)
  }

  package func deleteElement(_ key: ElementKey) {
    Self.remove(key.bytes.span.bytes, from: &contents.elements)
  }

  package func elements(under prefix: ElementKey) -> [(key: ElementKey, row: [UInt8])] {
    if contents.elements.isEmpty { return [] }
    return contents.elements[Self.find(prefix.bytes.span.bytes, in: contents.elements).index...]
      .prefix { $0.key.starts(with: prefix.bytes) }
      .map { (ElementKey(bytes: $0.key), $0.row) }
  }

  // MARK: References

  package func readReference(_ key: ReferenceKey) -> [UInt8]? {
    Self.row(key.bytes.span.bytes, in: contents.references)
  }

  package func writeReference(_ row: RawSpan, _ key: ReferenceKey) {
    Self.write(row, key.bytes.span.bytes, to: &contents.references)
  }

  package func deleteReference(_ key: ReferenceKey) {
    Self.remove(key.bytes.span.bytes, from: &contents.references)
  }

  // MARK: Rows of sequences

  package func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let row = Self.row(key, in: contents.runs) else { return nil }
    return try body(row.span.bytes)
  }

  package func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    let (place, isThere) = Self.find(key, in: contents.runs)
    let index = isThere ? place : place - 1
    guard index >= 0 else { return nil }
    let entry = contents.runs[index]
    let found = entry.key.span.bytes
    guard found.byteCount >= prefixBytes,
      equalBytes(found.extracting(..<prefixBytes), key.extracting(..<prefixBytes))
    else { return nil }
    return try body(found, entry.row.span.bytes)
  }

  package func forEachRun(
    under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    let start = prefix.bytes
    for entry in contents.runs[Self.find(prefix, in: contents.runs).index...] {
      guard entry.key.starts(with: start) else { return }
      try body(entry.key.span.bytes, entry.row.span.bytes)
    }
  }

  package func writeRun(_ row: RawSpan, _ key: RawSpan) { Self.write(row, key, to: &contents.runs) }

  package func deleteRun(_ key: RawSpan) {
    Self.remove(key, from: &contents.runs)
  }

  package func elementKeys(in range: Range<ElementKey>) -> [ElementKey] {
    let start = Self.find(range.lowerBound.bytes.span.bytes, in: contents.elements).index
    let end = Self.find(range.upperBound.bytes.span.bytes, in: contents.elements).index
    return contents.elements[start..<end].map { ElementKey(bytes: $0.key) }
  }

  // MARK: Causality

  package func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) -> UInt64? {
    places(replica, epoch, sequence, zone, incarnation)
  }

  // Nothing is kept of what was reduced.
  package func noteRetiming(in state: StateNumber) {}

  package func replicaID(_ number: ReplicaNumber) -> ReplicaID { replicas[Int(number.rawValue) - 1] }

  package func replicaNumber(of replica: ReplicaID) -> ReplicaNumber? {
    replicas.firstIndex(of: replica).map { ReplicaNumber(rawValue: UInt32($0 + 1)) }
  }

  // MARK: Sorted rows

  private static func row(_ key: RawSpan, in entries: [Entry]) -> [UInt8]? {
    let (index, isThere) = find(key, in: entries)
    return isThere ? entries[index].row : nil
  }

  private static func remove(_ key: RawSpan, from entries: inout [Entry]) {
    let (index, isThere) = find(key, in: entries)
    if isThere { entries.remove(at: index) }
  }

  private static func write(_ row: RawSpan, _ key: RawSpan, to entries: inout [Entry]) {
    let (index, isThere) = find(key, in: entries)
    if isThere {
      entries[index].row.replace(with: row)
    } else {
      entries.insert(Entry(key: key.bytes, row: row.bytes), at: index)
    }
  }

  /// Where a key is, or belongs.
  private static func find(_ key: RawSpan, in entries: [Entry]) -> (index: Int, isThere: Bool) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      let there = entries[middle].key
      let order = compareBytes(there.span.bytes, key)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}

/// The fold's verbs, compiled for this storage: a call from another module would run the generic code.
extension Fold where Storage == MemoryFoldStorage {
  package mutating func createInMemory(
    _ record: RawSpan, in state: StateNumber, type: NameNumber, index: UInt32
  ) throws {
    try create(record, in: state, type: type, index: index)
  }

  package mutating func deleteInMemory(
    _ record: RawSpan, in state: StateNumber, movedTo place: RawSpan, index: UInt32
  ) throws {
    try delete(record, in: state, movedTo: place, index: index)
  }

  package mutating func changeInMemory(
    _ kind: OperationKind, _ field: NameNumber, of record: RawSpan, in state: StateNumber, type: NameNumber,
    operand: RawSpan, index: UInt32
  ) throws {
    try change(kind, field, of: record, in: state, type: type, operand: operand, index: index)
  }
}

extension RawSpan {
  /// A copy.
  package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

extension [UInt8] {
  fileprivate mutating func replace(with bytes: RawSpan) {
    removeAll(keepingCapacity: true)
    bytes.withUnsafeBytes { append(contentsOf: $0) }
  }
}
