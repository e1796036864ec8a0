/// One change in a transaction.
public enum LogOperation: Hashable, Sendable {
  /// The record of this name exists from here on, with this type, and without the field values seen so far.
  case create(record: Name, type: Name)
  /// The record of this name exists no longer.
  case delete(record: Name)
  /// The record of this name exists no longer: a copy of it exists at a place in another zone.
  case moveAway(record: Name, to: RecordID)
  /// The record of this name exists from here on, as `create` makes it: it was at a place in another zone.
  case moveHere(record: Name, type: Name, from: RecordID)
  /// A field of a record changes. Record names take 1 to 255 bytes, types and fields 1 to 128.
  case update(record: Name, type: Name, field: Name, FieldChange)
  /// An operation of a kind that this version does not know: kept byte for byte, not folded.
  case unknown(kind: UInt64, payload: [UInt8])

  /// The field of a record has this value from here on; null clears it.
  public static func set(record: Name, type: Name, field: Name, value: Value) -> LogOperation {
    .update(record: record, type: type, field: field, .set(value))
  }

  /// A counter of a record has this more from here on: an integer or a decimal, which may be negative.
  public static func add(record: Name, type: Name, field: Name, value: Value) -> LogOperation {
    .update(record: record, type: type, field: field, .add(value))
  }
}

/// What an operation does to a field. Which kind of cell it works on is said by what it does.
public enum FieldChange: Hashable, Sendable {
  /// A register has this value from here on; null clears it.
  case set(Value)
  /// A counter has this more from here on: an integer or a decimal, which may be negative.
  case add(Value)
  /// A set has this element from here on.
  case insert(Value)
  /// A set has this element no longer.
  case remove(Value)
  /// A map has this value at a key of at most 255 bytes from here on.
  case put(key: Name, Value)
  /// A map has no value at this key any more.
  case removeKey(Name)
  /// A list has these values, at least one, behind a unit; nil for its start. Each makes one unit.
  case insertElements([Value], after: UnitReference?)
  /// An element of a list, named by the unit that was made when it was inserted, stands behind a unit from here on. This
  /// makes one unit.
  case moveElement(UnitReference, after: UnitReference?)
  /// An element of a list has this value from here on.
  case replaceElement(UnitReference, Value)
  /// A list has these elements no longer.
  case removeElements([UnitSpan])
  /// A text has these Unicode scalars, at least one, behind a unit; nil for its start. Each makes one unit.
  case insertText(String, after: UnitReference?)
  /// A text has these scalars no longer.
  case removeText([UnitSpan])
  /// A field that the app's own reducer reads has this payload too from here on.
  case contribute(Value)

  package var kind: OperationKind {
    switch self {
    case .set: .set
    case .add: .add
    case .insert: .insert
    case .remove: .remove
    case .put: .put
    case .removeKey: .removeKey
    case .insertElements: .insertElements
    case .moveElement: .moveElement
    case .replaceElement: .replaceElement
    case .removeElements: .removeElements
    case .insertText: .insertText
    case .removeText: .removeText
    case .contribute: .contribute
    }
  }
}
