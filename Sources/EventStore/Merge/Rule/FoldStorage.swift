package import OperationFormat

/// The rows that the fold reads and writes: those of the store's write transaction, of a scratch fold of the
/// past, or memory.
package protocol FoldStorage: RowReading, RunStorage {
  /// Calls a closure with the row of a record; nil if there is none.
  ///
  /// - Parameter key: the state's number (4 bytes, big-endian) and the record's name.
  func withRecord<R>(_ key: RawSpan, _ body: (StoredRow) throws -> R) throws -> R?
  /// Writes the row of a record, of either version: see ``StoredRow``.
  func writeRecord(_ row: RawSpan, _ key: RawSpan) throws
  /// The same for a record after all that its state has.
  func appendRecord(_ row: RawSpan, _ key: RawSpan) throws
  func deleteRecord(_ key: RawSpan) throws
  /// Returns the next record number of a state, from 1.
  func makeRecordNumber(in state: StateNumber) throws -> UInt32

  func writeElement(_ row: RawSpan, _ key: ElementKey) throws
  func deleteElement(_ key: ElementKey) throws
  /// All element rows whose key begins with `prefix`, in key order.
  func elements(under prefix: ElementKey) throws -> [(key: ElementKey, row: [UInt8])]
  /// The keys of all element rows from one up to and without another, in order.
  func elementKeys(in range: Range<ElementKey>) throws -> [ElementKey]
  /// The last element row at or before a key, and the key of the one after it; both only if they begin with
  /// `prefix`.
  func element(
    atMost key: ElementKey, under prefix: ElementKey
  ) throws -> (found: (key: ElementKey, row: [UInt8])?, next: ElementKey?)
  /// The first element row whose key begins with `prefix`.
  func firstElement(under prefix: ElementKey) throws -> (key: ElementKey, row: [UInt8])?

  func readReference(_ key: ReferenceKey) throws -> [UInt8]?
  func writeReference(_ row: RawSpan, _ key: ReferenceKey) throws
  func deleteReference(_ key: ReferenceKey) throws

  /// The first place of a transaction in an incarnation of its zone's remote log, if it has one here.
  func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> UInt64?
  /// The identities that a replica's epoch continues, each with the last sequence it held.
  func lineage(of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber) throws -> [LaneParent]
  /// The offset up to which everything in an incarnation of a zone's remote log has its place here, so that
  /// no place up to there will ever change; nil if nothing of the incarnation has a place.
  func placedThrough(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> UInt64?
  /// What is at some offsets of an incarnation, as far as it is known.
  func placedRuns(
    at offsets: ClosedRange<UInt64>, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> [PlacedRun]
  /// Notes that a contribution of a state got another timestamp: what was reduced in their order may be
  /// another now.
  func noteRetiming(in state: StateNumber) throws
  /// What keeps the indexes; nil if there are none.
  func indexUpkeep() throws -> (any RecordUpkeep)?
  /// Whether somebody wants to know which records change.
  var notesChanges: Bool { get }
  /// Notes that a field of a record is about to change, or all of it.
  ///
  /// - Parameter key: that of its row.
  func noteChange(_ key: RawSpan, field: NameNumber?)

  /// The number of a replica, nil if it has none: then nothing of it was folded.
  func replicaNumber(of replica: ReplicaID) throws -> ReplicaNumber?
}

/// Transactions at one offset of a remote log: a run of one replica's sequences.
package struct PlacedRun: Hashable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32
  var sequences: ClosedRange<UInt64>

  package init(replica: ReplicaNumber, epoch: UInt32, sequences: ClosedRange<UInt64>) {
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
  }
}

extension FoldStorage {
  // A fold in memory has no indexes and no observers.
  package func appendRecord(_ row: RawSpan, _ key: RawSpan) throws { try writeRecord(row, key) }
  package func indexUpkeep() throws -> (any RecordUpkeep)? { nil }
  package var notesChanges: Bool { false }
  package func noteChange(_ key: RawSpan, field: NameNumber?) {}
}
