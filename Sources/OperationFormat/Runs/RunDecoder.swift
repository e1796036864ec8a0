/// Decodes a run (bytes: ``RunFormat``; twin: ``RunEncoder``).
///
/// It gives the bytes of each transaction as the encoder took them. What an encoder did not write may give bytes
/// that are no transaction: who reads them finds that. Any input gives bytes or a ``FormatError``.
package struct RunDecoder: ~Copyable, ~Escapable {
  var reader: RunReader
  var state: RunState
  private let bytesMax: Int
  private var produced = 0

  private var names = ByteWriter()
  private var nameCount = 0
  private var operations = ByteWriter()
  var payload = ByteWriter()
  private var text = ByteWriter()
  /// For each name of the run, the transaction that used it last, and its index there.
  private var indexes: [(transaction: Int, index: Int)] = []
  private var transaction = 0
  /// For each maker of units, the operation that named it last, and its index there.
  var makerIndexes: [(operation: Int, index: Int)] = []
  var operation = 0
  var makerCount = 0
  /// The shape of the only operation of the last transaction, if that has three names.
  private var onlyShape: RunShape?

  /// Decodes a run in rows.
  ///
  /// - Parameters:
  ///   - bytesMax: the most bytes of all transactions together. No more memory is taken than this and a few
  ///     times the size of the run.
  ///   - origin: the offset of the run in the whole that is decoded, for errors.
  @_lifetime(copy bytes)
  package init(rows bytes: RawSpan, _ context: RunContext, bytesMax: Int, origin: Int = 0) {
    reader = RunReader(rows: bytes, origin: origin)
    state = RunState(context)
    self.bytesMax = bytesMax
  }

  /// Decodes a run in columns.
  @_lifetime(copy bytes)
  package init(
    columns bytes: RawSpan, _ context: RunContext, bytesMax: Int, origin: Int = 0
  ) throws(FormatError) {
    reader = try RunReader(columns: bytes, origin: origin)
    state = RunState(context)
    self.bytesMax = bytesMax
  }

  /// Whether there is no other transaction.
  package var isAtEnd: Bool { reader.isAtEnd }

  /// Throws unless all bytes were read.
  package func finish() throws(FormatError) { try reader.finish() }

  /// Appends the bytes of the next transaction. After an error, do not use the decoder.
  ///
  /// - Returns: the time of arrival less the timestamp, in milliseconds.
  /// - Complexity: O(n) in the size of the transaction
  package mutating func next(into writer: inout ByteWriter) throws(FormatError) -> Int64 {
    let start = writer.count
    let head = RunHead(byte: try reader.readUInt8(.heads, "run.head"))
    let countStart = reader.position
    let count = head.hasOneOperation ? 1 : try reader.readVarint(.heads, "run.operations")
    let delay = head.hasDelay ? try reader.readZigzag(.times, "run.arrival") : 0
    if count == 0 {
      try readPlain(head, at: countStart, into: &writer)
    } else {
      try readShared(head, count, into: &writer)
    }
    produced += writer.count - start
    state.sequence &+= 1
    transaction += 1
    return delay
  }

  // MARK: A transaction

  private mutating func readPlain(
    _ head: RunHead, at start: Int, into writer: inout ByteWriter
  ) throws(FormatError) {
    guard head.base == .none, head.bodyFlags == 0 else {
      throw reader.fail(
        .nonCanonical, at: start, "run.head", expected: "no flags before a plain transaction", found: "flags")
    }
    let byteCount = try reader.readVarint(.lengths, "run.transaction")
    try check(Int(clamping: byteCount))
    try reader.copyBytes(byteCount, .plain, "run.transaction", to: &writer)
  }

  private mutating func readShared(
    _ head: RunHead, _ count: UInt64, into writer: inout ByteWriter
  ) throws(FormatError) {
    let start = writer.count
    state.appendHeader(try readBase(head), to: &writer)
    try readBodyFields(head, into: &writer)
    operations.removeAll()
    if count == 1 {
      try readOnlyOperation()
    } else {
      forgetNames()
      // An operation makes at least 3 bytes, so the limit ends this loop.
      for _ in 0..<count {
        try readOperation(try readShape())
        try check(writer.count - start + names.count + operations.count)
      }
    }
    writer.append(count: nameCount)
    writer.append(names.span)
    writer.append(varint: count)
    writer.append(operations.span)
    try check(writer.count - start)
  }

  /// Throws if the transactions so far and one of `byteCount` bytes are too large.
  private func check(_ byteCount: Int) throws(FormatError) {
    guard byteCount <= bytesMax - produced else {
      throw reader.fail(
        .limitExceeded, at: reader.position, "run", expected: "transactions of at most \(bytesMax) bytes",
        found: "more")
    }
  }

  private mutating func readBase(_ head: RunHead) throws(FormatError) -> Base? {
    switch head.base {
    case .none: return nil
    case .same: break
    case .moved:
      state.base.offset &+= UInt64(bitPattern: try reader.readZigzag(.units, "run.base"))
    case .other:
      let bytes = try reader.readBytes(16, .random, "run.base")
      var identity = ByteReader(bytes)
      state.base.incarnation = try IncarnationID.read(from: &identity, "run.base")
      state.base.offset = try reader.readVarint(.units, "run.base")
    }
    return state.base
  }

  private mutating func readBodyFields(_ head: RunHead, into writer: inout ByteWriter) throws(FormatError) {
    writer.append(TransactionFormat.bodyVersion)
    writer.append(head.bodyFlags)
    try readTimestamp()
    writer.append(littleEndian: state.timestamp.rawValue)
    if head.bodyFlags & TransactionFormat.writeIDFlag != 0 {
      try reader.copyBytes(8, .random, "run.writeID", to: &writer)
    }
    payload.removeAll()
    if head.bodyFlags & TransactionFormat.authorFlag != 0 { try readWord() }
    if head.bodyFlags & TransactionFormat.labelFlag != 0 { try readWord() }
    writer.append(payload.span)
    if head.bodyFlags & TransactionFormat.schemaVersionFlag != 0 {
      state.schemaVersion &+= UInt64(bitPattern: try reader.readZigzag(.words, "run.schemaVersion"))
      writer.append(varint: state.schemaVersion)
    }
  }

  private mutating func readTimestamp() throws(FormatError) {
    let start = reader.position(.times)
    let code = try reader.readSplit(.times, "run.timestamp")
    let milliseconds = state.timestamp.milliseconds &+ UInt64(bitPattern: unzigzag(code >> 1))
    guard milliseconds <= Timestamp.millisecondsMax else {
      throw reader.fail(
        .invalid, at: start, "run.timestamp", expected: "48 bits of milliseconds", found: "another time")
    }
    var counter = state.expectedCounter(milliseconds)
    if code & 1 != 0 {
      let start = reader.position(.numbers)
      let number = try reader.readSplit(.numbers, "run.counter")
      guard number <= UInt64(UInt16.max) else {
        throw reader.fail(.invalid, at: start, "run.counter", expected: "16 bits", found: "\(number)")
      }
      counter = UInt16(number)
    }
    state.timestamp = Timestamp(milliseconds: milliseconds, counter: counter)
  }

  // MARK: Texts by number

  /// Appends a word after its byte count.
  mutating func readWord() throws(FormatError) {
    try reader.copyNumbered(.words, "run.word", in: &state.words, &text, to: &payload)
  }

  /// Appends a string after its byte count.
  mutating func readString() throws(FormatError) {
    try reader.copyNumbered(.strings, "run.string", in: &state.strings, &text, to: &payload)
  }

  /// Reads a name, and returns its number.
  mutating func readName(_ column: RunColumn) throws(FormatError) -> Int {
    let number = try reader.readIndex(column, below: state.names.count + 1, "run.name")
    if number > 0 { return number - 1 }
    let start = reader.position(.lengths)
    text.removeAll()
    try reader.copyText(after: state.names, to: &text)
    guard state.names.canAdd(text.count) else {
      throw reader.fail(
        .limitExceeded, at: start, "run.name",
        expected: "at most \(RunFormat.namesMax) names of \(Limits.recordNameBytesMax) bytes",
        found: "number \(state.names.count + 1), of \(text.count) bytes")
    }
    state.names.add(text)
    indexes.append((-1, 0))
    return state.names.count - 1
  }

  /// Appends the index of a name in the transaction's table of names to the payload.
  private mutating func appendIndex(_ number: Int) {
    if indexes[number].transaction != transaction {
      indexes[number] = (transaction, nameCount)
      nameCount += 1
      state.names.appendText(number, to: &names)
    }
    payload.append(count: indexes[number].index)
  }

  // MARK: An operation

  /// Reads the operation of a transaction that has no other.
  private mutating func readOnlyOperation() throws(FormatError) {
    let shape = try readShape()
    if shape == onlyShape, shape.mode.hasSameRecord {
      // The names are those of the last transaction, as when someone types.
      payload.removeAll()
      for index in 0..<nameCount { payload.append(count: index) }
      try readOperand(shape)
      return appendOperation(shape)
    }
    forgetNames()
    try readOperation(shape)
    // Each name has an index of its own, so the next like it can be written without a search.
    if nameCount == 3 { onlyShape = shape }
  }

  private mutating func forgetNames() {
    names.removeAll()
    nameCount = 0
    onlyShape = nil
  }

  private mutating func readOperation(_ shape: RunShape) throws(FormatError) {
    if !shape.mode.hasSameRecord { state.record = try readName(.records) }
    payload.removeAll()
    appendIndex(state.record)
    if shape.type >= 0 { appendIndex(shape.type) }
    if shape.field >= 0 { appendIndex(shape.field) }
    if shape.kind.namesUnits { state.cursor.enter(record: state.record, field: shape.field) }
    try readOperand(shape)
    appendOperation(shape)
  }

  /// Appends the operation with the payload that was read.
  private mutating func appendOperation(_ shape: RunShape) {
    operations.append(varint: shape.kind.rawValue)
    operations.append(counted: payload)
  }

  private mutating func readShape() throws(FormatError) -> RunShape {
    let number = try reader.readIndex(.heads, below: state.shapes.count + 1, "run.shape")
    guard number == 0 else { return state.shapes[number - 1] }
    let start = reader.position
    let kind = OperationKind(rawValue: try reader.readVarint(.heads, "run.kind"))
    let mode = RunMode(rawValue: try reader.readUInt8(.heads, "run.mode"))
    guard kind.isKnown, kind.payload != .floor, mode.fits(kind), !mode.hasSameRecord || state.record >= 0
    else {
      throw reader.fail(
        .invalid, at: start, "run.shape", expected: "a known kind, and a mode of it",
        found: "kind \(kind.rawValue), mode \(mode.rawValue)")
    }
    var shape = RunShape(kind: kind, mode: mode)
    switch kind.payload {
    case .record, .recordAndPlace, .floor, .opaque: break
    case .recordAndType, .recordTypeAndPlace: shape.type = try readName(.words)
    case .change:
      shape.type = try readName(.words)
      shape.field = try readName(.words)
    }
    if state.shapes.count < RunFormat.shapesMax { state.shapes.append(shape) }
    return shape
  }
}
