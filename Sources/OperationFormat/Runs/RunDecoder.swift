/// Decodes a run (bytes: ``RunFormat``; twin: ``RunEncoder``).
///
/// It gives the bytes of each transaction as the encoder took them. What an encoder did not write may give bytes
/// that are no transaction: who reads them finds that. Any input gives bytes or a ``FormatError``.
package struct RunDecoder: ~Copyable, ~Escapable {
  private var reader: RunReader
  private var state: RunState
  private let bytesMax: Int
  private var produced = 0

  private var names = ByteWriter()
  private var nameCount = 0
  private var operations = ByteWriter()
  private var payload = ByteWriter()
  private var text = ByteWriter()
  /// For each name of the run, the transaction that used it last, and its index there.
  private var indexes: [(transaction: Int, index: Int)] = []
  private var transaction = 0
  /// For each maker of units, the operation that named it last, and its index there.
  private var makerIndexes: [(operation: Int, index: Int)] = []
  private var operation = 0
  private var makerCount = 0
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
  private mutating func readWord() throws(FormatError) {
    try reader.copyNumbered(.words, "run.word", in: &state.words, &text, to: &payload)
  }

  /// Appends a string after its byte count.
  private mutating func readString() throws(FormatError) {
    try reader.copyNumbered(.strings, "run.string", in: &state.strings, &text, to: &payload)
  }

  /// Reads a name, and returns its number.
  private mutating func readName(_ column: RunColumn) throws(FormatError) -> Int {
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

  // MARK: An operand

  private mutating func readOperand(_ shape: RunShape) throws(FormatError) {
    let (parts, mode) = (RunOperand(shape.kind), shape.mode)
    operation += 1
    makerCount = 0
    if parts.hasKey { try readString() }
    if parts.hasUnit { _ = try readUnit() }
    let origin = parts.hasOrigin ? try readOrigin(mode) : nil
    switch parts.tail {
    case .nothing:
      if parts.hasUnit { state.cursor.noteMove() }
    case .value: try readValue(mode.valueForm)
    case .values:
      let count = try reader.readVarint(.units, "run.values")
      payload.append(varint: count)
      // Each takes a byte at least, so the bytes end this loop.
      for _ in 0..<count { try reader.copyPlainValue(to: &payload) }
      state.cursor.noteInsertion(of: count, after: origin)
    case .runs: try readRuns(mode)
    case .text:
      let count = try reader.copyLetters(to: &payload)
      state.cursor.noteInsertion(of: count, after: origin)
    case .place:
      for _ in 0..<3 { try readWord() }
    }
  }

  private mutating func readRuns(_ mode: RunMode) throws(FormatError) {
    let runCount = mode.hasExpectedUnit ? 1 : try reader.readVarint(.units, "run.runs")
    payload.append(varint: runCount)
    // Each takes a byte at least, so the bytes end this loop.
    for _ in 0..<runCount {
      let first: UInt64?
      let count: UInt64
      if mode.hasExpectedUnit {
        count = try reader.readVarint(.units, "run.runs")
        first = state.cursor.removal(of: count)
        appendOwnUnit(first!)
      } else {
        first = try readUnit()
        count = try reader.readVarint(.units, "run.runs")
      }
      payload.append(varint: count)
      if let first { state.cursor.noteRemoval(from: first) }
    }
  }

  /// Copies an origin, and returns its number if it is an own unit.
  private mutating func readOrigin(_ mode: RunMode) throws(FormatError) -> UInt64? {
    let start = reader.position(.units)
    if mode.hasExpectedUnit {
      guard let unit = state.cursor.unit else {
        payload.append(0)
        return nil
      }
      appendOwnUnit(unit)
      return unit
    }
    let code = try reader.readVarint(.units, "run.unit")
    if code == 0 {
      payload.append(0)
      return nil
    }
    return try readUnit(code, at: start)
  }

  /// Copies a unit, and returns its number if it is an own unit.
  private mutating func readUnit() throws(FormatError) -> UInt64? {
    let start = reader.position(.units)
    let code = try reader.readVarint(.units, "run.unit")
    return try readUnit(code, at: start)
  }

  private mutating func readUnit(_ code: UInt64, at start: Int) throws(FormatError) -> UInt64? {
    switch code {
    case 1:
      let difference = try reader.readZigzag(.units, "run.unit")
      let number = state.cursor.expectedNumber &+ UInt64(bitPattern: difference)
      appendOwnUnit(number)
      return number
    case 2:
      var identity = ByteReader(try reader.readBytes(16, .random, "run.unit"))
      let replica = try ReplicaID.read(from: &identity, "run.unit")
      let epoch = try reader.readVarint(.units, "run.unit")
      guard let epoch = UInt32(exactly: epoch) else {
        throw reader.fail(.invalid, at: start, "run.unit", expected: "an epoch of 32 bits", found: "\(epoch)")
      }
      state.makers.append(
        (UnitMaker(replica: replica, epoch: epoch), try reader.readVarint(.units, "run.unit")))
      makerIndexes.append((-1, 0))
      appendUnit(ofMaker: state.makers.count - 1)
    default:
      guard code >= 3, code - 3 < UInt64(state.makers.count) else {
        throw reader.fail(
          .invalid, at: start, "run.unit", expected: "one of \(state.makers.count) makers",
          found: "code \(code)")
      }
      let difference = try reader.readZigzag(.units, "run.unit")
      state.makers[Int(code - 3)].number &+= UInt64(bitPattern: difference)
      appendUnit(ofMaker: Int(code - 3))
    }
    return nil
  }

  private mutating func appendOwnUnit(_ number: UInt64) {
    payload.append(UInt8(UnitCode.ownMaker))
    payload.append(varint: number)
  }

  /// Appends the unit with the last number of a maker.
  private mutating func appendUnit(ofMaker maker: Int) {
    let unit = state.makers[maker]
    if makerIndexes[maker].operation == operation {
      payload.append(varint: UnitCode.firstKnownMaker + UInt64(makerIndexes[maker].index))
    } else {
      makerIndexes[maker] = (operation, makerCount)
      makerCount += 1
      payload.append(UInt8(UnitCode.newMaker))
      payload.append(bigEndian: unit.maker.replica.rawValue)
      payload.append(varint: UInt64(unit.maker.epoch))
    }
    payload.append(varint: unit.number)
  }

  // MARK: A value

  private mutating func readValue(_ form: RunValueForm) throws(FormatError) {
    switch form {
    case .plain: try reader.copyPlainValue(to: &payload)
    case .int:
      payload.append(ValueTag.int.rawValue)
      payload.append(varint: try reader.readSplit(.numbers, "run.number"))
    case .string:
      payload.append(ValueTag.string.rawValue)
      try readString()
    case .date:
      payload.append(ValueTag.date.rawValue)
      let difference = unzigzag(try reader.readSplit(.numbers, "run.date"))
      payload.append(littleEndian: state.microseconds &+ difference)
    case .reference: try readReference(.none)
    case .cascade: try readReference(.cascade)
    case .nullify: try readReference(.nullify)
    case .uuid:
      payload.append(ValueTag.uuid.rawValue)
      try reader.copyBytes(16, .random, "run.uuid", to: &payload)
    }
  }

  private mutating func readReference(_ rule: ReferenceRule) throws(FormatError) {
    payload.append(ValueTag.reference.rawValue)
    payload.append(rule.rawValue)
    payload.append(0)
    let number = try readName(.records)
    state.names.appendText(number, to: &payload)
  }
}
