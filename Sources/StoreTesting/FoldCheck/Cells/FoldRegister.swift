import EventStore
import OperationFormat

/// A register: a head holds a value of the table.
enum FoldRegister: FoldCellOfValues {
  static let count = 1
  static let traits: FoldCellTraits = [.hasWinner, .isRegister]

  static func identity(_ element: Int) -> [UInt8]? { nil }
}
