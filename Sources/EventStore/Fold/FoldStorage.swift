package import OperationFormat

/// What the fold needs from whoever keeps the rows: the store's write batch, a scratch fold of the past, or
/// memory.
package protocol FoldStorage: AnyObject {
  /// Replaces `row` by the row of a record, if it has one.
  ///
  /// - Parameter key: the state's number (4 bytes, big-endian) and the record's name.
  func readRecord(_ key: RawSpan, into row: inout [UInt8]) throws -> Bool
  func writeRecord(_ row: RawSpan, _ key: RawSpan) throws
  /// Gives out the next record number of a state, from 1.
  func makeRecordNumber(in state: StateNumber) throws -> UInt32

  func readElement(_ key: ElementKey) throws -> [UInt8]?
  func writeElement(_ row: RawSpan, _ key: ElementKey) throws
  func deleteElement(_ key: ElementKey) throws
  /// All element rows whose key begins with `prefix`, in key order.
  func elements(under prefix: ElementKey) throws -> [(key: ElementKey, row: [UInt8])]

  /// The first place of a transaction in an incarnation of its zone's remote log, if it has one here.
  func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> UInt64?
  /// The replica's identity, by which ties are broken.
  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID
}

/// The key of an element row: state number (4 bytes), record number (4), cell number (4), what kind of row (1),
/// and what that kind needs; all big-endian.
package struct ElementKey: Hashable, Sendable {
  package var bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// A prefix of all the rows of a record's cell.
  package init(state: StateNumber, record: UInt32, cell: CellNumber) {
    bytes = []
    bytes.reserveCapacity(33)
    append(state.rawValue)
    append(record)
    append(cell.rawValue)
  }

  /// The row of a head that is kept apart: kind 1, then replica's number (4), epoch (4), sequence (8), index (4).
  package init(state: StateNumber, record: UInt32, cell: CellNumber, head: HeadID) {
    self.init(state: state, record: record, cell: cell)
    bytes.append(Self.headKind)
    append(head.replica.rawValue)
    append(head.epoch)
    append(head.sequence)
    append(head.index)
  }

  /// A prefix of the rows of the heads kept apart that one replica made in one epoch.
  package init(
    state: StateNumber, record: UInt32, cell: CellNumber, headsOf replica: ReplicaNumber, epoch: UInt32
  ) {
    self.init(state: state, record: record, cell: cell)
    bytes.append(Self.headKind)
    append(replica.rawValue)
    append(epoch)
  }

  /// A prefix of the rows of all heads of a cell that are kept apart.
  package static func heads(of state: StateNumber, record: UInt32, cell: CellNumber) -> ElementKey {
    var key = ElementKey(state: state, record: record, cell: cell)
    key.bytes.append(headKind)
    return key
  }

  /// A prefix of the rows of the heads kept apart that one transaction made.
  package init(
    state: StateNumber, record: UInt32, cell: CellNumber, headsOf replica: ReplicaNumber, epoch: UInt32,
    sequence: UInt64
  ) {
    self.init(state: state, record: record, cell: cell, headsOf: replica, epoch: epoch)
    append(sequence)
  }

  /// The row of a counter's sum of what is kept apart: kind 2.
  package static func sum(of state: StateNumber, record: UInt32, cell: CellNumber) -> ElementKey {
    var key = ElementKey(state: state, record: record, cell: cell)
    key.bytes.append(sumKind)
    return key
  }

  static let headKind: UInt8 = 1
  static let sumKind: UInt8 = 2

  private mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// What a transaction had seen when it was made: the test of section "one rule for all conflicts".
package struct Viewpoint: Sendable {
  /// The zone whose placements count.
  package var zone: ZoneNumber
  package var replica: ReplicaNumber
  package var epoch: UInt32
  package var sequence: UInt64
  /// The incarnation and offset up to which all was folded; nil if nothing was.
  package var base: (incarnation: IncarnationNumber, offset: UInt64)?
  /// Identities that this one continues, each with the last sequence it held; empty for nearly all.
  package var lineage: [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)] = []
  /// Whether the base is at or past every placement there is, so that no lookup is needed.
  package var seesAllPlaced = false

  package init(
    zone: ZoneNumber, replica: ReplicaNumber, epoch: UInt32, sequence: UInt64,
    base: (incarnation: IncarnationNumber, offset: UInt64)?
  ) {
    self.zone = zone
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    self.base = base
  }

  /// Whether this transaction, at its operation `index`, has seen the operation that made a head.
  ///
  /// - Parameter offset: looks up the first place of a transaction in an incarnation of the zone's remote log.
  package func hasSeen(
    _ head: HeadID, at index: UInt32,
    offset: (ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, IncarnationNumber) throws -> UInt64?
  ) rethrows -> Bool {
    if head.replica == replica && head.epoch == epoch {
      return head.sequence < sequence || (head.sequence == sequence && head.index < index)
    }
    for ancestor in lineage where ancestor.replica == head.replica && ancestor.epoch == head.epoch {
      if head.sequence <= ancestor.through { return true }
    }
    guard let base else { return false }
    guard let found = try offset(head.replica, head.epoch, head.sequence, base.incarnation) else {
      return false
    }
    #if PLANTED_BUGS
      if PlantedBug.seenExcludesBase.isPlanted { return found < base.offset }
    #endif
    return found <= base.offset
  }
}
