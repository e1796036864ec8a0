import EventStore
import OperationFormat

/// Contributions: a head holds one payload, a value of the table, and the base of the transaction that made
/// it.
enum FoldContributions: FoldCellKind {
  static let count = 1
  static let traits: FoldCellTraits = .isOrdered

  static func identity(_ element: Int) -> [UInt8]? { nil }

  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    let seen: [UInt8] =
      numbers.base == 0 ? [0] : [1, UInt8(FoldNumbering.incarnation.rawValue), UInt8(numbers.base)]
    return seen + FoldValue(rawValue: UInt8(content)).payload
  }

  static func referringValue(_ content: Int, element: Int) -> Value? { nil }

  static func words(_ content: Int) -> String { FoldValue(rawValue: UInt8(content)).description }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String {
    do { return try "\(ContributionPayload.value(in: payload.span.bytes))" } catch {
      return wordsOfValue(payload)
    }
  }
}
