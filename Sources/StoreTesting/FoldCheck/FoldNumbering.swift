import EventStore
import OperationFormat

/// The small numbers that one store has for identities and names: another store has them in another order.
struct FoldNumbering: Hashable {
  static let zone = ZoneNumber(rawValue: 1)
  static let state = StateNumber(rawValue: 1)
  static let incarnation = IncarnationNumber(rawValue: 1)
  /// The names of records.
  static let records: [[UInt8]] = [Array("a".utf8), Array("ab".utf8), Array("b".utf8)]
  /// Types have the numbers after those of the fields, the same at every store.
  private static let fields = 3

  /// How far the order is turned.
  let turn: Int

  func number(ofIdentity identity: Int) -> ReplicaNumber {
    ReplicaNumber(rawValue: UInt32((identity + turn) % FoldSchedule.identitiesMax + 1))
  }

  func identity(of number: ReplicaNumber) -> Int {
    (Int(number.rawValue) - 1 - turn + FoldSchedule.identitiesMax) % FoldSchedule.identitiesMax
  }

  /// A cell of a history.
  func path(_ cell: Int, _ cells: FoldCells) -> CellPath {
    let kind = cells.kind(of: cell)
    if kind == .existence { return CellPath(.existence) }
    let field = number(ofField: cells.field(of: cell))
    let element = FoldCells.identity(kind).map { ElementName($0.span.bytes) }
    return switch kind {
    case .existence, .register: CellPath(CellNumber(register: field))
    case .counter: CellPath(CellNumber(field, .counter))
    case .contributions: CellPath(CellNumber(field, .contributions))
    case .setElement: CellPath(CellNumber(field, .set), element)
    case .mapKey: CellPath(CellNumber(field, .map), element)
    }
  }

  func number(ofField field: Int) -> NameNumber {
    NameNumber(rawValue: UInt32((field + turn) % Self.fields + 1))
  }

  func number(ofType type: Int) -> NameNumber { NameNumber(rawValue: UInt32(Self.fields + 1 + type)) }

  func type(of number: NameNumber) -> Int { Int(number.rawValue) - Self.fields - 1 }

  /// The identities in the order of their numbers.
  func ordered(_ identities: [ReplicaID]) -> [ReplicaID] {
    (1...identities.count).map { identities[identity(of: ReplicaNumber(rawValue: UInt32($0)))] }
  }
}
