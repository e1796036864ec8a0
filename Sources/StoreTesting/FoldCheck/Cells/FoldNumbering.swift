import EventStore
import OperationFormat

/// The small numbers that one store has for identities and names. Another store has them in another order.
struct FoldNumbering: Hashable {
  static let zone = ZoneNumber(rawValue: 1)
  static let state = StateNumber(rawValue: 1)
  static let incarnation = IncarnationNumber(rawValue: 1)
  /// How many identities a history draws from: one for each replica, then those for renewals.
  static let identitiesMax = 12
  /// The names of records.
  static let records: [[UInt8]] = [Array("a".utf8), Array("ab".utf8), Array("b".utf8)]
  /// Types have the numbers after those of the fields, the same at every store.
  private static let fields = 3

  /// How far the order is rotated.
  let turn: Int

  func number(ofIdentity identity: Int) -> ReplicaNumber {
    ReplicaNumber(rawValue: UInt32((identity + turn) % Self.identitiesMax + 1))
  }

  func identity(of number: ReplicaNumber) -> Int {
    (Int(number.rawValue) - 1 - turn + Self.identitiesMax) % Self.identitiesMax
  }

  /// A cell of a history.
  func path(_ cell: Int, _ cells: FoldCells) -> CellPath {
    guard let group = cells.group(of: cell) else { return CellPath(.existence) }
    let number = CellNumber(number(ofField: cells.field(of: cell)), group.field)
    return CellPath(number, cells.identity(of: cell).map { ElementName($0.span.bytes) })
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
