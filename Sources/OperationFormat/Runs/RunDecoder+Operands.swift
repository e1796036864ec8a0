/// Operands, and the units and values in them.
extension RunDecoder {
  // MARK: An operand

  mutating func readOperand(_ shape: RunShape) throws(FormatError) {
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
