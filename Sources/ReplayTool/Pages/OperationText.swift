import EventStore

/// The text of an operation, for people.
enum OperationText {
  static func line(_ operation: LogOperation) -> String {
    cells(operation).filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// Kind and record, then field and value, or the type, or the other place.
  static func cells(_ operation: LogOperation) -> [String] {
    switch operation {
    case .create(let record, let type): ["create", Display.name(record), Display.name(type)]
    case .delete(let record): ["delete", Display.name(record)]
    case .moveAway(let record, let place): ["move", Display.name(record), "to \(Display.record(place))"]
    case .moveHere(let record, let type, let place):
      ["move here", Display.name(record), Display.name(type), "from \(Display.record(place))"]
    case .update(let record, let type, _, _) where operation.isRevival:
      ["revive", Display.name(record), Display.name(type)]
    case .update(let record, _, let field, let change):
      [verb(change), Display.name(record), Display.name(field), content(change)]
    case .compact(let floor): ["compact", "", "up to @\(floor)"]
    case .unknown(let kind, let payload):
      ["kind \(kind)", "", Display.value(.bytes(payload))]
    }
  }

  private static func verb(_ change: FieldChange) -> String {
    switch change {
    case .removeKey: "remove"
    case .insertElements, .insertText: "insert"
    case .moveElement: "move"
    case .replaceElement: "replace"
    case .removeElements, .removeText: "remove"
    case .set, .add, .insert, .remove, .put, .contribute: change.word.rawValue
    }
  }

  private static func content(_ change: FieldChange) -> String {
    switch change {
    case .set(let value), .add(let value), .insert(let value), .remove(let value), .contribute(let value):
      Display.value(value)
    case .put(let key, let value): "\(Display.name(key)) = \(Display.value(value))"
    case .removeKey(let key): Display.name(key)
    case .insertElements(let values, let origin): "\(Display.value(.array(values))) \(after(origin))"
    case .moveElement(let element, let origin): "unit \(element) \(after(origin))"
    case .replaceElement(let element, let value): "unit \(element) by \(Display.value(value))"
    case .removeElements(let runs), .removeText(let runs): runs.map { units($0) }.joined(separator: ", ")
    case .insertText(let text, let origin): "\(Display.value(.string(text))) \(after(origin))"
    }
  }

  private static func after(_ origin: UnitReference?) -> String {
    origin.map { "after unit \($0)" } ?? "at the start"
  }

  private static func units(_ run: UnitSpan) -> String {
    run.count == 1 ? "unit \(run.first)" : "\(run.count) units from \(run.first)"
  }
}
