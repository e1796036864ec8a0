/// One operation of a generated transaction, in small numbers instead of names.
package struct FoldOperation: Hashable, Sendable, CustomStringConvertible {
  /// What an operation does.
  package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// The record is alive, and what was seen of its fields goes.
    case create
    /// A field gets a value, and the record is alive.
    case set
    /// The record is dead.
    case delete
    /// A counter gets a contribution, and the record is alive.
    case add
    /// A set gets an element, and the record is alive.
    case insert
    /// A set loses an element, and the record is alive.
    case remove
    /// A key of a map gets a value, and the record is alive.
    case put
    /// A map loses a key, and the record is alive.
    case removeKey
    /// A text gets scalars, and the record is alive.
    case insertText
    /// A text loses scalars, and the record is alive.
    case removeText
    /// A list gets elements, and the record is alive.
    case insertElements
    /// An element of a list goes elsewhere, and the record is alive.
    case moveElement
    /// An element of a list gets another value, and the record is alive.
    case replaceElement
    /// A list loses elements, and the record is alive.
    case removeElements
    /// The record is dead: it went to a place in another zone.
    case moveAway
    /// A field that is reduced gets a payload, and the record is alive.
    case contribute
  }

  /// What it does.
  package var kind: Kind
  /// The record, from 0.
  package var record: UInt8
  /// The field, from 0; not of `create`, `delete` and `moveAway`.
  package var field: UInt8
  /// The record's type, from 0; not of `delete` and `moveAway`.
  package var type: UInt8
  /// The new value of the field or key, the number to add, or the contribution. Its number says where an edit
  /// of a list or a text is.
  package var value: FoldValue
  /// The element of a set or the key of a map, from 0; how much of a list or a text; which of two places a
  /// record moves to.
  package var element: UInt8

  /// Creates an operation; what its kind does not use is 0.
  package init(
    _ kind: Kind, record: UInt8, field: UInt8 = 0, type: UInt8 = 0, value: FoldValue = .null,
    element: UInt8 = 0
  ) {
    self.kind = kind
    self.record = record
    let uses = kind.row.uses
    self.field = uses.contains(.field) ? field : 0
    self.type = uses.contains(.type) ? type : 0
    self.value = uses.contains(.value) || uses.contains(.number) ? value : .null
    self.element = uses.contains(.element) ? element : 0
  }

  /// Such as “set r0.f1 = 5 as t0”.
  package var description: String { kind.row.words(self) }
}
