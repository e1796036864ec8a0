package import OperationFormat

/// Keeps the rows of a fold in memory: for checks that need many small folds and no disk.
///
/// Rows are in sorted arrays: a look-up is a binary search, nothing is hashed, and a row that is written
/// again keeps its memory.
package final class MemoryFoldStorage: FoldStorage, RunStorage {
  /// A row and its key.
  package typealias Entry = SortedRows.Entry

  /// All rows: a value, so that it can be kept and put back.
  package struct Contents: Hashable, Sendable {
    /// Ascending by key: state, then name.
    package fileprivate(set) var records = SortedRows()
    /// Ascending by key.
    package fileprivate(set) var elements = SortedRows()
    /// Ascending by key.
    package fileprivate(set) var runs = SortedRows()
    /// The index of references, ascending by key.
    package fileprivate(set) var references = SortedRows()
    /// How many record numbers each state has given out.
    fileprivate var recordNumbers: [StateNumber: UInt32] = [:]

    package init() {}
  }

  package var contents = Contents()
  private let replicas: [ReplicaID]
  private let places: (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?
  private let runs: (UInt64) -> PlacedRun?
  private let placed: () -> UInt64
  private let lineages: (ReplicaNumber, UInt32) -> [LaneParent]

  /// Makes an empty storage.
  ///
  /// - Parameters:
  ///   - replicas: the identities; the first has number 1.
  ///   - runs: what is at an offset. It is called only for offsets that `placed` reaches.
  ///   - placed: up to where everything has its place.
  ///   - lineages: the identities that a replica's epoch continues.
  ///   - places: the place of a transaction (replica, epoch, sequence) in a zone's incarnation.
  package init(
    replicas: [ReplicaID],
    runs: @escaping (UInt64) -> PlacedRun? = { _ in nil },
    placed: @escaping () -> UInt64 = { 0 },
    lineages: @escaping (ReplicaNumber, UInt32) -> [LaneParent] = { _, _ in [] },
    places: @escaping (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?
  ) {
    self.replicas = replicas
    self.runs = runs
    self.placed = placed
    self.lineages = lineages
    self.places = places
  }

  package func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) -> [LaneParent] { lineages(replica, epoch) }

  // MARK: Records

  /// The rows of records, by state and name: a copy of all.
  var records: [StateNumber: [[UInt8]: [UInt8]]] {
    contents.records.reduce(into: [:]) { records, entry in
      let state = entry.key.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      records[StateNumber(rawValue: state), default: [:]][Array(entry.key.dropFirst(4))] = entry.row
    }
  }

  package func withRecord<R>(_ key: RawSpan, _ body: (StoredRow) throws -> R) rethrows -> R? {
    guard let row = contents.records[key] else { return nil }
    return try body(StoredRow(row.span.bytes))
  }

  package func writeRecord(_ row: RawSpan, _ key: RawSpan) {
    contents.records.write(row, key)
  }

  package func deleteRecord(_ key: RawSpan) { contents.records.remove(key) }

  package func makeRecordNumber(in state: StateNumber) -> UInt32 {
    contents.recordNumbers[state, default: 0] += 1
    return contents.recordNumbers[state, default: 0]
  }

  /// The whole row of a record in version 1, nil if there is none.
  package func row(of name: RawSpan, in state: StateNumber) throws -> [UInt8]? {
    let key = TableKey.record(state, name)
    guard let row = try withRecord(key.span, { try $0.withUnpacked { $0.bytes } }) else { return nil }
    if WideRow.isBase(row.span.bytes) {
      var whole = ByteWriter()
      whole.append(row)
      let number = try RecordRow.recordNumber(of: row.span.bytes)
      for (_, block) in elements(under: .blocks(of: state, record: number)) {
        try WideRow.append(block.span.bytes, to: &whole)
      }
      return WideRow.whole(whole.bytes)
    }
    guard DividedRow.isBase(row.span.bytes) else { return row }
    let apart = ElementKey.registers(of: state, record: try RecordRow.recordNumber(of: row.span.bytes))
    let registers = readElement(apart) ?? []
    return try DividedRow.whole(row.span.bytes, registers.span.bytes)
  }

  // MARK: Elements

  package func readElement(_ key: ElementKey) -> [UInt8]? {
    contents.elements[key.bytes.span.bytes]
  }

  package func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let row = contents.elements[key.bytes.span.bytes] else { return nil }
    return try body(row.span.bytes)
  }

  package func writeElement(_ row: RawSpan, _ key: ElementKey) {
    contents.elements.write(row, key.bytes.span.bytes)
  }

  package func deleteElement(_ key: ElementKey) {
    contents.elements.remove(key.bytes.span.bytes)
  }

  package func elements(under prefix: ElementKey) -> [(key: ElementKey, row: [UInt8])] {
    var found: [(key: ElementKey, row: [UInt8])] = []
    forEachEntry(under: prefix, from: prefix) { entry in
      found.append((ElementKey(bytes: entry.key), entry.row))
      return true
    }
    return found
  }

  private func forEachEntry(
    under prefix: ElementKey, from key: ElementKey, _ body: (Entry) throws -> Bool
  ) rethrows {
    try contents.elements.forEach(from: key.bytes.span.bytes) { entry in
      try entry.key.starts(with: prefix.bytes) && body(entry)
    }
  }

  package func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try forEachEntry(under: prefix, from: key) { entry in
      let (key, row) = (entry.key, entry.row)
      return try body(key.span.bytes, row.span.bytes)
    }
  }

  package func element(
    atMost key: ElementKey, under prefix: ElementKey
  ) -> (found: (key: ElementKey, row: [UInt8])?, next: ElementKey?) {
    func entry(at place: SortedRows.Place?) -> Entry? {
      let entry = place.flatMap { contents.elements.entry(at: $0) }
      return entry.flatMap { $0.key.starts(with: prefix.bytes) ? $0 : nil }
    }
    let (place, isThere) = contents.elements.find(key.bytes.span.bytes)
    let found = entry(at: isThere ? place : contents.elements.before(place))
    let next = entry(at: isThere ? contents.elements.after(place) : place)
    return (found.map { (ElementKey(bytes: $0.key), $0.row) }, next.map { ElementKey(bytes: $0.key) })
  }

  package func firstElement(under prefix: ElementKey) -> (key: ElementKey, row: [UInt8])? {
    let place = contents.elements.find(prefix.bytes.span.bytes).place
    guard let entry = contents.elements.entry(at: place), entry.key.starts(with: prefix.bytes) else {
      return nil
    }
    return (ElementKey(bytes: entry.key), entry.row)
  }

  // MARK: References

  package func readReference(_ key: ReferenceKey) -> [UInt8]? {
    contents.references[key.bytes.span.bytes]
  }

  package func writeReference(_ row: RawSpan, _ key: ReferenceKey) {
    contents.references.write(row, key.bytes.span.bytes)
  }

  package func deleteReference(_ key: ReferenceKey) {
    contents.references.remove(key.bytes.span.bytes)
  }

  // MARK: Rows of units

  package func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let row = contents.runs[key] else { return nil }
    return try body(row.span.bytes)
  }

  package func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    let (found, isThere) = contents.runs.find(key)
    guard let place = isThere ? found : contents.runs.before(found) else { return nil }
    let entry = contents.runs[place]
    let there = entry.key.span.bytes
    guard there.byteCount >= prefixBytes,
      equalBytes(there.extracting(..<prefixBytes), key.extracting(..<prefixBytes))
    else { return nil }
    return try body(there, entry.row.span.bytes)
  }

  package func forEachRun(
    under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    let start = prefix.bytes
    try contents.runs.forEach(from: prefix) { entry in
      guard entry.key.starts(with: start) else { return false }
      try body(entry.key.span.bytes, entry.row.span.bytes)
      return true
    }
  }

  package func writeRun(_ row: RawSpan, _ key: RawSpan) { contents.runs.write(row, key) }

  package func deleteRun(_ key: RawSpan) {
    contents.runs.remove(key)
  }

  package func elementKeys(in range: Range<ElementKey>) -> [ElementKey] {
    var keys: [ElementKey] = []
    contents.elements.forEach(from: range.lowerBound.bytes.span.bytes) { entry in
      let key = ElementKey(bytes: entry.key)
      guard key < range.upperBound else { return false }
      keys.append(key)
      return true
    }
    return keys
  }

  // MARK: Causality

  package func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) -> UInt64? {
    places(replica, epoch, sequence, zone, incarnation)
  }

  package func placedThrough(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) -> UInt64? { placed() }

  package func placedRuns(
    at offsets: ClosedRange<UInt64>, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) -> [PlacedRun] { offsets.compactMap(runs) }

  // Nothing is kept of what was reduced.
  package func noteRetiming(in state: StateNumber) {}

  package func replicaID(_ number: ReplicaNumber) -> ReplicaID { replicas[Int(number.rawValue) - 1] }

  package func replicaNumber(of replica: ReplicaID) -> ReplicaNumber? {
    replicas.firstIndex(of: replica).map { ReplicaNumber(rawValue: UInt32($0 + 1)) }
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
