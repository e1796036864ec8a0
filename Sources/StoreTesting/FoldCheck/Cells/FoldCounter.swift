import EventStore
import OperationFormat

/// A counter: a head holds the sum of what one transaction added.
enum FoldCounter: FoldCellKind {
  static let count = 1
  static let traits: FoldCellTraits = .isSum

  static func identity(_ element: Int) -> [UInt8]? { nil }

  /// An integer below 64 as a value: its tag, and the number in zigzag form (the table of values).
  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    precondition(0..<64 ~= content, "a sum of \(content)")
    return [3, UInt8(2 * content)]
  }

  static func referringValue(_ content: Int, element: Int) -> Value? { nil }

  static func words(_ content: Int) -> String { "\(content) added" }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
