import EventStore
import OperationFormat

/// A map: each of its keys has a cell. A head holds a value of the table.
enum FoldMap: FoldCellOfValues {
  /// One key that is its own name in rows, and one that is too long for that and is named by its hash.
  static let keys: [Name] = ["k", Name(String(repeating: "k", count: 200))]

  static let count = FoldCells.elements
  static let traits: FoldCellTraits = .hasWinner

  static func identity(_ element: Int) -> [UInt8]? { Array(keys[element].rawValue.utf8) }
}
