import EventStore
import OperationFormat

/// Counts the requests of a fold to its storage.
final class CountingFoldStorage: FoldStorage {
  private let storage: MemoryFoldStorage
  /// How often a transaction's place was looked up.
  private(set) var lookUps = 0
  /// How many element rows were read.
  private(set) var elementsRead = 0
  /// How many element rows were written or deleted.
  private(set) var elementsChanged = 0
  /// How many bytes of rows of elements and records were read or written.
  private(set) var bytesMoved = 0

  init(_ storage: MemoryFoldStorage) { self.storage = storage }

  /// How many element rows there are.
  var elementCount: Int { storage.contents.elements.count }

  func withRecord<R>(_ key: RawSpan, _ body: (StoredRow) throws -> R) throws -> R? {
    try storage.withRecord(key) { row in
      bytesMoved += row.byteCount
      return try body(row)
    }
  }

  func writeRecord(_ row: RawSpan, _ key: RawSpan) {
    bytesMoved += row.byteCount
    storage.writeRecord(row, key)
  }

  func deleteRecord(_ key: RawSpan) { storage.deleteRecord(key) }

  func lineage(of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber) -> [LaneParent] {
    storage.lineage(of: replica, epoch, in: zone)
  }

  func makeRecordNumber(in state: StateNumber) -> UInt32 { storage.makeRecordNumber(in: state) }

  func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R? {
    elementsRead += 1
    guard let row = storage.readElement(key) else { return nil }
    bytesMoved += row.count
    return try body(row.span.bytes)
  }

  func writeElement(_ row: RawSpan, _ key: ElementKey) {
    elementsChanged += 1
    bytesMoved += row.byteCount
    storage.writeElement(row, key)
  }

  func deleteElement(_ key: ElementKey) {
    elementsChanged += 1
    storage.deleteElement(key)
  }

  func elements(under prefix: ElementKey) -> [(key: ElementKey, row: [UInt8])] {
    let found = storage.elements(under: prefix)
    elementsRead += found.count
    return found
  }

  func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    try storage.forEachElement(under: prefix, from: key) { key, row in
      elementsRead += 1
      return try body(key, row)
    }
  }

  func readReference(_ key: ReferenceKey) -> [UInt8]? { storage.readReference(key) }

  func writeReference(_ row: RawSpan, _ key: ReferenceKey) { storage.writeReference(row, key) }

  func deleteReference(_ key: ReferenceKey) { storage.deleteReference(key) }

  func elementKeys(in range: Range<ElementKey>) -> [ElementKey] {
    let found = storage.elementKeys(in: range)
    elementsRead += found.count
    return found
  }

  func element(
    atMost key: ElementKey, under prefix: ElementKey
  ) -> (found: (key: ElementKey, row: [UInt8])?, next: ElementKey?) {
    elementsRead += 1
    let element = storage.element(atMost: key, under: prefix)
    bytesMoved += element.found?.row.count ?? 0
    return element
  }

  func firstElement(under prefix: ElementKey) -> (key: ElementKey, row: [UInt8])? {
    elementsRead += 1
    return storage.firstElement(under: prefix)
  }

  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try storage.withRun(key, body)
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (RawSpan, RawSpan) throws -> R
  ) throws -> R? {
    try storage.withLastRun(atMost: key, prefixBytes: prefixBytes, body)
  }

  func forEachRun(under prefix: RawSpan, _ body: (RawSpan, RawSpan) throws -> Void) throws {
    try storage.forEachRun(under: prefix, body)
  }

  func writeRun(_ row: RawSpan, _ key: RawSpan) throws { storage.writeRun(row, key) }

  func deleteRun(_ key: RawSpan) throws { storage.deleteRun(key) }

  func replicaNumber(of replica: ReplicaID) -> ReplicaNumber? { storage.replicaNumber(of: replica) }

  func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) -> UInt64? {
    lookUps += 1
    return storage.offset(of: replica, epoch, sequence, in: zone, incarnation)
  }

  func placedThrough(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) -> UInt64? {
    storage.placedThrough(zone, incarnation)
  }

  func placedRuns(
    at offsets: ClosedRange<UInt64>, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) -> [PlacedRun] {
    let runs = storage.placedRuns(at: offsets, of: zone, incarnation)
    lookUps += runs.count
    return runs
  }

  func noteRetiming(in state: StateNumber) { storage.noteRetiming(in: state) }

  func replicaID(_ number: ReplicaNumber) -> ReplicaID { storage.replicaID(number) }
}
