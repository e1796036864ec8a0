import EventStore
import OperationFormat

/// A counter: a head holds the sum of what one transaction added.
enum FoldCounter: FoldCellKind {
  static let count = 1
  static let traits: FoldCellTraits = .isSum

  static func identity(_ element: Int) -> [UInt8]? { nil }

  /// A small integer as a value: its tag, and the number in zigzag form (the table of values).
  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    precondition(0..<1 << 13 ~= content, "a sum of \(content)")
    let number = 2 * content
    return number < 128 ? [3, UInt8(number)] : [3, UInt8(number & 127 | 128), UInt8(number >> 7)]
  }

  static func referringValue(_ content: Int, element: Int) -> Value? { nil }

  static func words(_ content: Int) -> String { "\(content) added" }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
