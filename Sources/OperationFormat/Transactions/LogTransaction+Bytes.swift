extension LogTransaction {
  /// Returns the encoded transaction (bytes: `TransactionFormat`).
  ///
  /// - Throws: ``FormatError`` with `.limitExceeded` for too many operations, names or bytes, or a text that
  ///   is too long; `.invalid` for an empty name, no operations, a number that counts from 1 and is 0, a move
  ///   of a record to its own place, or an unknown operation with a known kind or 0; `.nonCanonical` if a
  ///   name is twice in ``names``.
  /// - Complexity: O(n) in the size
  public func encoded() throws(FormatError) -> [UInt8] {
    try header.check()
    try checkByteCount(author?.utf8.count ?? 0, in: "transaction.author", max: Limits.authorBytesMax)
    try checkByteCount(label?.utf8.count ?? 0, in: "transaction.label", max: Limits.labelBytesMax)
    guard 1...Limits.transactionOperationsMax ~= operations.count else {
      throw FormatError(
        operations.isEmpty ? .invalid : .limitExceeded, at: 0, in: "transaction.operations",
        expected: "1 to \(Limits.transactionOperationsMax)", found: "\(operations.count)")
    }
    var writer = ByteWriter()
    header.encode(into: &writer)
    try body(headerBytes: writer.count).finish(
      timestamp: timestamp, writeID: writeID, author: author, label: label, schemaVersion: schemaVersion,
      into: &writer)
    try TransactionFormat.checkSize(writer.count)
    return writer.bytes
  }

  private func body(headerBytes: Int) throws(FormatError) -> BodyEncoder {
    var encoder = BodyEncoder()
    if let names, hasUnknown {
      for name in names { try encoder.appendKept(name) }
      encoder.keepNames()
    }
    var value = ByteWriter()
    for operation in operations {
      // An earlier program, which stated the zone's owner, named other zones as its own user saw them.
      try encoder.append(
        statesOwner ? operation : operation.stated(inLogOf: zone),
        in: statesOwner ? zone : ZoneID(name: zone.name), scratch: &value)
      // A bound without the optional fields; the exact check follows at the end.
      try TransactionFormat.checkSize(headerBytes + encoder.byteCount - TransactionFormat.bodyFieldsBytesMax)
    }
    guard encoder.nameCount <= Limits.transactionNamesMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "transaction.names", expected: "at most \(Limits.transactionNamesMax)",
        found: "\(encoder.nameCount)")
    }
    return encoder
  }

  private var hasUnknown: Bool {
    operations.contains { if case .unknown = $0 { true } else { false } }
  }
}

extension LogTransaction {
  /// Decodes the transaction that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` if the bytes are not a transaction in its one encoded form; `.newerFormat` for
  ///   a transaction of a later version.
  /// - Complexity: O(n) in the size
  public init(decoding bytes: RawSpan) throws(FormatError) {
    guard bytes.byteCount <= Limits.transactionBytesMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "transaction", expected: "at most \(Limits.transactionBytesMax) bytes",
        found: "\(bytes.byteCount)")
    }
    var reader = ByteReader(bytes)
    let header = try TransactionHeader.read(from: &reader)
    let body = reader.bytes(in: reader.position..<reader.end)
    var decoder = BodyDecoder()
    try decoder.parse(body, origin: reader.position)
    try decoder.checkMoves(in: header.zone, body, origin: reader.position)
    try self.init(header: header, decoder: decoder, body: body)
  }

  /// Creates the transaction from a header and a body that `decoder` has parsed.
  ///
  /// - Throws: nothing in practice, because the decoder has checked the body with the same rules.
  init(header: TransactionHeader, decoder: BodyDecoder, body: RawSpan) throws(FormatError) {
    let reader = ByteReader(body)
    let names = decoder.names.map { Name(reader.string(in: $0)) }
    var operations: [LogOperation] = []
    operations.reserveCapacity(decoder.operations.count)
    for operation in decoder.operations {
      operations.append(try LogOperation(operation, names: names, body: body))
    }
    self.init(
      replica: header.replica, epoch: header.epoch, sequence: header.sequence, zone: header.zone,
      base: header.base, parent: header.parent, timestamp: decoder.timestamp, writeID: decoder.writeID,
      author: decoder.author.map { reader.string(in: $0) },
      label: decoder.label.map { reader.string(in: $0) },
      schemaVersion: decoder.schemaVersion, operations: operations,
      names: decoder.hasUnknown ? names : nil)
    statesOwner = header.statesOwner
  }
}

