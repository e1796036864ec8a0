extension LogTransaction {
  /// Returns the encoded transaction: the header (table at `TransactionHeader`), then the body (table at
  /// `BodyFormat`).
  ///
  /// - Throws: ``FormatError`` with `.limitExceeded` for too many operations, names or bytes, or too long a
  ///   text, `.invalid` for an empty name, no operations, a number that counts from 1 and is 0, a move of a record to
  ///   where it is, or an operation that says it is unknown and has a known kind or 0, `.nonCanonical` for a name that
  ///   stands twice in ``names``.
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
    try BodyFormat.checkSize(writer.count)
    return writer.bytes
  }

  private func body(headerBytes: Int) throws(FormatError) -> BodyEncoder {
    var builder = BodyEncoder()
    if let names, hasUnknown {
      for name in names { try builder.appendKept(name) }
      builder.keepNames()
    }
    var value = ByteWriter()
    for operation in operations {
      try builder.append(operation, in: zone, scratch: &value)
      // The upper bound may be too high by the parts that are not there: the exact check comes at the end.
      try BodyFormat.checkSize(headerBytes + builder.byteCount - BodyFormat.fixedBytesMax)
    }
    guard builder.nameCount <= Limits.transactionNamesMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "transaction.names", expected: "at most \(Limits.transactionNamesMax)",
        found: "\(builder.nameCount)")
    }
    return builder
  }

  private var hasUnknown: Bool {
    operations.contains { if case .unknown = $0 { true } else { false } }
  }
}

extension BodyEncoder {
  /// Appends a name to a table that is kept as it came.
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
