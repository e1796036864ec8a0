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

  /// The number of a cell: −1 is the record's existence, then come the registers of its fields, then their counters.
  func cell(_ cell: Int, fields: Int) -> CellNumber {
    if cell < 0 { return .existence }
    return cell < fields
      ? CellNumber(register: number(ofField: cell))
      : CellNumber(number(ofField: cell - fields), .counter)
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
