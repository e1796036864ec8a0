import EventStore
import OperationFormat

/// A set: each of its elements has a cell. A head says that the element is in the set.
enum FoldSet: FoldCellKind {
  /// One element whose encoded value is its name in rows, and one that is too long for that and is named by
  /// its hash.
  static let elements: [FoldValue] = [FoldValue(rawValue: 1), FoldValue(rawValue: 8)]

  static let count = FoldCells.elements
  static let traits: FoldCellTraits = []

  static func identity(_ element: Int) -> [UInt8]? { elements[element].payload }

  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] { [] }

  static func referringValue(_ content: Int, element: Int) -> Value? { elements[element].value }

  static func words(_ content: Int) -> String { "there" }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