// MARK: One operation

extension BodyEncoder {
  /// Appends a name to a table that is kept as it was decoded.
  fileprivate mutating func appendKept(_ name: Name) throws(FormatError) {
    let count = nameCount
    let index = try checkedIndex(name, "transaction.names", bytesMax: Limits.recordNameBytesMax)
    guard index == count else {
      throw FormatError(
        .nonCanonical, at: 0, in: "transaction.names", expected: "names that differ",
        found: "number \(index) again as number \(count)")
    }
  }

  fileprivate mutating func append(
    _ operation: LogOperation, in zone: ZoneID, scratch: inout ByteWriter
  ) throws(FormatError) {
    switch operation {
    case .create(let record, let type):
      let record = try recordIndex(record)
      appendCreate(record: record, type: try typeIndex(type))
    case .delete(let record):
      appendDelete(record: try recordIndex(record))
    case .moveAway(let name, let place):
      try place.checkDiffers(from: RecordID(zone: zone, name: name), at: 0)
      scratch.removeAll()
      try place.encodeOtherPlace(into: &scratch)
      appendMoveAway(record: try recordIndex(name), to: scratch.span)
    case .moveHere(let name, let type, let place):
      try place.checkDiffers(from: RecordID(zone: zone, name: name), at: 0)
      scratch.removeAll()
      try place.encodeOtherPlace(into: &scratch)
      let record = try recordIndex(name)
      appendMoveHere(record: record, type: try typeIndex(type), from: scratch.span)
    case .update(let record, let type, let field, let change):
      scratch.removeAll()
      try change.encode(into: &scratch)
      let record = try recordIndex(record)
      let type = try typeIndex(type)
      let field = try checkedIndex(field, "operation.field", bytesMax: Limits.nameBytesMax)
      append(change.kind, record: record, type: type, field: field, operand: scratch.span)
    case .compact(let floor):
      guard floor > 0 else {
        throw FormatError(.invalid, at: 0, in: "operation.floor", expected: "an offset from 1", found: "0")
      }
      appendCompact(floor: floor)
    case .unknown(let number, let payload):
      let kind = OperationKind(rawValue: number)
      guard number > 0 && !kind.isKnown else {
        throw FormatError(
          .invalid, at: 0, in: "operation.kind", expected: "an unknown one", found: "\(number)")
      }
      appendUnknown(kind: kind, payload: payload.span.bytes)
    }
  }

  private mutating func recordIndex(_ name: Name) throws(FormatError) -> Int {
    try checkedIndex(name, "operation.record", bytesMax: Limits.recordNameBytesMax)
  }

  private mutating func typeIndex(_ name: Name) throws(FormatError) -> Int {
    try checkedIndex(name, "operation.type", bytesMax: Limits.nameBytesMax)
  }

  private mutating func checkedIndex(
    _ name: Name, _ subject: StaticString, bytesMax: Int
  ) throws(FormatError) -> Int {
    try name.check(subject, bytesMax: bytesMax)
    return nameIndex(name)
  }
}

extension LogOperation {
  /// Creates the operation at this layout of a parsed body.
  fileprivate init(_ layout: OperationLayout, names: [Name], body: RawSpan) throws(FormatError) {
    let operand = body.extracting(layout.operand)
    switch layout.kind.payload {
    case .recordAndType:
      self = .create(record: names[layout.record], type: names[layout.type])
    case .record:
      self = .delete(record: names[layout.record])
    case .recordAndPlace:
      self = .moveAway(record: names[layout.record], to: try RecordID(otherPlace: operand))
    case .recordTypeAndPlace:
      self = .moveHere(
        record: names[layout.record], type: names[layout.type], from: try RecordID(otherPlace: operand))
    case .change:
      self = .update(
        record: names[layout.record], type: names[layout.type], field: names[layout.field],
        try FieldChange(layout.kind, decoding: operand))
    case .floor: self = .compact(floor: layout.floor!)
    case .opaque:
      let payload = body.extracting(layout.payload).withUnsafeBytes { Array($0) }
      self = .unknown(kind: layout.kind.rawValue, payload: payload)
    }
  }
}
