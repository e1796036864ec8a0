import OperationFormat

/// The rows of a unit order, to be read.
package protocol RunReading: AnyObject, ReplicaReading {
  /// Calls a closure with a row; nil if there is none.
  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R?
  /// Gives a closure the row with the greatest key that is at most `key` and has the same first `prefixBytes`
  /// bytes; nil if there is none.
  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R?
  /// Calls a closure with all rows whose key begins with `prefix`, in key order. The closure must not write.
  func forEachRun(under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void) throws
}

/// The rows of a unit order, to be changed.
package protocol RunStorage: RunReading {
  func writeRun(_ row: RawSpan, _ key: RawSpan) throws
  func deleteRun(_ key: RawSpan) throws
}

/// The keys of a cell's rows: state number (4 bytes), record number (4), cell number (4), what kind of row
/// (1), and what that kind needs; all big-endian.
///
/// | kind | rest of the key | row |
/// |---|---|---|
/// | 1 | node (4) | `Leaf`, `InnerNode` |
/// | 2 | replica (4), epoch (4), first number (8) | `PlaceRow` |
/// | 3 | replica (4), epoch (4), first number (8) | `MakerRow` |
struct RunKeys: Sendable {
  static let nodeKind: UInt8 = 1
  static let placeKind: UInt8 = 2
  static let makerKind: UInt8 = 3
  /// Up to where the keys of one inserter's rows of a kind agree.
  static let inserterBytes = 21
  /// The bytes of a node's key.
  static let nodeKeyBytes = 17
  /// The bytes of the key of a row of places or makers.
  static let numberKeyBytes = 29

  /// What all of them begin with.
  let prefix: TableKey

  init(state: StateNumber, record: UInt32, cell: CellNumber) {
    var key = TableKey()
    key.append(state)
    key.append(record)
    key.append(cell.rawValue)
    prefix = key
  }

  func node(_ number: NodeNumber) -> TableKey {
    var key = prefix
    key.append(Self.nodeKind)
    key.append(number)
    return key
  }

  func places(_ unit: UnitID) -> TableKey { key(Self.placeKind, unit) }

  func makers(_ unit: UnitID) -> TableKey { key(Self.makerKind, unit) }

  private func key(_ kind: UInt8, _ unit: UnitID) -> TableKey {
    var key = prefix
    key.append(kind)
    key.append(unit.replica)
    key.append(unit.epoch)
    key.append(unit.number)
    return key
  }

  /// The number at the end of the key of a row of places or makers.
  static func number(of key: RawSpan) throws(FormatError) -> UInt64 { try key.bigEndian64(at: inserterBytes) }

  /// Who a row of places or makers is about.
  static func inserter(of key: RawSpan) throws(FormatError) -> Inserter {
    Inserter(
      replica: ReplicaNumber(rawValue: try key.bigEndian32(at: 13)), epoch: try key.bigEndian32(at: 17))
  }
}

/// The number of a node of a unit order's tree, from 1; 0 is none.
typealias NodeNumber = UInt32

/// Limits of a unit order.
package struct UnitOrderLimits: Hashable, Sendable {
  /// Units of a cell, hidden ones included: so that no sum of numbers read from rows overflows.
  static let unitsMax: UInt64 = 1 << 40
  /// Levels of the tree. With two children a node, the fewest, a tree of all units would have 41.
  static let heightMax: UInt32 = 48
  /// Bytes of a row of places or makers.
  static let packedBytesMax = 512

  /// Bytes of a node's row. A change parses a leaf and writes it: with twice as many it took 1.3 to 1.4 times
  /// as long.
  package var nodeBytesMax = 1000

  /// Children of an inner node: as many as fit, however great their counts. Their bytes do not count, so that
  /// nodes are cut at the same units whether a count grew at once or one by one.
  var childrenMax: Int { max(4, (nodeBytesMax - Leaf.headerBytes) / InnerNode.childBytesMax) }

  package init(nodeBytesMax: Int = 1000) { self.nodeBytesMax = nodeBytesMax }
}

extension FormatError {
  /// Rows of a unit order that contradict each other.
  static func damagedRuns(_ subject: StaticString, expected: String, found: String) -> FormatError {
    FormatError(.damaged, at: 0, in: "runs.\(subject)", expected: expected, found: found)
  }
}
