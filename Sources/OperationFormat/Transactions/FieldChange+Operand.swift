// The bytes of the operand of an operation on a field: see the table of payloads in ``TransactionFormat``.
// `write` and `read` are twins: only they contain the grammar of each kind, and all other code that handles
// operands uses them.

extension FieldChange {
  /// Appends the operand. After an error, the writer is as it was before.
  ///
  /// - Throws: `.limitExceeded` for a value, key or text that is too large, or too many makers of units;
  ///   `.invalid` if the value of `add` is not a number, if there are no values, no text or no runs, or if a
  ///   run has no units.
  package func encode(into writer: inout ByteWriter) throws(FormatError) {
    let start = writer.count
    do throws(FormatError) {
      if try write(to: &writer) == .isChecked { return }
      var reader = ByteReader(writer.span, at: start)
      try Self.validate(kind, &reader)
    } catch {
      writer.truncate(to: start)
      throw error
    }
  }

  /// Decodes the operand that fills `bytes`.
  package init(_ kind: OperationKind, decoding bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    var parts = OperandParts()
    try Self.read(kind, from: &reader, into: &parts)
    try reader.finish("operation.operand")
    self = parts.change(kind)
  }

  /// Skips an operand with the checks of ``init(_:decoding:)``, and builds no value.
  static func validate(_ kind: OperationKind, _ reader: inout ByteReader) throws(FormatError) {
    var nothing = OperandValidator()
    try read(kind, from: &reader, into: &nothing)
  }

  // MARK: The grammar

  private enum Written {
    /// Encoding a value has checked it.
    case isChecked
    /// The reader checks the rules.
    case followsReader
  }

  private func write(to writer: inout ByteWriter) throws(FormatError) -> Written {
    var units = UnitWriter()
    switch self {
    case .set(let value), .insert(let value), .remove(let value), .contribute(let value):
      try value.encode(into: &writer)
      return .isChecked
    case .add(let value):
      try value.encode(into: &writer)
    case .put(let key, let value):
      writer.append(name: key)
      try value.encode(into: &writer)
    case .removeKey(let key):
      writer.append(name: key)
    case .insertElements(let values, let origin):
      units.appendOrigin(origin, to: &writer)
      writer.append(count: values.count)
      for value in values { try value.encode(into: &writer) }
    case .moveElement(let element, let origin):
      units.appendUnit(element, to: &writer)
      units.appendOrigin(origin, to: &writer)
    case .replaceElement(let element, let value):
      units.appendUnit(element, to: &writer)
      try value.encode(into: &writer)
    case .removeElements(let runs), .removeText(let runs):
      writer.append(count: runs.count)
      for run in runs { units.appendRun(run, to: &writer) }
    case .insertText(let text, let origin):
      units.appendOrigin(origin, to: &writer)
      writer.append(text: text)
    }
    return .followsReader
  }

