import EventStore

/// One operation as people read it.
enum OperationText {
  static func line(_ operation: LogOperation) -> String {
    cells(operation).filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// Kind, record, then field and value, or the type.
  static func cells(_ operation: LogOperation) -> [String] {
    switch operation {
    case .create(let record, let type): ["create", Display.name(record), Display.name(type)]
    case .delete(let record): ["delete", Display.name(record)]
    case .set(let record, _, let field, let value):
      ["set", Display.name(record), Display.name(field), Display.value(value)]
    case .add(let record, _, let field, let value):
      ["add", Display.name(record), Display.name(field), Display.value(value)]
    case .unknown(let kind, let payload):
      ["kind \(kind)", "", Display.value(.bytes(payload))]
    }
  }
}
