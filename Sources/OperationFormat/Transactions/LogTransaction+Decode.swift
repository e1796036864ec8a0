extension LogTransaction {
  /// Decodes a transaction that takes all of `bytes`.
  ///
  /// - Throws: ``FormatError`` for any bytes that are not a transaction in its one encoded form; with
  ///   `.newerFormat` for one of a later version.
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
    var layout = BodyDecoder()
    try layout.parse(body, origin: reader.position)
    try layout.checkMoves(in: header.zone, body, origin: reader.position)
    try self.init(header: header, layout: layout, body: body)
  }

  /// Builds the transaction of a header and a body that `layout` has parsed.
  ///
  /// - Throws: nothing after the layout's checks, as long as the validator and the decoder of values agree.
  package init(header: TransactionHeader, layout: BodyDecoder, body: RawSpan) throws(FormatError) {
    let reader = ByteReader(body)
    let names = layout.names.map { Name(reader.string(in: $0)) }
    var operations: [LogOperation] = []
    operations.reserveCapacity(layout.operations.count)
    for operation in layout.operations {
      operations.append(try LogOperation(operation, names: names, body: body))
    }
    self.init(
      replica: header.replica, epoch: header.epoch, sequence: header.sequence, zone: header.zone,
      base: header.base, parent: header.parent, timestamp: layout.timestamp, writeID: layout.writeID,
      author: layout.author.map { reader.string(in: $0) }, label: layout.label.map { reader.string(in: $0) },
      schemaVersion: layout.schemaVersion, operations: operations,
      names: layout.hasUnknown ? names : nil)
  }
}

extension LogOperation {
  /// Builds the operation that lies in a parsed body.
  fileprivate init(_ layout: OperationLayout, names: [Name], body: RawSpan) throws(FormatError) {
    switch layout.kind {
    case .create:
      self = .create(record: names[layout.record], type: names[layout.type])
    case .delete:
      self = .delete(record: names[layout.record])
    case .moveAway:
      self = .moveAway(
        record: names[layout.record], to: try RecordID(otherPlace: body.extracting(layout.operand)))
    case .moveHere:
      self = .moveHere(
        record: names[layout.record], type: names[layout.type],
        from: try RecordID(otherPlace: body.extracting(layout.operand)))
    case _ where layout.kind.isKnown:
      self = .update(
        record: names[layout.record], type: names[layout.type], field: names[layout.field],
        try FieldChange(layout.kind, decoding: body.extracting(layout.operand)))
    default:
      self = .unknown(
        kind: layout.kind.rawValue, payload: body.extracting(layout.payload).withUnsafeBytes { Array($0) })
    }
  }
}
