/// Where the parts of a transaction's body lie in its bytes, after all its rules were checked.
///
/// The decoder of bodies (see `BodyFormat` for the bytes). It builds no string and no value, and one layout
/// may parse body after body without allocating once its arrays have grown. All ranges are offsets in the
/// parsed span.
package struct BodyDecoder: Sendable {
  package private(set) var timestamp = Timestamp(rawValue: 0)
  package private(set) var writeID: UInt64?
  /// The UTF-8 of the author.
  package private(set) var author: Range<Int>?
  /// The UTF-8 of the label.
  package private(set) var label: Range<Int>?
  package private(set) var schemaVersion: UInt64?
  /// The UTF-8 of each name.
  package private(set) var names: [Range<Int>] = []
  package private(set) var operations: [OperationLayout] = []
  /// Whether an operation is of an unknown kind.
  package private(set) var hasUnknown = false

  /// Whether an operation is a move: what it names can only be checked where the zone is known.
  private var hasMoves = false

  private var distinctNames = NameTable()
  // How many names are used, and where the first use out of order is.
  private var usedNames = 0
  private var firstUseOutOfOrder: Int?

  package init() {}

  /// Parses a body that takes all of `body`. After an error the layout holds nothing of use.
  ///
  /// - Parameter origin: the offset of the body in the decoded thing; it is added to the offsets of errors.
  package mutating func parse(_ body: RawSpan, origin: Int = 0) throws(FormatError) {
    var reader = ByteReader(body, origin: origin)
    try parse(&reader)
  }

  /// Throws `.invalid` for a move of a record to where it is. The body was parsed, and is a transaction's of a zone.
  ///
  /// - Parameter origin: as in ``parse(_:origin:)``.
  package func checkMoves(in zone: ZoneID, _ body: RawSpan, origin: Int = 0) throws(FormatError) {
    guard hasMoves else { return }
    for operation in operations where operation.kind.isMove {
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
        found: "one that is not")
    }
  }

  private mutating func readFixedFields(_ reader: inout ByteReader) throws(FormatError) {
    let flags = try reader.readVersionAndFlags(
      "transaction.body", version: BodyFormat.version, flagsMask: BodyFormat.flagsMask)
    timestamp = Timestamp(rawValue: try reader.readLittleEndian("transaction.timestamp"))
    writeID = nil
    author = nil
    label = nil
    schemaVersion = nil
    if flags & BodyFormat.writeIDFlag != 0 {
      writeID = try reader.readLittleEndian("transaction.writeID", as: UInt64.self)
    }
    if flags & BodyFormat.authorFlag != 0 {
      author = try reader.readText("transaction.author", bytesMax: Limits.authorBytesMax)
    }
    if flags & BodyFormat.labelFlag != 0 {
      label = try reader.readText("transaction.label", bytesMax: Limits.labelBytesMax)
    }
    if flags & BodyFormat.schemaVersionFlag != 0 {
      schemaVersion = try reader.readVarint("transaction.schemaVersion")
    }
  }

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

  /// Says whether a name is not in the table yet. A few names are compared with each other, which is faster.
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

  private mutating func readOperations(_ reader: inout ByteReader) throws(FormatError) {
    operations.removeAll(keepingCapacity: true)
    hasUnknown = false
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
    operation.record = try readName(&reader, "operation.record", bytesMax: Limits.recordNameBytesMax)
    if kind.hasType {
      operation.type = try readName(&reader, "operation.type", bytesMax: Limits.nameBytesMax)
    }
    if kind.hasField {
      operation.field = try readName(&reader, "operation.field", bytesMax: Limits.nameBytesMax)
      let start = reader.position
      try FieldChange.validate(kind, &reader)
      operation.operand = start..<reader.position
    } else if kind.isMove {
      hasMoves = true
      let start = reader.position
      try RecordID.validateOtherPlace(&reader)
      operation.operand = start..<reader.position
    }
    try reader.finish("operation.payload")
    reader.widen(to: end)
    return operation
  }

  /// Reads the index of a name and takes note of the order of first use.
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
