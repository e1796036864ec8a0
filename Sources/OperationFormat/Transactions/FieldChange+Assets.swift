extension FieldChange {
  /// The values that it stores.
  package var values: [Value] {
    switch self {
    case .set(let value), .add(let value), .insert(let value), .put(_, let value),
      .replaceElement(_, let value), .contribute(let value):
      [value]
    case .insertElements(let values, _): values
    case .remove, .removeKey, .moveElement, .removeElements, .insertText, .removeText: []
    }
  }

  /// The same change with other values in the place of those that it stores; what is added to a counter stays.
  package func mapValues(_ transform: (Value) throws -> Value) rethrows -> FieldChange {
    switch self {
    case .set(let value): .set(try transform(value))
    case .insert(let value): .insert(try transform(value))
    case .contribute(let value): .contribute(try transform(value))
    case .put(let key, let value): .put(key: key, try transform(value))
    case .insertElements(let values, let origin): .insertElements(try values.map(transform), after: origin)
    case .replaceElement(let element, let value): .replaceElement(element, try transform(value))
    // What is added is a number, and what is removed must stay what it was.
    case .add, .remove, .removeKey, .moveElement, .removeElements, .insertText, .removeText: self
    }
  }

  /// Adds the assets that an operand names, in their order.
  package static func appendAssets(
    _ kind: OperationKind, in operand: RawSpan, to assets: inout [AssetReference]
  ) throws(FormatError) {
    try forEachValue(kind, in: operand) { value throws(FormatError) in
      try Value.appendAssets(in: value, to: &assets)
    }
  }

  /// Gives the values that an operand stores to a closure, encoded, in their order.
  static func forEachValue(
    _ kind: OperationKind, in operand: RawSpan, _ body: (RawSpan) throws(FormatError) -> Void
  ) throws(FormatError) {
    var reader = ByteReader(operand)
    var units = UnitReader()
    switch kind {
    case .set, .insert, .contribute: break
    case .put: _ = try readKey(&reader)
    case .replaceElement: _ = try units.readUnit(&reader)
    case .insertElements:
      _ = try units.readOrigin(&reader)
      for _ in 0..<(try readCount(&reader)) {
        let start = reader.position
        try validateValue(&reader)
        try body(operand.extracting(start..<reader.position))
      }
      return
    default: return
    }
    try body(operand.extracting(reader.position...))
  }
}
