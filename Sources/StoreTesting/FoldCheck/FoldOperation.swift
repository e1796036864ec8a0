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

    /// Whether it works on a field.
    var hasField: Bool { self != .create && !isEnd }
    /// Whether the record is dead by it.
    var isEnd: Bool { self == .delete || self == .moveAway }
    /// Whether it works on an element of a set or a key of a map, or has a number like one.
    var hasElement: Bool {
      hasField && self != .set && self != .add && self != .contribute || self == .moveAway
    }
    /// Whether it has a value.
    var hasValue: Bool {
      self == .set || self == .add || self == .put || self == .contribute || isOfSequence
    }
    /// Whether it works on a list or a text.
    var isOfSequence: Bool {
      switch self {
      case .insertText, .removeText, .insertElements, .moveElement, .replaceElement, .removeElements: true
      default: false
      }
    }
  }

  /// What it does.
  package var kind: Kind
  /// The record, from 0.
  package var record: UInt8
  /// The field, from 0; not of `create`, `delete` and `moveAway`.
  package var field: UInt8
  /// The record's type, from 0; not of `delete` and `moveAway`.
  package var type: UInt8
  /// The field's or key's new value, or what is added to its counter, one of the integers, or what is contributed. Of
  /// a list's or a text's its number says where.
  package var value: FoldValue
  /// The element of a set or the key of a map, from 0; how much of a list or a text; which of two
  /// places a record goes to.
  package var element: UInt8

  /// Creates an operation; what its kind does not use is 0.
  package init(
    _ kind: Kind, record: UInt8, field: UInt8 = 0, type: UInt8 = 0, value: FoldValue = .null,
    element: UInt8 = 0
  ) {
    self.kind = kind
    self.record = record
    self.field = kind.hasField ? field : 0
    self.type = kind.isEnd ? 0 : type
    self.value = kind.hasValue ? value : .null
    self.element = kind.hasElement ? element : 0
  }

  /// Such as “set r0.f1 = 5 as t0”.
  package var description: String {
    switch kind {
    case .create: "create r\(record) as t\(type)"
    case .set: "set r\(record).f\(field) = \(value) as t\(type)"
    case .delete: "delete r\(record)"
    case .moveAway: "move r\(record) to p\(element)"
    case .add: "add \(value) to r\(record).f\(field) as t\(type)"
    case .insert: "insert e\(element) into r\(record).f\(field) as t\(type)"
    case .remove: "remove e\(element) from r\(record).f\(field) as t\(type)"
    case .put: "put \(value) at k\(element) in r\(record).f\(field) as t\(type)"
    case .contribute: "contribute \(value) to r\(record).f\(field) as t\(type)"
    case .removeKey: "remove k\(element) from r\(record).f\(field) as t\(type)"
    default: "\(kind) \(element) at \(value.rawValue) in r\(record).f\(field) as t\(type)"
    }
  }
}
