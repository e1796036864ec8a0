/// Encodes a run: consecutive transactions of one replica and epoch in one zone, which share what they have
/// alike (bytes: ``RunFormat``; twin: ``RunDecoder``).
///
/// It takes any bytes. What is no canonical transaction, or not the next one of the context, it writes as it is.
package struct RunEncoder: ~Copyable {
  private var state: RunState
  private var writer: RunWriter
  private var body = BodyDecoder()
  /// The last body, if it is one change of a text.
  private var last = ByteWriter()
  /// For each name of the transaction, its number in the run; −1 before its first use.
  private var numbers: [Int] = []
  private var shapes: [RunShape: Int] = [:]
  /// The shape that probably comes next: for each, the one that followed it last.
  private var successors: [Int] = [0]
  private var lastShape = 0
  private var makers: [UnitMaker: Int] = [:]
  private var operand = RunOperandRanges()
  private var scratch = ByteWriter()

  package init(_ context: RunContext, layout: RunLayout) {
    state = RunState(context)
    writer = RunWriter(layout)
  }

  /// How many bytes the run has.
  package var byteCount: Int { writer.byteCount }

  /// The bytes of a run in rows. More may be appended to them.
  package var rows: RawSpan {
    @_lifetime(borrow self)
    get { writer.rows }
  }

  /// Appends the bytes of a run in columns.
  ///
  /// - Returns: where a compressor should end a block, because what follows is of another sort.
  package func appendColumns(to writer: inout ByteWriter) -> [Int] { self.writer.appendColumns(to: &writer) }

  /// Appends the next transaction.
  ///
  /// - Parameters:
  ///   - transaction: its canonical bytes.
  ///   - arrivalDelay: the time of arrival less the timestamp, in milliseconds; 0 where nobody needs it.
  /// - Complexity: O(n) in the size
  package mutating func append(_ transaction: RawSpan, arrivalDelay: Int64 = 0) {
    if !appendShared(transaction, arrivalDelay) { appendPlain(transaction, arrivalDelay) }
    state.sequence &+= 1
  }

  // MARK: A transaction

  private mutating func appendPlain(_ transaction: RawSpan, _ arrivalDelay: Int64) {
    let head = RunHead(base: .none, bodyFlags: 0, hasDelay: arrivalDelay != 0, hasOneOperation: false)
    writer.append(head.byte, to: .heads)
    writer.append(count: 0, to: .heads)
    if arrivalDelay != 0 { writer.append(zigzag: arrivalDelay, to: .times) }
    writer.append(count: transaction.byteCount, to: .lengths)
    writer.append(transaction, to: .plain)
  }

  /// Appends a transaction by its parts; returns false, and writes nothing, if the parts do not give it back.
  private mutating func appendShared(_ transaction: RawSpan, _ arrivalDelay: Int64) -> Bool {
    var reader = ByteReader(transaction)
    let base: Base?
    let bytes: RawSpan
    do throws(FormatError) {
      base = try state.readHeader(&reader)
      bytes = reader.readRest()
      try parse(bytes)
    } catch {
      return false
    }
    guard !body.hasUnknown, !body.hasFloor, state.names.count + namesMax <= RunFormat.namesMax else {
      return false
    }
    appendHead(base, bytes, arrivalDelay)
    for operation in body.operations {
      do throws(FormatError) {
        try operand.read(operation, bytes)
      } catch {
        preconditionFailure("an operand that was checked: \(error)")
      }
      append(operation, bytes)
    }
    return true
  }

  /// Finds the parts of a body.
  ///
  /// - Throws: unless it is canonical.
  private mutating func parse(_ bytes: RawSpan) throws(FormatError) {
    if try isLikeLast(bytes) { return }
    last.removeAll()
    try body.parse(bytes)
    if numbers.count < body.names.count { numbers = Array(repeating: -1, count: 2 * body.names.count) }
    for index in body.names.indices { numbers[index] = -1 }
    if body.operations.count == 1, body.operations[0].kind.namesScalars, body.writeID == nil {
      last.append(bytes)
    }
  }

  /// Whether a body has its parts where the last one has them, because only timestamp and operand differ, as
  /// when someone types. The operand is checked.
  ///
  /// - Complexity: O(n), a third of the time of ``BodyDecoder/parse(_:origin:)``
  private mutating func isLikeLast(_ bytes: RawSpan) throws(FormatError) -> Bool {
    guard bytes.byteCount == last.count, last.count > 0,
      Self.isEqual(last, bytes, ..<body.operations[0].operand.lowerBound)
    else { return false }
    try operand.read(body.operations[0], bytes)
    return true
  }

  /// Whether two bodies are equal up to an offset, but for the timestamp.
  private static func isEqual(_ a: borrowing ByteWriter, _ b: RawSpan, _ range: PartialRangeUpTo<Int>) -> Bool
  {
    let (before, after) = (0..<timestampBytes.lowerBound, timestampBytes.upperBound..<range.upperBound)
    return equalBytes(a.span.extracting(before), b.extracting(before))
      && equalBytes(a.span.extracting(after), b.extracting(after))
  }

  /// Where a body has its timestamp.
  private static let timestampBytes = 2..<10

  /// The most new names in the transaction: its own, and those in references.
  private var namesMax: Int { body.names.count + body.operations.count }

  private mutating func appendHead(_ base: Base?, _ bytes: RawSpan, _ arrivalDelay: Int64) {
    var head = RunHead(
      base: .none, bodyFlags: bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self),
      hasDelay: arrivalDelay != 0, hasOneOperation: body.operations.count == 1)
    if let base {
      head.base =
        base == state.base ? .same : base.incarnation == state.base.incarnation ? .moved : .other
    }
    writer.append(head.byte, to: .heads)
    if !head.hasOneOperation { writer.append(count: body.operations.count, to: .heads) }
    if arrivalDelay != 0 { writer.append(zigzag: arrivalDelay, to: .times) }
    if let base {
      switch head.base {
      case .none, .same: break
      case .moved:
        writer.append(zigzag: Int64(bitPattern: base.offset &- state.base.offset), to: .units)
      case .other:
        scratch.removeAll()
        scratch.append(bigEndian: base.incarnation.rawValue)
        writer.append(scratch, to: .random)
        writer.append(varint: base.offset, to: .units)
      }
      state.base = base
    }
    appendTimestamp(
      Timestamp(
        rawValue: UInt64(
          littleEndian: bytes.unsafeLoadUnaligned(
            fromByteOffset: Self.timestampBytes.lowerBound, as: UInt64.self))))
    if let writeID = body.writeID {
      scratch.removeAll()
      scratch.append(littleEndian: writeID)
      writer.append(scratch, to: .random)
    }
    if let author = body.author { appendWord(bytes.extracting(author)) }
    if let label = body.label { appendWord(bytes.extracting(label)) }
    if let version = body.schemaVersion {
      writer.append(zigzag: Int64(bitPattern: version &- state.schemaVersion), to: .words)
      state.schemaVersion = version
    }
  }

  private mutating func appendTimestamp(_ timestamp: Timestamp) {
    let (milliseconds, counter) = (timestamp.milliseconds, timestamp.counter)
    let difference = zigzagBits(Int64(milliseconds) - Int64(state.timestamp.milliseconds))
    let isExpected = counter == state.expectedCounter(milliseconds)
    writer.append(split: difference << 1 | (isExpected ? 0 : 1), to: .times)
    if !isExpected { writer.append(split: UInt64(counter), to: .numbers) }
    state.timestamp = timestamp
  }

  // MARK: Texts by number

  private mutating func appendWord(_ text: RawSpan) {
    writer.append(text, to: .words, numberedIn: &state.words)
  }

  private mutating func appendString(_ text: RawSpan) {
    writer.append(text, to: .strings, numberedIn: &state.strings)
  }

  /// Appends a name by its number, and returns it.
  @discardableResult
  private mutating func appendName(_ text: RawSpan, to column: RunColumn) -> Int {
    if let number = state.names.find(text) {
      writer.append(count: number + 1, to: column)
      return number
    }
    writer.append(count: 0, to: column)
    writer.append(text: text, after: state.names)
    state.names.addFindable(text)
    return state.names.count - 1
  }

  // MARK: An operation

  private mutating func append(_ operation: OperationLayout, _ bytes: RawSpan) {
    let parts = RunOperand(operation.kind)
    let record = find(operation.record, bytes)
    let type = operation.type < 0 ? -1 : find(operation.type, bytes) ?? -2
    let field = operation.field < 0 ? -1 : find(operation.field, bytes) ?? -2
    var mode: UInt8 = 0
    if let record, record == state.record { mode |= RunMode.sameRecordBit }
    if operation.kind.namesUnits {
      state.cursor.enter(record: record ?? -2, field: field)
      if state.cursor.expects(operand, parts) { mode |= RunMode.expectedUnitBit }
    }
    if parts.tail == .value { mode |= RunValueForm(of: bytes.extracting(operand.values[0])).rawValue }
    let shape = appendShape(
      RunShape(kind: operation.kind, mode: RunMode(rawValue: mode), type: type, field: field), operation,
      bytes)
    if !shape.mode.hasSameRecord { state.record = appendName(operation.record, bytes, to: .records) }
    if operation.kind.namesUnits { state.cursor.enter(record: state.record, field: shape.field) }
    appendOperand(parts, shape.mode, bytes)
  }

  /// Appends the number of a shape, or a new shape. Returns it with the numbers of its names.
  private mutating func appendShape(
    _ shape: RunShape, _ operation: OperationLayout, _ bytes: RawSpan
  ) -> RunShape {
    let probable = successors[lastShape]
    if probable < state.shapes.count, state.shapes[probable] == shape {
      writer.append(count: probable + 1, to: .heads)
      lastShape = probable
      return shape
    }
    if let number = shapes[shape] {
      writer.append(count: number + 1, to: .heads)
      successors[lastShape] = number
      lastShape = number
      return shape
    }
    writer.append(count: 0, to: .heads)
    writer.append(varint: shape.kind.rawValue, to: .heads)
    writer.append(shape.mode.rawValue, to: .heads)
    var shape = shape
    if operation.type >= 0 { shape.type = appendName(operation.type, bytes, to: .words) }
    if operation.field >= 0 { shape.field = appendName(operation.field, bytes, to: .words) }
    guard state.shapes.count < RunFormat.shapesMax else { return shape }
    let number = state.shapes.count
    shapes[shape] = number
    state.shapes.append(shape)
    successors[lastShape] = number
    successors.append(number)
    lastShape = number
    return shape
  }

  /// The number of a name of the transaction; nil if the run has not said it yet.
  private mutating func find(_ index: Int, _ bytes: RawSpan) -> Int? {
    if numbers[index] < 0, let number = state.names.find(bytes.extracting(body.names[index])) {
      numbers[index] = number
    }
    return numbers[index] < 0 ? nil : numbers[index]
  }

  private mutating func appendName(_ index: Int, _ bytes: RawSpan, to column: RunColumn) -> Int {
    if let number = find(index, bytes) {
      writer.append(count: number + 1, to: column)
      return number
    }
    numbers[index] = appendName(bytes.extracting(body.names[index]), to: column)
    return numbers[index]
  }

  // MARK: An operand

  private mutating func appendOperand(_ parts: RunOperand, _ mode: RunMode, _ bytes: RawSpan) {
    if parts.hasKey { appendString(bytes.extracting(operand.key)) }
    if parts.hasUnit { append(operand.units[0]) }
    if parts.hasOrigin, !mode.hasExpectedUnit { appendOrigin() }
    switch parts.tail {
    case .nothing:
      if parts.hasUnit { state.cursor.noteMove() }
    case .value: appendValue(bytes.extracting(operand.values[0]), mode.valueForm)
    case .values:
      writer.append(count: operand.values.count, to: .units)
      for value in operand.values { writer.append(bytes.extracting(value), to: .plain) }
      state.cursor.noteInsertion(of: UInt64(operand.values.count), after: operand.ownOrigin)
    case .runs: appendRuns(mode)
    case .text:
      let text = bytes.extracting(operand.text)
      writer.append(count: text.byteCount, to: .lengths)
      writer.append(text, to: .letters)
      state.cursor.noteInsertion(of: scalarCount(text), after: operand.ownOrigin)
    case .place:
      for text in operand.texts { appendWord(bytes.extracting(text)) }
    }
  }

  private mutating func appendOrigin() {
    guard let origin = operand.origin else { return writer.append(0, to: .units) }
    append(origin)
  }

  private mutating func appendRuns(_ mode: RunMode) {
    if !mode.hasExpectedUnit { writer.append(count: operand.runs.count, to: .units) }
    for run in operand.runs {
      if !mode.hasExpectedUnit { append(run.first) }
      writer.append(varint: run.count, to: .units)
      if run.first.maker == nil { state.cursor.noteRemoval(from: run.first.number) }
    }
  }

  private mutating func append(_ unit: UnitReference) {
    guard let maker = unit.maker else {
      writer.append(varint: UnitCode.ownMaker, to: .units)
      return writer.append(
        zigzag: Int64(bitPattern: unit.number &- state.cursor.expectedNumber), to: .units)
    }
    if let index = makers[maker] {
      writer.append(varint: UnitCode.firstKnownMaker + UInt64(index), to: .units)
      writer.append(zigzag: Int64(bitPattern: unit.number &- state.makers[index].number), to: .units)
      state.makers[index].number = unit.number
      return
    }
    writer.append(varint: UnitCode.newMaker, to: .units)
    scratch.removeAll()
    scratch.append(bigEndian: maker.replica.rawValue)
    writer.append(scratch, to: .random)
    writer.append(varint: UInt64(maker.epoch), to: .units)
    writer.append(varint: unit.number, to: .units)
    makers[maker] = state.makers.count
    state.makers.append((maker, unit.number))
  }

  // MARK: A value

  private mutating func appendValue(_ value: RawSpan, _ form: RunValueForm) {
    var reader = ByteReader(value, at: 1)
    do throws(FormatError) {
      switch form {
      case .plain: writer.append(value, to: .plain)
      case .int: writer.append(split: try reader.readVarint("value"), to: .numbers)
      case .string:
        _ = try reader.readVarint("value")
        appendString(reader.readRest())
      case .date:
        let date: Int64 = try reader.readLittleEndian("value")
        writer.append(split: zigzagBits(date &- state.microseconds), to: .numbers)
      case .reference, .cascade, .nullify:
        _ = try reader.readBytes(2, "value")
        _ = try reader.readVarint("value")
        appendName(reader.readRest(), to: .records)
      case .uuid: writer.append(reader.readRest(), to: .random)
      }
    } catch {
      preconditionFailure("a value that was checked: \(error)")
    }
  }
}
