/// What operations have alike, said once in a run.
struct RunShape: Hashable {
  var kind: OperationKind
  var mode: RunMode
  /// The numbers of the names of the type and the field, −1 for none.
  var type = -1
  var field = -1
}

/// How the operand of an operation is written.
///
/// | bits | meaning |
/// |---|---|
/// | 0–2 | form of the last value: ``RunValueForm`` |
/// | 3 | the first unit is the one that ``UnitCursor`` expects |
/// | 4 | the record is that of the operation before |
struct RunMode: RawRepresentable, Hashable {
  var rawValue: UInt8

  static let expectedUnitBit: UInt8 = 8
  static let sameRecordBit: UInt8 = 16
  static let mask: UInt8 = 31

  var valueForm: RunValueForm { RunValueForm(rawValue: rawValue & 7)! }
  var hasExpectedUnit: Bool { rawValue & Self.expectedUnitBit != 0 }
  var hasSameRecord: Bool { rawValue & Self.sameRecordBit != 0 }

  /// Whether an operation of this kind may be written so.
  func fits(_ kind: OperationKind) -> Bool {
    let parts = RunOperand(kind)
    return rawValue & ~Self.mask == 0 && (rawValue & 7 == 0 || parts.tail == .value)
      && (!hasExpectedUnit || parts.tail == .runs || parts.hasOrigin && !parts.hasUnit)
  }
}

/// How a value is written.
enum RunValueForm: UInt8 {
  /// As in a transaction.
  case plain
  /// An integer: a number.
  case int
  /// A string, by number.
  case string
  /// A date: a number, the difference to the timestamp.
  case date
  /// A reference into the same zone with the rule none, cascade or nullify: the record's name, by number.
  case reference, cascade, nullify
  /// A UUID: its bytes.
  case uuid
}

/// The parts of an operand, in this order. It says the grammar of ``FieldChange`` once for both directions of a run.
struct RunOperand {
  enum Tail { case nothing, value, values, runs, text, place }

  var hasKey = false
  var hasUnit = false
  var hasOrigin = false
  var tail = Tail.nothing

  init(_ kind: OperationKind) {
    switch kind {
    case .create, .delete, .compact, .unknown: break
    case .set, .add, .insert, .remove, .contribute: tail = .value
    case .put: (hasKey, tail) = (true, .value)
    case .removeKey: hasKey = true
    case .insertElements: (hasOrigin, tail) = (true, .values)
    case .moveElement: (hasUnit, hasOrigin) = (true, true)
    case .replaceElement: (hasUnit, tail) = (true, .value)
    case .removeElements, .removeText: tail = .runs
    case .insertText: (hasOrigin, tail) = (true, .text)
    case .moveAway, .moveHere: tail = .place
    }
  }
}
