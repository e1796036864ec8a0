import EventStore
import OperationFormat

/// The table of kinds: all that FoldCheck knows about a kind of operation is in its row.
extension FoldOperation.Kind {
  struct Row {
    /// The kind of field that it works on; nil for one on a record's existence.
    var field: FieldKind?
    var effect: Effect
    var uses: Uses
    /// What it does.
    var action: (FoldOperation) -> FoldOperation.Action
    /// The operation in words.
    var words: (FoldOperation) -> String
  }

  /// What it does to the heads of its cell.
  enum Effect {
    /// It removes those that it has seen, and adds one.
    case replaces
    /// It removes those that it has seen.
    case removes
    /// It adds one.
    case adds
    /// Its cell consists of units, which ``UnitOrderOracle`` describes.
    case edits
  }

  /// Which properties of an operation count. The others are 0.
  struct Uses: OptionSet {
    let rawValue: UInt8

    static let field = Uses(rawValue: 1)
    static let type = Uses(rawValue: 2)
    static let element = Uses(rawValue: 4)
    static let value = Uses(rawValue: 8)
    /// The value, which must be one of the integers.
    static let number = Uses(rawValue: 16)
  }

  var row: Row {
    switch self {
    case .create: Row(nil, .replaces, .type, { _ in .create }, { "create r\($0.record) as t\($0.type)" })
    case .delete: Row(nil, .replaces, [], { _ in .end(place: nil) }, { "delete r\($0.record)" })
    case .moveAway:
      Row(
        nil, .replaces, .element, { .end(place: Int($0.element)) },
        { "move r\($0.record) to p\($0.element)" })
    case .set:
      Row(
        .register, .replaces, [.field, .type, .value], { .change(.set($0.value.value)) },
        { "set \($0.place) = \($0.value) as t\($0.type)" })
    case .add:
      Row(
        .counter, .adds, [.field, .type, .number], { .change(.add($0.value.value)) },
        { "add \($0.value) to \($0.place) as t\($0.type)" })
    case .insert:
      Row(
        .set, .replaces, [.field, .type, .element], { .change(.insert($0.setElement)) },
        { "insert e\($0.element) into \($0.place) as t\($0.type)" })
    case .remove:
      Row(
        .set, .removes, [.field, .type, .element], { .change(.remove($0.setElement)) },
        { "remove e\($0.element) from \($0.place) as t\($0.type)" })
    case .put:
      Row(
        .map, .replaces, [.field, .type, .element, .value],
        { .change(.put(key: $0.mapKey, $0.value.value)) },
        { "put \($0.value) at k\($0.element) in \($0.place) as t\($0.type)" })
    case .removeKey:
      Row(
        .map, .removes, [.field, .type, .element], { .change(.removeKey($0.mapKey)) },
        { "remove k\($0.element) from \($0.place) as t\($0.type)" })
    case .insertText: Row(.text, .insertScalars)
    case .removeText: Row(.text, .removeScalars)
    case .insertElements: Row(.list, .insertItems)
    case .moveElement: Row(.list, .moveItem)
    case .replaceElement: Row(.list, .replaceItem)
    case .removeElements: Row(.list, .removeItems)
    case .contribute:
      Row(
        .contributions, .adds, [.field, .type, .value], { .change(.contribute($0.value.value)) },
        { "contribute \($0.value) to \($0.place) as t\($0.type)" })
    }
  }
}

extension FoldOperation.Kind.Row {
  fileprivate init(
    _ field: FieldKind?, _ effect: FoldOperation.Kind.Effect, _ uses: FoldOperation.Kind.Uses,
    _ action: @escaping (FoldOperation) -> FoldOperation.Action,
    _ words: @escaping (FoldOperation) -> String
  ) {
    self.init(field: field, effect: effect, uses: uses, action: action, words: words)
  }

  /// The row of an edit of a list or a text.
  fileprivate init(_ field: FieldKind, _ edit: FoldEdit) {
    self.init(
      field, .edits, [.field, .type, .element, .value], { _ in .edit(edit) },
      { "\($0.kind) \($0.element) at \($0.value.rawValue) in \($0.place) as t\($0.type)" })
  }
}

extension FoldOperation {
  /// What an operation does. A new kind of field needs no new case, unless its operations are made from
  /// units.
  enum Action {
    /// The record exists from here on, and what was seen of its fields is removed.
    case create
    /// The record exists no longer; with the number of the place it moved to.
    case end(place: Int?)
    /// A field changes, and the record exists.
    case change(FieldChange)
    /// A list or a text changes, and the record exists. Its units are known only where it is applied.
    case edit(FoldEdit)

    var isCreate: Bool {
      switch self {
      case .create: true
      case .end, .change, .edit: false
      }
    }
  }

  var action: Action { kind.row.action(self) }

  fileprivate var place: String { "r\(record).f\(field)" }
  fileprivate var setElement: Value { FoldSet.elements[Int(element)].value }
  fileprivate var mapKey: Name { FoldMap.keys[Int(element)] }
}
