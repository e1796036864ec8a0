import EventStore
import OperationFormat

/// A register: a head holds a value of the table.
enum FoldRegister: FoldCellKind {
  static let count = 1
  static let traits: FoldCellTraits = [.hasWinner, .isRegister]

  static func identity(_ element: Int) -> [UInt8]? { nil }

  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    FoldValue(rawValue: UInt8(content)).payload
  }

  static func referringValue(_ content: Int, element: Int) -> Value? {
    FoldValue(rawValue: UInt8(content)).value
  }

  static func words(_ content: Int) -> String { FoldValue(rawValue: UInt8(content)).description }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
