extension FieldChange {
  /// The values that the change stores in a field, or adds to a counter.
  package var values: [Value] {
    switch self {
    case .set(let value), .add(let value), .insert(let value), .put(_, let value),
      .replaceElement(_, let value), .contribute(let value):
      [value]
    case .insertElements(let values, _): values
    case .remove, .removeKey, .moveElement, .removeElements, .insertText, .removeText: []
    }
  }

  /// The same change with each stored value replaced. The summand of a counter stays as it is.
  package func mapValues<Failure>(
    _ transform: (Value) throws(Failure) -> Value
  ) throws(Failure) -> FieldChange {
    switch self {
    case .set(let value): .set(try transform(value))
    case .insert(let value): .insert(try transform(value))
    case .contribute(let value): .contribute(try transform(value))
    case .put(let key, let value): .put(key: key, try transform(value))
    case .insertElements(let values, let origin): .insertElements(try values.map(transform), after: origin)
    case .replaceElement(let element, let value): .replaceElement(element, try transform(value))
    // The summand of a counter is a number, and a removed element must stay equal to the inserted one.
    case .add, .remove, .removeKey, .moveElement, .removeElements, .insertText, .removeText: self
    }
  }

  /// Appends the assets in the values that an operand stores, in order.
  package static func appendAssets(
    _ kind: OperationKind, in operand: RawSpan, to assets: inout [AssetReference]
  ) throws(FormatError) {
    guard kind.load == .values else { return }
    var reader = ByteReader(operand)
    // Moved, not copied: a segment may have thousands of operations that name assets.
    var found = AssetCollector(assets: [])
    swap(&found.assets, &assets)
    defer { swap(&found.assets, &assets) }
    try read(kind, from: &reader, into: &found)
  }
}

private struct AssetCollector: OperandVisitor {
  var assets: [AssetReference]

  mutating func value(_ reader: inout ByteReader) throws(FormatError) {
    let start = reader.position
    try validateValue(&reader)
    try Value.appendAssets(in: reader.bytes(in: start..<reader.position), to: &assets)
  }

  mutating func lastValue(_ reader: inout ByteReader) throws(FormatError) {
    try Value.appendAssets(in: reader.readRest(), to: &assets)
  }
}
