package import OperationFormat

/// Keeps the rows of a fold in memory: for checks that need many small folds and no disk.
///
/// Rows lie in sorted arrays: a look-up is a binary search, nothing is hashed, and a row that is written again
/// keeps its memory.
package final class MemoryFoldStorage: FoldStorage {
  /// A record's row and where it lies.
  package struct RecordEntry: Hashable, Sendable {
    package var state: StateNumber
    package var name: [UInt8]
    package var row: [UInt8]
  }

  /// An element's row and its key.
  package struct ElementEntry: Hashable, Sendable {
    package var key: [UInt8]
    package var row: [UInt8]
  }

  /// All rows: a value, so that it can be kept and put back.
  package struct Contents: Hashable, Sendable {
    /// Ascending by state, then name.
    package fileprivate(set) var records: [RecordEntry] = []
    /// Ascending by key.
    package fileprivate(set) var elements: [ElementEntry] = []
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
    contents.records.reduce(into: [:]) { $0[$1.state, default: [:]][$1.name] = $1.row }
  }

  package func readRecord(_ name: RawSpan, in state: StateNumber, into row: inout [UInt8]) -> Bool {
    let (index, isThere) = findRecord(name, in: state)
    guard isThere else { return false }
    row.removeAll(keepingCapacity: true)
    row.append(contentsOf: contents.records[index].row)
    return true
  }

  package func writeRecord(_ row: RawSpan, _ name: RawSpan, in state: StateNumber) {
    let (index, isThere) = findRecord(name, in: state)
    if isThere {
      contents.records[index].row.replace(with: row)
    } else {
      contents.records.insert(RecordEntry(state: state, name: name.bytes, row: row.bytes), at: index)
    }
  }

  package func makeRecordNumber(in state: StateNumber) -> UInt32 {
    contents.recordNumbers[state, default: 0] += 1
    return contents.recordNumbers[state, default: 0]
  }

  /// The row of a record, nil if there is none.
  package func row(of name: RawSpan, in state: StateNumber) -> [UInt8]? {
    let (index, isThere) = findRecord(name, in: state)
    return isThere ? contents.records[index].row : nil
  }

  private func findRecord(_ name: RawSpan, in state: StateNumber) -> (index: Int, isThere: Bool) {
    Self.search(contents.records.count) { index in
      let found = contents.records[index].state
      if found != state { return found < state ? -1 : 1 }
      let there = contents.records[index].name
      return compareBytes(there.span.bytes, name)
    }
  }

  // MARK: Elements

  package func readElement(_ key: ElementKey) -> [UInt8]? {
    let (index, isThere) = findElement(key.bytes)
    return isThere ? contents.elements[index].row : nil
  }

  package func writeElement(_ row: RawSpan, _ key: ElementKey) {
    let (index, isThere) = findElement(key.bytes)
    if isThere {
      contents.elements[index].row.replace(with: row)
    } else {
      contents.elements.insert(ElementEntry(key: key.bytes, row: row.bytes), at: index)
    }
  }

  package func deleteElement(_ key: ElementKey) {
    let (index, isThere) = findElement(key.bytes)
    if isThere { contents.elements.remove(at: index) }
  }

  package func elements(under prefix: ElementKey) -> [(key: ElementKey, row: [UInt8])] {
    if contents.elements.isEmpty { return [] }
    return contents.elements[findElement(prefix.bytes).index...]
      .prefix { $0.key.starts(with: prefix.bytes) }
      .map { (ElementKey(bytes: $0.key), $0.row) }
  }

  private func findElement(_ key: [UInt8]) -> (index: Int, isThere: Bool) {
    Self.search(contents.elements.count) { index in
      let there = contents.elements[index].key
      return compareBytes(there.span.bytes, key.span.bytes)
    }
  }

  // MARK: Causality

  package func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) -> UInt64? {
    places(replica, epoch, sequence, zone, incarnation)
  }

  package func replicaID(_ number: ReplicaNumber) -> ReplicaID { replicas[Int(number.rawValue) - 1] }

  /// Where something is, or belongs, in `count` sorted entries.
  private static func search(_ count: Int, _ compare: (Int) -> Int) -> (index: Int, isThere: Bool) {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let order = compare(middle)
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

  package mutating func deleteInMemory(_ record: RawSpan, in state: StateNumber, index: UInt32) throws {
    try delete(record, in: state, index: index)
  }

  package mutating func setInMemory(
    _ field: NameNumber, of record: RawSpan, in state: StateNumber, type: NameNumber, value: RawSpan,
    index: UInt32
  ) throws {
    try set(field, of: record, in: state, type: type, value: value, index: index)
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
