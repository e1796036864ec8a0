// The operand of an operation on a field, in bytes: the table of ``OperationKind``.

extension FieldChange {
  /// Appends the operand. After an error the writer is as it was.
  ///
  /// - Throws: `.limitExceeded` for a value, key or text that is too large, or too many makers of units; `.invalid` for what
  ///   cannot be added to a counter, no values, no text, no runs, or a run without units.
  package func encode(into writer: inout ByteWriter) throws(FormatError) {
    let start = writer.count
    do throws(FormatError) {
      try append(to: &writer)
      // The units' rules are the reader's.
      if case .set = self { return }
      var reader = ByteReader(writer.span, at: start)
      try Self.validate(kind, &reader)
    } catch {
      writer.truncate(to: start)
      throw error
    }
  }

  private func append(to writer: inout ByteWriter) throws(FormatError) {
    var units = UnitWriter()
    switch self {
    case .set(let value), .add(let value), .insert(let value), .remove(let value), .contribute(let value):
      try value.encode(into: &writer)
    case .put(let key, let value):
      writer.append(name: key)
      try value.encode(into: &writer)
    case .removeKey(let key): writer.append(name: key)
    case .insertElements(let values, let origin):
      units.append(origin, to: &writer)
      writer.append(count: values.count)
      for value in values { try value.encode(into: &writer) }
    case .moveElement(let element, let origin):
      units.append(element, to: &writer)
      units.append(origin, to: &writer)
    case .replaceElement(let element, let value):
      units.append(element, to: &writer)
      try value.encode(into: &writer)
    case .removeElements(let runs), .removeText(let runs):
      writer.append(count: runs.count)
      for run in runs { units.append(run, to: &writer) }
    case .insertText(let text, let origin):
      units.append(origin, to: &writer)
      writer.append(text: text)
    }
  }

  /// Decodes an operand that takes all of `bytes`.
  package init(_ kind: OperationKind, decoding bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    var units = UnitReader()
    switch kind {
    case .set: self = .set(try Value.read(from: &reader))
    case .add:
      try Self.checkSummand(reader)
      self = .add(try Value.read(from: &reader))
    case .insert: self = .insert(try Value.read(from: &reader))
    case .remove: self = .remove(try Value.read(from: &reader))
    case .contribute: self = .contribute(try Value.read(from: &reader))
    case .put:
      let key = Name(reader.string(in: try Self.readKey(&reader)))
      self = .put(key: key, try Value.read(from: &reader))
    case .removeKey: self = .removeKey(Name(reader.string(in: try Self.readKey(&reader))))
    case .insertElements:
      let origin = try units.readOrigin(&reader)
      var values: [Value] = []
      for _ in 0..<(try Self.readCount(&reader)) { values.append(try Value.read(from: &reader)) }
      self = .insertElements(values, after: origin)
    case .moveElement:
      let element = try units.readUnit(&reader)
      self = .moveElement(element, after: try units.readOrigin(&reader))
    case .replaceElement:
      let element = try units.readUnit(&reader)
      self = .replaceElement(element, try Value.read(from: &reader))
    case .removeElements: self = .removeElements(try Self.readRuns(&reader, &units))
    case .removeText: self = .removeText(try Self.readRuns(&reader, &units))
    case .insertText:
      let origin = try units.readOrigin(&reader)
      self = .insertText(reader.string(in: try Self.readInsertedText(&reader)), after: origin)
    default:
      throw FormatError(
        .unknownTag, at: 0, in: "operation.kind", expected: "one on a field", found: "\(kind.rawValue)")
    }
    try reader.finish("operation.operand")
  }

  /// Passes over an operand with the checks of ``init(_:decoding:)``, and builds no value.
  package static func validate(_ kind: OperationKind, _ reader: inout ByteReader) throws(FormatError) {
    var units = UnitReader()
    switch kind {
    case .set, .insert, .remove, .contribute: try validateValue(&reader)
    case .add:
      try checkSummand(reader)
      try validateValue(&reader)
    case .put:
      _ = try readKey(&reader)
      try validateValue(&reader)
    case .removeKey: _ = try readKey(&reader)
    case .insertElements:
      _ = try units.readOrigin(&reader)
      for _ in 0..<(try readCount(&reader)) { try validateValue(&reader) }
    case .moveElement:
      _ = try units.readUnit(&reader)
      _ = try units.readOrigin(&reader)
    case .replaceElement:
      _ = try units.readUnit(&reader)
      try validateValue(&reader)
    case .removeElements, .removeText:
      for _ in 0..<(try readCount(&reader)) { _ = try units.readRun(&reader) }
    case .insertText:
      _ = try units.readOrigin(&reader)
      _ = try readInsertedText(&reader)
    default:
      throw reader.fail(
        .unknownTag, at: reader.position, "operation.kind", expected: "one on a field",
        found: "\(kind.rawValue)")
    }
  }

  // MARK: Parts

  private static func checkSummand(_ reader: borrowing ByteReader) throws(FormatError) {
    let rest = reader.bytes(in: reader.position..<reader.end)
    guard rest.isEmpty || ValueTag.isSummand(rest) else {
      throw reader.fail(
        .invalid, at: reader.position, "operation.value", expected: "an integer or a decimal",
        found: "another value")
    }
  }

  /// Reads the key of a map's entry, and gives where its text lies.
  package static func readKey(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
    try reader.readText("operation.key", bytesMax: Limits.mapKeyBytesMax)
  }

  /// Reads how many values or runs follow: at least one.
  package static func readCount(_ reader: inout ByteReader) throws(FormatError) -> Int {
    let start = reader.position
    let count = try reader.readCount("operation.count")
    guard count > 0 else {
      throw reader.fail(.invalid, at: start, "operation.count", expected: "1 or more", found: "0")
    }
    return count
  }

  /// Reads the text that is inserted, and gives where it lies.
  package static func readInsertedText(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
    try reader.readText("operation.text", bytesMin: 1, bytesMax: Limits.inlineValueBytesMax)
  }

  private static func readRuns(
    _ reader: inout ByteReader, _ units: inout UnitReader
  ) throws(FormatError) -> [UnitSpan] {
    var runs: [UnitSpan] = []
    for _ in 0..<(try readCount(&reader)) { runs.append(try units.readRun(&reader)) }
    return runs
  }
}
