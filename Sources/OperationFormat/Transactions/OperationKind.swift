/// The number before an encoded operation, 1 or more. ``TransactionFormat`` has the table of the payloads.
///
/// To add a kind, add a case; the compiler then reports each place that must handle it. It cannot report
/// ``init(rawValue:)``, which needs a row too; ``BodyEncoder`` asserts that the row exists.
package enum OperationKind: RawRepresentable, Hashable, Sendable {
  case create, delete
  case set, add, insert, remove, put, removeKey
  case insertElements, moveElement, replaceElement, removeElements, insertText, removeText
  case contribute
  case moveAway, moveHere
  /// A kind of a later version. Only ``init(rawValue:)`` makes it, and never with the number of a known kind.
  case unknown(UInt64)

  package init(rawValue: UInt64) {
    self =
      switch rawValue {
      case 1: .create
      case 2: .delete
      case 3: .set
      case 4: .add
      case 5: .insert
      case 6: .remove
      case 7: .put
      case 8: .removeKey
      case 9: .insertElements
      case 10: .moveElement
      case 11: .replaceElement
      case 12: .removeElements
      case 13: .insertText
      case 14: .removeText
      case 15: .contribute
      case 16: .moveAway
      case 17: .moveHere
      default: .unknown(rawValue)
      }
  }

  package var rawValue: UInt64 {
    switch self {
    case .create: 1
    case .delete: 2
    case .set: 3
    case .add: 4
    case .insert: 5
    case .remove: 6
    case .put: 7
    case .removeKey: 8
    case .insertElements: 9
    case .moveElement: 10
    case .replaceElement: 11
    case .removeElements: 12
    case .insertText: 13
    case .removeText: 14
    case .contribute: 15
    case .moveAway: 16
    case .moveHere: 17
    case .unknown(let number): number
    }
  }

  /// The kinds that this version knows, by number.
  package static let known = Array(
    (UInt64(1)...).lazy.map { OperationKind(rawValue: $0) }.prefix { $0.isKnown })

  /// The known kind with the greatest number.
  package static let lastKnown = known[known.count - 1]

  /// Whether this version can read the payload.
  package var isKnown: Bool { if case .unknown = self { false } else { true } }
}

/// The properties of the kinds: one row for each kind.
extension OperationKind {
  /// What the payload consists of.
  enum Payload {
    case record
    case recordAndType
    case recordAndPlace
    case recordTypeAndPlace
    /// Record, type and field, then the operand.
    case change
    /// The bytes of an unknown kind.
    case opaque
  }

  /// What an operation changes.
  enum Target {
    case existence, register, counter, set, map, list, text, contributions, unknown
  }

  /// What the work of folding an operation depends on, besides the size of its payload.
  enum Load {
    case none
    /// The number of values, and what they refer to. The summand of a counter refers to nothing.
    case values
    /// The number of units in each run.
    case runs
  }

  var payload: Payload { row.payload }
  var target: Target { row.target }
  var load: Load { row.load }

  @inline(__always)
  private var row: (payload: Payload, target: Target, load: Load) {
    switch self {
    case .create: (.recordAndType, .existence, .none)
    case .delete: (.record, .existence, .none)
    case .set: (.change, .register, .values)
    case .add: (.change, .counter, .none)
    case .insert: (.change, .set, .values)
    case .remove: (.change, .set, .none)
    case .put: (.change, .map, .values)
    case .removeKey: (.change, .map, .none)
    case .insertElements: (.change, .list, .values)
    case .moveElement: (.change, .list, .none)
    case .replaceElement: (.change, .list, .values)
    case .removeElements: (.change, .list, .runs)
    case .insertText: (.change, .text, .none)
    case .removeText: (.change, .text, .runs)
    case .contribute: (.change, .contributions, .values)
    case .moveAway: (.recordAndPlace, .existence, .none)
    case .moveHere: (.recordTypeAndPlace, .existence, .none)
    case .unknown: (.opaque, .unknown, .none)
    }
  }

  /// Whether it makes a record exist, without its earlier field values.
  var makesRecord: Bool {
    switch self {
    case .create, .moveHere: true
    case .delete, .moveAway, .unknown: false
    case .set, .add, .insert, .remove, .put, .removeKey, .contribute: false
    case .insertElements, .moveElement, .replaceElement, .removeElements, .insertText, .removeText: false
    }
  }

  /// Whether it changes a list or a text, and so refers to units.
  package var namesUnits: Bool {
    switch target {
    case .list, .text: true
    case .existence, .register, .counter, .set, .map, .contributions, .unknown: false
    }
  }
}
