/// The number in front of an encoded operation, 1 or more. Numbers without a name here are kinds of later
/// versions.
///
/// | kind | operation | payload |
/// |---|---|---|
/// | 1 | create | record index, type index |
/// | 2 | delete | record index |
/// | 3 | set | record index, type index, field index, value to the end of the payload |
/// | 4 | add | as set; the value is an integer or a decimal |
///
/// An index is a varint that counts from 0 in the transaction's table of names.
package struct OperationKind: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static let create = OperationKind(rawValue: 1)
  package static let delete = OperationKind(rawValue: 2)
  package static let set = OperationKind(rawValue: 3)
  package static let add = OperationKind(rawValue: 4)

  /// The last kind that this version knows.
  package static let lastKnown = add

  /// Whether this version knows what the payload means.
  package var isKnown: Bool { 1...Self.lastKnown.rawValue ~= rawValue }

  /// Whether it works on a field, with a value.
  var hasField: Bool { self == .set || self == .add }
}
