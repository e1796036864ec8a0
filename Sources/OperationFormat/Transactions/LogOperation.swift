/// One change in a transaction.
public enum LogOperation: Hashable, Sendable {
  /// The record of this name now exists, with this type, and without the field values that were seen before.
  case create(record: Name, type: Name)
  /// The record of this name exists no longer.
  case delete(record: Name)
  /// The record of this name exists no longer: it moved to a place in another zone.
  case moveAway(record: Name, to: RecordID)
  /// The record of this name now exists, as after `create`: it moved here from a place in another zone.
  case moveHere(record: Name, type: Name, from: RecordID)
  /// A field of a record changes. A record name has 1 to 255 bytes, a type or field name 1 to 128.
  case update(record: Name, type: Name, field: Name, FieldChange)
  /// What the zone's log has up to an offset, from 1, is folded together in every store that reads up to here.
  case compact(floor: UInt64)
  /// An operation of a kind that this version does not know. It is kept byte for byte, and not folded.
  case unknown(kind: UInt64, payload: [UInt8])

  /// Sets a field to a value; null clears it.
  public static func set(record: Name, type: Name, field: Name, value: Value) -> LogOperation {
    .update(record: record, type: type, field: field, .set(value))
  }

  /// Adds a number to a counter: an integer or a decimal, which may be negative.
  public static func add(record: Name, type: Name, field: Name, value: Value) -> LogOperation {
    .update(record: record, type: type, field: field, .add(value))
  }
}

/// What an operation does to a field. The case also determines the kind of cell.
public enum FieldChange: Hashable, Sendable {
  /// Sets a register to a value; null clears it.
  case set(Value)
  /// Adds a number to a counter: an integer or a decimal, which may be negative.
  case add(Value)
  /// Inserts an element into a set.
  case insert(Value)
  /// Removes an element from a set.
  case remove(Value)
  /// Puts a value at a key of a map; the key has at most 255 bytes.
  case put(key: Name, Value)
  /// Removes a key from a map.
  case removeKey(Name)
  /// Inserts values, at least one, into a list after a unit; nil for the start. Each value makes one unit.
  case insertElements([Value], after: UnitReference?)
  /// Moves an element of a list to the place after a unit. The element is named by the unit that its
  /// insertion made. The move makes one unit.
  case moveElement(UnitReference, after: UnitReference?)
  /// Replaces the value of an element of a list.
  case replaceElement(UnitReference, Value)
  /// Removes elements from a list.
  case removeElements([UnitSpan])
  /// Inserts Unicode scalars, at least one, into a text after a unit; nil for the start. Each scalar makes
  /// one unit.
  case insertText(String, after: UnitReference?)
  /// Removes scalars from a text.
  case removeText([UnitSpan])
  /// Adds a payload to a field that the app's own reducer reads.
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
