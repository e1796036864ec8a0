/// The number in front of an encoded operation, 1 or more. Numbers without a name here are kinds of later
/// versions.
///
/// | kind | operation | payload |
/// |---|---|---|
/// | 1 | create | record index, type index |
/// | 2 | delete | record index |
/// | 3 | set | record index, type index, field index, value to the end of the payload |
/// | 4 | add | as set; the value is an integer or a decimal |
/// | 5, 6 | insert, remove | as set; the value is an element of a set |
/// | 7 | put | record, type and field index; key (text of at most 255 bytes), value |
/// | 8 | remove key | record, type and field index; key |
/// | 9 | insert elements | record, type and field index; origin, count of values from 1, values |
/// | 10 | move element | record, type and field index; unit, origin |
/// | 11 | replace element | record, type and field index; unit, value |
/// | 12 | remove elements | record, type and field index; count of runs from 1, runs |
/// | 13 | insert text | record, type and field index; origin, text of at least one byte |
/// | 14 | remove text | as remove elements |
/// | 15 | contribute | as set |
/// | 16 | move away | record index; the record's other place |
/// | 17 | move here | record index, type index; the record's other place |
///
/// An index is a varint that counts from 0 in the transaction's table of names. Units, origins and runs: see
/// ``UnitReader``. The other place of a record that moves is three texts: the zone's owner, which may be empty, and its name,
/// of at most 128 bytes each, and the record's name there, of at most 255.
package struct OperationKind: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static let create = OperationKind(rawValue: 1)
  package static let delete = OperationKind(rawValue: 2)
  package static let set = OperationKind(rawValue: 3)
  package static let add = OperationKind(rawValue: 4)
  package static let insert = OperationKind(rawValue: 5)
  package static let remove = OperationKind(rawValue: 6)
  package static let put = OperationKind(rawValue: 7)
  package static let removeKey = OperationKind(rawValue: 8)
  package static let insertElements = OperationKind(rawValue: 9)
  package static let moveElement = OperationKind(rawValue: 10)
  package static let replaceElement = OperationKind(rawValue: 11)
  package static let removeElements = OperationKind(rawValue: 12)
  package static let insertText = OperationKind(rawValue: 13)
  package static let removeText = OperationKind(rawValue: 14)
  package static let contribute = OperationKind(rawValue: 15)
  package static let moveAway = OperationKind(rawValue: 16)
  package static let moveHere = OperationKind(rawValue: 17)

  /// The last kind that this version knows.
  package static let lastKnown = moveHere

  /// Whether this version knows what the payload means.
  package var isKnown: Bool { 1...Self.lastKnown.rawValue ~= rawValue }

  /// Whether a record leaves a zone for another, or comes from it.
  package var isMove: Bool { self == .moveAway || self == .moveHere }

  /// Whether it names the record's type.
  package var hasType: Bool { self != .delete && self != .moveAway }

  /// Whether it works on a list or a text, and so names units.
  package var namesUnits: Bool { Self.insertElements.rawValue...Self.removeText.rawValue ~= rawValue }

  /// Whether it brings values that a field stores. What is added to a counter names nothing.
  var storesValues: Bool {
    self == .set || self == .insert || self == .put || self == .contribute || self == .insertElements
      || self == .replaceElement
  }

  /// Whether it changes a field: then record, type and field are followed by its operand.
  package var hasField: Bool { Self.set.rawValue...Self.contribute.rawValue ~= rawValue }
}
