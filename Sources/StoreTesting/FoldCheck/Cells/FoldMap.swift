import EventStore
import OperationFormat

/// A map: each of its keys has a cell. A head holds a value of the table.
enum FoldMap: FoldCellKind {
  /// One key that is its own name in rows, and one that is too long for that and is named by its hash.
  static let keys: [Name] = ["k", Name(String(repeating: "k", count: 200))]

  static let count = FoldCells.elements
  static let traits: FoldCellTraits = .hasWinner

  static func identity(_ element: Int) -> [UInt8]? { Array(keys[element].rawValue.utf8) }

  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    FoldValue(rawValue: UInt8(content)).payload
  }

  static func referringValue(_ content: Int, element: Int) -> Value? {
    FoldValue(rawValue: UInt8(content)).value
  }

  static func words(_ content: Int) -> String { FoldValue(rawValue: UInt8(content)).description }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
