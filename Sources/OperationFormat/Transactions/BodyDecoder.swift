/// Decodes the body of a transaction (bytes: ``TransactionFormat``; twin: ``BodyEncoder``): checks all rules,
/// and keeps the ranges of the parts.
///
/// It builds no strings and no values. One decoder can parse many bodies; once its arrays have grown, it
/// allocates nothing. All ranges are offsets in the parsed span.
package struct BodyDecoder: Sendable {
  package private(set) var timestamp = Timestamp(rawValue: 0)
  private(set) var writeID: UInt64?
  /// The UTF-8 of the author.
  private(set) var author: Range<Int>?
  /// The UTF-8 of the label.
  private(set) var label: Range<Int>?
  private(set) var schemaVersion: UInt64?
  /// The UTF-8 of each name.
  package private(set) var names: [Range<Int>] = []
  package private(set) var operations: [OperationLayout] = []
  /// Whether an operation is of an unknown kind.
  package private(set) var hasUnknown = false
  /// The offset up to which the transaction folds the log together, if that is all that it does.
  package var floor: UInt64? { operations.count == 1 ? operations[0].floor : nil }
  /// Whether an operation has no record, and is known.
  private(set) var hasFloor = false

  /// Whether an operation is a move: its place can be checked only when the zone is known.
  private var hasMoves = false

  private var distinctNames = NameTable()
  // The number of names used so far, and the position of the first use that is out of order.
  private var usedNames = 0
  private var firstUseOutOfOrder: Int?

  package init() {}

  // MARK: The body

  /// Parses the body that fills `body`. After an error, do not use the decoder's properties.
  ///
  /// - Parameter origin: the offset of the body in the whole that is decoded; it is added to the offsets of
  ///   errors.
  package mutating func parse(_ body: RawSpan, origin: Int = 0) throws(FormatError) {
    var reader = ByteReader(body, origin: origin)
    try parse(&reader)
  }

  /// Throws `.invalid` if a record moves to its own place.
  ///
  /// - Parameters:
  ///   - zone: the zone of the transaction whose body was parsed.
  ///   - origin: as in ``parse(_:origin:)``.
  package func checkMoves(in zone: ZoneID, _ body: RawSpan, origin: Int = 0) throws(FormatError) {
    guard hasMoves else { return }
    for operation in operations {
      switch operation.kind.payload {
      case .recordAndPlace, .recordTypeAndPlace: break
      case .record, .recordAndType, .change, .floor, .opaque: continue
      }
      let name = Name(ByteReader(body).string(in: names[operation.record]))
      let place = try RecordID(otherPlace: body.extracting(operation.operand))
      try place.checkDiffers(
        from: RecordID(zone: zone, name: name), at: origin + operation.operand.lowerBound)
    }
  }

  private mutating func parse(_ reader: inout ByteReader) throws(FormatError) {
    guard reader.remaining <= Limits.transactionBytesMax else {
      throw reader.fail(
        .limitExceeded, at: 0, "transaction", expected: "at most \(Limits.transactionBytesMax) bytes",
        found: "\(reader.remaining)")
    }
    try readFixedFields(&reader)
    try readNames(&reader)
    try readOperations(&reader)
    try reader.finish("transaction")
    if hasUnknown { return }
    if let firstUseOutOfOrder {
      throw reader.fail(
        .nonCanonical, at: firstUseOutOfOrder, "transaction.names", expected: "names in order of first use",
        found: "another order")
    }
    guard usedNames == names.count else {
      throw reader.fail(
        .nonCanonical, at: names[usedNames].lowerBound, "transaction.names", expected: "a name that is used",
        found: "an unused name")
    }
  }

  private mutating func readFixedFields(_ reader: inout ByteReader) throws(FormatError) {
    let flags = try reader.readVersionAndFlags(
      "transaction.body", version: TransactionFormat.bodyVersion, flagsMask: TransactionFormat.bodyFlagsMask)
    timestamp = Timestamp(rawValue: try reader.readLittleEndian("transaction.timestamp"))
    writeID = nil
    author = nil
    label = nil
    schemaVersion = nil
    if flags & TransactionFormat.writeIDFlag != 0 {
      writeID = try reader.readLittleEndian("transaction.writeID", as: UInt64.self)
    }
    if flags & TransactionFormat.authorFlag != 0 {
      author = try reader.readText("transaction.author", bytesMax: Limits.authorBytesMax)
    }
    if flags & TransactionFormat.labelFlag != 0 {
      label = try reader.readText("transaction.label", bytesMax: Limits.labelBytesMax)
    }
    if flags & TransactionFormat.schemaVersionFlag != 0 {
      schemaVersion = try reader.readVarint("transaction.schemaVersion")
    }
  }

  // MARK: Names

  private mutating func readNames(_ reader: inout ByteReader) throws(FormatError) {
    names.removeAll(keepingCapacity: true)
    distinctNames.removeAll()
    let count = try reader.readCount(
      "transaction.names", elementBytesMin: 2, max: Limits.transactionNamesMax)
    for _ in 0..<count {
      let start = reader.position
      let name = try reader.readText(
        "transaction.names", bytesMin: 1, bytesMax: Limits.recordNameBytesMax)
      guard isNew(name, reader, comparesAll: count <= 8) else {
        throw reader.fail(
          .nonCanonical, at: start, "transaction.names", expected: "names that differ", found: "one again")
      }
      names.append(name)
    }
  }

  /// Whether a name is not in the table yet. A few names are compared with each other, which is faster than a
  /// hash table.
  private mutating func isNew(
    _ name: Range<Int>, _ reader: borrowing ByteReader, comparesAll: Bool
  ) -> Bool {
    let bytes = reader.bytes(in: name)
    if comparesAll {
      for other in names where equalBytes(reader.bytes(in: other), bytes) { return false }
      return true
    }
    var search = distinctNames.search(hash: distinctNames.hash(of: bytes))
    while let other = distinctNames.next(&search) {
      if equalBytes(reader.bytes(in: names[other]), bytes) { return false }
    }
    distinctNames.insert(search)
    return true
  }

  // MARK: Operations

  private mutating func readOperations(_ reader: inout ByteReader) throws(FormatError) {
    operations.removeAll(keepingCapacity: true)
    hasUnknown = false
    hasFloor = false
    hasMoves = false
    usedNames = 0
    firstUseOutOfOrder = nil
    let start = reader.position
    let count = try reader.readCount(
      "transaction.operations", elementBytesMin: 2, max: Limits.transactionOperationsMax)
    guard count > 0 else {
      throw reader.fail(.invalid, at: start, "transaction.operations", expected: "1 or more", found: "0")
    }
    for _ in 0..<count { operations.append(try readOperation(&reader)) }
  }

  private mutating func readOperation(_ reader: inout ByteReader) throws(FormatError) -> OperationLayout {
    let kind = OperationKind(rawValue: try reader.readVarint("operation.kind", in: 1 ... .max))
    let byteCount = try reader.readCount("operation.payload")
    let start = reader.position
    var operation = OperationLayout(kind: kind, payload: start..<(start + byteCount))
    guard kind.isKnown else {
      hasUnknown = true
      _ = try reader.readBytes(byteCount, "operation.payload")
      return operation
    }
    let end = reader.narrow(toNext: byteCount)
    if kind.payload == .floor {
      operation.floor = try reader.readVarint("operation.floor", in: 1 ... .max)
      hasFloor = true
      try reader.finish("operation.payload")
      reader.widen(to: end)
      return operation
    }
    operation.record = try readName(&reader, "operation.record", bytesMax: Limits.recordNameBytesMax)
    switch kind.payload {
    case .record: break
    case .recordAndType:
      operation.type = try readType(&reader)
    case .recordAndPlace:
      operation.operand = try readPlace(&reader)
    case .recordTypeAndPlace:
      operation.type = try readType(&reader)
      operation.operand = try readPlace(&reader)
    case .change:
      operation.type = try readType(&reader)
      operation.field = try readName(&reader, "operation.field", bytesMax: Limits.nameBytesMax)
      let start = reader.position
      try FieldChange.validate(kind, &reader)
      operation.operand = start..<reader.position
    case .floor, .opaque: preconditionFailure("a kind without a record")
    }
    try reader.finish("operation.payload")
    reader.widen(to: end)
    return operation
  }

  private mutating func readType(_ reader: inout ByteReader) throws(FormatError) -> Int {
    try readName(&reader, "operation.type", bytesMax: Limits.nameBytesMax)
  }

  private mutating func readPlace(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
    hasMoves = true
    let start = reader.position
    try RecordID.validateOtherPlace(&reader)
    return start..<reader.position
  }

  /// Reads the index of a name, and records the order of first use.
  private mutating func readName(
    _ reader: inout ByteReader, _ subject: StaticString, bytesMax: Int
  ) throws(FormatError) -> Int {
    let start = reader.position
    let index = try reader.readVarint(subject)
    guard index < UInt64(names.count) else {
      throw reader.fail(
        .invalid, at: start, subject, expected: "the index of one of \(names.count) names", found: "\(index)")
    }
    let name = names[Int(index)]
    guard name.count <= bytesMax else {
      throw reader.fail(
        .limitExceeded, at: start, subject, expected: "a name of at most \(bytesMax) bytes",
        found: "\(name.count)")
    }
    if index == UInt64(usedNames) {
      usedNames += 1
    } else if index > UInt64(usedNames), firstUseOutOfOrder == nil {
      firstUseOutOfOrder = start
    }
    return Int(index)
  }
}

/// The ranges of the parts of one operation in a transaction's body.
package struct OperationLayout: Hashable, Sendable {
  package var kind: OperationKind
  /// The index of the record's name in the table; −1 in an operation without one, or of an unknown kind.
  package var record = -1
  /// The index of the type's name in the table; −1 if there is none.
  package var type = -1
  /// The index of the field's name in the table; −1 if there is none.
  package var field = -1
  /// The operand of an operation on a field (see ``FieldChange``), or the other place of a record that moves;
  /// else empty.
  package var operand = 0..<0
  /// The offset that an operation without a record names.
  var floor: UInt64?
  /// The bytes of the payload.
  var payload: Range<Int>
}
