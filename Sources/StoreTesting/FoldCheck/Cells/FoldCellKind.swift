import EventStore
import OperationFormat

/// What FoldCheck knows of a kind of cell. Each kind has a file; ``FieldKind/foldCells`` is the table of
/// them.
///
/// The oracle's heads hold numbers. A kind says what such a number means: as bytes, as a value and in
/// words.
protocol FoldCellKind: SendableMetatype {
  /// How many cells of the kind a field has in a history: more than one if elements or keys have cells.
  static var count: Int { get }
  static var traits: FoldCellTraits { get }
  /// The bytes that name an element or a key in rows; nil for a kind without them.
  static func identity(_ element: Int) -> [UInt8]?
  /// The payload that a head must have in rows.
  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8]
  /// The value that a cell shows when this is its greatest head, if its references count.
  static func referringValue(_ content: Int, element: Int) -> Value?
  /// A head's content in words.
  static func words(_ content: Int) -> String
  /// A payload as it was found, in words.
  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String
}

/// What a comparison does with a kind of cell.
struct FoldCellTraits: OptionSet {
  let rawValue: UInt8

  /// The cell shows its greatest head, so more heads than one are a conflict.
  static let hasWinner = FoldCellTraits(rawValue: 1)
  /// The cell shows a sum, and heads outside the row have a row with their sum.
  static let isSum = FoldCellTraits(rawValue: 2)
  /// The cell shows all heads in an order of their own.
  static let isOrdered = FoldCellTraits(rawValue: 4)
  /// The cell stays in the row that holds registers, when a record's row is divided.
  static let isRegister = FoldCellTraits(rawValue: 8)
}

/// The numbers of one store that a payload may contain.
struct FoldPayloadNumbers {
  var numbering: FoldNumbering
  /// The base of the transaction that made the head.
  var base: Int
}

extension FieldKind {
  /// What FoldCheck knows of the cells of this kind; nil for a kind that consists of units, which
  /// ``UnitOrderOracle`` describes as a whole.
  var foldCells: (any FoldCellKind.Type)? {
    switch self {
    case .register: FoldRegister.self
    case .counter: FoldCounter.self
    case .set: FoldSet.self
    case .map: FoldMap.self
    case .list, .text: nil
    case .contributions: FoldContributions.self
    }
  }
}

extension FoldCellKind {
  /// The value of the table that has this payload, in words.
  static func wordsOfValue(_ payload: [UInt8]) -> String {
    let values = (0..<FoldValue.count).map { FoldValue(rawValue: $0) }
    return values.first { $0.payload == payload }?.description ?? "\(payload)"
  }
}

/// A kind whose heads hold values of the table, of which the greatest is shown.
protocol FoldCellOfValues: FoldCellKind {}

extension FoldCellOfValues {
  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    FoldValue(rawValue: UInt8(content)).payload
  }

  static func referringValue(_ content: Int, element: Int) -> Value? {
    FoldValue(rawValue: UInt8(content)).value
  }

  static func words(_ content: Int) -> String { FoldValue(rawValue: UInt8(content)).description }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String { wordsOfValue(payload) }
}