  /// Reads an operand, and passes each part to a visitor, in order.
  @inline(__always)
  static func read<Visitor: OperandVisitor>(
    _ kind: OperationKind, from reader: inout ByteReader, into visitor: inout Visitor
  ) throws(FormatError) {
    var units = UnitReader()
    switch kind {
    case .set, .insert, .remove, .contribute:
      try visitor.lastValue(&reader)
    case .add:
      try checkSummand(reader)
      try visitor.lastValue(&reader)
    case .put:
      visitor.key(try readKey(&reader), reader)
      try visitor.lastValue(&reader)
    case .removeKey:
      visitor.key(try readKey(&reader), reader)
    case .insertElements:
      visitor.origin(try units.readOrigin(&reader))
      let count = try readCount(&reader)
      visitor.count(ofValues: count)
      for _ in 0..<count { try visitor.value(&reader) }
    case .moveElement:
      visitor.unit(try units.readUnit(&reader))
      visitor.origin(try units.readOrigin(&reader))
    case .replaceElement:
      visitor.unit(try units.readUnit(&reader))
      try visitor.lastValue(&reader)
    case .removeElements, .removeText:
      for _ in 0..<(try readCount(&reader)) { visitor.run(try units.readRun(&reader)) }
    case .insertText:
      visitor.origin(try units.readOrigin(&reader))
      visitor.text(try readInsertedText(&reader), reader)
    case .create, .delete, .moveAway, .moveHere, .compact, .unknown:
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

  /// Reads the key of a map's entry, and returns the range of its text.
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

  /// Reads the inserted text, and returns its range.
  package static func readInsertedText(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
    try reader.readText("operation.text", bytesMin: 1, bytesMax: Limits.inlineValueBytesMax)
  }
}

/// Receives the parts of an operand from ``FieldChange/read(_:from:into:)``.
protocol OperandVisitor {
  /// A map's key; `text` is its range in the reader's bytes.
  mutating func key(_ text: Range<Int>, _ reader: borrowing ByteReader)
  mutating func unit(_ unit: UnitReference)
  /// The unit after which something is inserted; nil for the start.
  mutating func origin(_ unit: UnitReference?)
  /// How many values follow.
  mutating func count(ofValues count: Int)
  /// Must read past the next value.
  mutating func value(_ reader: inout ByteReader) throws(FormatError)
  /// Like ``value(_:)``, for a value at the end of the operand.
  mutating func lastValue(_ reader: inout ByteReader) throws(FormatError)
  mutating func run(_ run: UnitSpan)
  /// The inserted text; `text` is its range in the reader's bytes.
  mutating func text(_ text: Range<Int>, _ reader: borrowing ByteReader)
}

extension OperandVisitor {
  mutating func key(_ text: Range<Int>, _ reader: borrowing ByteReader) {}
  mutating func unit(_ unit: UnitReference) {}
  mutating func origin(_ unit: UnitReference?) {}
  mutating func count(ofValues count: Int) {}
  mutating func value(_ reader: inout ByteReader) throws(FormatError) { try validateValue(&reader) }
  mutating func lastValue(_ reader: inout ByteReader) throws(FormatError) { try value(&reader) }
  mutating func run(_ run: UnitSpan) {}
  mutating func text(_ text: Range<Int>, _ reader: borrowing ByteReader) {}
}

/// Keeps nothing.
private struct OperandValidator: OperandVisitor {}

/// Keeps the parts of an operand.
private struct OperandParts: OperandVisitor {
  private var key: Name = ""
  private var unit = UnitReference(number: 0)
  private var origin: UnitReference?
  private var values: [Value] = []
  private var lastValue = Value.null
  private var runs: [UnitSpan] = []
  private var text = ""

  mutating func key(_ text: Range<Int>, _ reader: borrowing ByteReader) {
    key = Name(reader.string(in: text))
  }
  mutating func unit(_ unit: UnitReference) { self.unit = unit }
  mutating func origin(_ unit: UnitReference?) { origin = unit }
  mutating func value(_ reader: inout ByteReader) throws(FormatError) {
    values.append(try Value.read(from: &reader))
  }
  mutating func lastValue(_ reader: inout ByteReader) throws(FormatError) {
    lastValue = try Value.read(from: &reader)
  }
  mutating func run(_ run: UnitSpan) { runs.append(run) }
  mutating func text(_ text: Range<Int>, _ reader: borrowing ByteReader) {
    self.text = reader.string(in: text)
  }

  /// The change of this kind with the parts that were read.
  func change(_ kind: OperationKind) -> FieldChange {
    switch kind {
    case .set: .set(lastValue)
    case .add: .add(lastValue)
    case .insert: .insert(lastValue)
    case .remove: .remove(lastValue)
    case .put: .put(key: key, lastValue)
    case .removeKey: .removeKey(key)
    case .insertElements: .insertElements(values, after: origin)
    case .moveElement: .moveElement(unit, after: origin)
    case .replaceElement: .replaceElement(unit, lastValue)
    case .removeElements: .removeElements(runs)
    case .insertText: .insertText(text, after: origin)
    case .removeText: .removeText(runs)
    case .contribute: .contribute(lastValue)
    case .create, .delete, .moveAway, .moveHere, .compact, .unknown:
      preconditionFailure("a kind without an operand: \(kind.rawValue)")
    }
  }
}
