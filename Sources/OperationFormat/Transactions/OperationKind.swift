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
  case compact
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
      case 18: .compact
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
    case .compact: 18
    case .unknown(let number): number
    }
  }

  /// The kinds that this version knows, by number.
  static let known = Array(
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
    /// An offset of the zone's log; it changes no record by itself.
    case floor
    /// The bytes of an unknown kind.
    case opaque
  }

  /// What the work of folding an operation depends on, besides the size of its payload.
  enum Load {
    case none
    /// The number of values, and what they refer to. The summand of a counter refers to nothing.
    case values
    /// The number of units in each run.
    case runs
  }

  /// The units of lists and texts that an operation names.
  enum Units {
    case none
    /// Of a list, besides those of its runs.
    case places(Int)
    /// Of a text, besides those of its runs.
    case scalars(Int)
  }

  var payload: Payload { row.payload }
  var load: Load { row.load }
  var units: Units { row.units }
  /// The steps of folding that it takes more than an operation on a register: see ``FoldWork``.
  var steps: Int { row.steps }

  @inline(__always)
  private var row: (payload: Payload, load: Load, steps: Int, units: Units) {
    switch self {
    case .create: (.recordAndType, .none, 0, .none)
    case .delete: (.record, .none, 0, .none)
    case .set: (.change, .values, 0, .none)
    case .add: (.change, .none, 2, .none)
    case .insert: (.change, .values, 2, .none)
    case .remove: (.change, .none, 2, .none)
    case .put: (.change, .values, 2, .none)
    case .removeKey: (.change, .none, 2, .none)
    case .insertElements: (.change, .values, 22, .places(1))
    case .moveElement: (.change, .none, 22, .places(2))
    case .replaceElement: (.change, .values, 22, .places(1))
    case .removeElements: (.change, .runs, 22, .places(0))
    case .insertText: (.change, .none, 22, .scalars(1))
    case .removeText: (.change, .runs, 22, .scalars(0))
    case .contribute: (.change, .values, 2, .none)
    case .moveAway: (.recordAndPlace, .none, 0, .none)
    case .moveHere: (.recordTypeAndPlace, .none, 0, .none)
    case .compact: (.floor, .none, 0, .none)
    case .unknown: (.opaque, .none, 0, .none)
    }
  }

  /// Whether it makes a record exist, without its earlier field values.
  var makesRecord: Bool {
    switch payload {
    case .recordAndType, .recordTypeAndPlace: true
    case .record, .recordAndPlace, .change, .floor, .opaque: false
    }
  }

  /// Whether it changes a list or a text, and so refers to units.
  package var namesUnits: Bool {
    switch units {
    case .none: false
    case .places, .scalars: true
    }
  }

  /// Whether the units that it names are scalars of a text.
  var namesScalars: Bool { if case .scalars = units { true } else { false } }
}
