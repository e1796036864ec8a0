import OperationFormat

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
