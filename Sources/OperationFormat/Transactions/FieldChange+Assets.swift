extension FieldChange {
  /// The values that it stores.
  package var values: [Value] {
    switch self {
    case .set(let value), .add(let value), .insert(let value), .put(_, let value),
      .replaceElement(_, let value):
      [value]
    case .insertElements(let values, _): values
    case .remove, .removeKey, .moveElement, .removeElements, .insertText, .removeText: []
    }
  }

  /// Adds the assets that an operand names, in their order.
  package static func appendAssets(
    _ kind: OperationKind, in operand: RawSpan, to assets: inout [AssetReference]
  ) throws(FormatError) {
    var reader = ByteReader(operand)
    var units = UnitReader()
    switch kind {
    case .set, .insert: break
    case .put: _ = try readKey(&reader)
    case .replaceElement: _ = try units.readUnit(&reader)
    case .insertElements:
      _ = try units.readOrigin(&reader)
      for _ in 0..<(try readCount(&reader)) {
        let start = reader.position
        try validateValue(&reader)
        try Value.appendAssets(in: operand.extracting(start..<reader.position), to: &assets)
      }
      return
    default: return
    }
    try Value.appendAssets(in: operand.extracting(reader.position...), to: &assets)
  }
}
