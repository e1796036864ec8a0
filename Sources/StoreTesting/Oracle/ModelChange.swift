import EventStore
import OperationFormat

/// What a change of a field does, as the oracle has it: one row for each change.
enum ModelChange {
  /// It works on one cell.
  case cell(CellEffect)
  /// It works on the units of a list or a text.
  case units(UnitChange, FieldKind)

  init(of change: FieldChange) {
    self =
      switch change {
      case .set(let value): .cell(CellEffect(.register, .value(value)))
      case .add(let value): .cell(CellEffect(.counter, .addend(value), isContribution: true))
      case .contribute(let value):
        .cell(CellEffect(.contributions, .contribution(value), isContribution: true))
      case .insert(let value): .cell(CellEffect(.set, .element(value), of: ModelElement(value)))
      case .remove(let value): .cell(CellEffect(.set, nil, of: ModelElement(value)))
      case .put(let key, let value): .cell(CellEffect(.map, .entry(key: key, value), of: ModelElement(key)))
      case .removeKey(let key): .cell(CellEffect(.map, nil, of: ModelElement(key)))
      case .insertElements(let values, let origin): .units(.insertItems(values, after: origin), .list)
      case .moveElement(let element, let origin): .units(.moveItem(element, after: origin), .list)
      case .replaceElement(let element, let value): .units(.replaceItem(element, value), .list)
      case .removeElements(let runs): .units(.remove(runs), .list)
      case .insertText(let text, let origin): .units(.insertText(text, after: origin), .text)
      case .removeText(let runs): .units(.remove(runs), .text)
      }
  }
}

/// What a change does to one cell.
struct CellEffect {
  let kind: FieldKind
  /// The element of a set or the key of a map that the cell belongs to.
  let element: ModelElement?
  /// The content of its head; nil if it adds none.
  let content: CellHead.Content?
  /// Whether it removes no heads.
  let isContribution: Bool

  init(
    _ kind: FieldKind, _ content: CellHead.Content?, of element: ModelElement? = nil,
    isContribution: Bool = false
  ) {
    self.kind = kind
    self.element = element
    self.content = content
    self.isContribution = isContribution
  }
}

/// What a change does to the units of a list or a text.
enum UnitChange {
  case insertText(String, after: UnitReference?)
  case insertItems([Value], after: UnitReference?)
  case moveItem(UnitReference, after: UnitReference?)
  case replaceItem(UnitReference, Value)
  case remove([UnitSpan])
  /// The record is created, which removes all that was seen.
  case clear
}
