/// Encodes the body of a transaction, operation by operation (bytes: ``TransactionFormat``; twin:
/// ``BodyDecoder``).
///
/// One encoder can make many bodies; once its buffers have grown, it allocates nothing. Get the index of a
/// name before its use. The next operation must then use the name, in the order record, type, field. The
/// encoder checks that, because a body with another order of names is invalid. The caller must check lengths
/// first (``Name/check(_:bytesMax:canBeEmpty:)``).
package struct BodyEncoder: ~Copyable, Sendable {
  /// How many operations have been appended.
  package private(set) var operationCount = 0
  /// The work of folding the operations: see ``FoldWork``.
  package private(set) var steps = 0
  /// How much the operations may grow when they are issued again: see ``RenamingGrowth``.
  package private(set) var renaming = RenamingGrowth()

  private var names = ByteWriter()
  private var nameRanges: [Range<Int>] = []
  /// For each name, whether an operation made a record with that name.
  private var made: [Bool] = []
  private var distinctNames = NameTable()
  private var usedNames = 0
  /// Whether the table of names is kept as it is: operations of unknown kinds may use any name.
  private var keepsNames = false

  private var operations = ByteWriter()
  /// Where the last operation begins, if it is on a field; else −1.
  private var lastOperation = -1
  private var lastSteps = 0
  private var lastRenaming = RenamingGrowth()

  package init() {}

  // MARK: The body

  /// Removes everything, and keeps the memory.
  package mutating func removeAll() {
    operationCount = 0
    steps = 0
    renaming = RenamingGrowth()
    names.removeAll()
    nameRanges.removeAll(keepingCapacity: true)
    made.removeAll(keepingCapacity: true)
    distinctNames.removeAll()
    operations.removeAll()
    lastOperation = -1
    usedNames = 0
    keepsNames = false
  }

  /// An upper bound of the finished body's size in bytes.
  package var byteCount: Int { TransactionFormat.bodyFieldsBytesMax + names.count + operations.count }

  /// Appends the finished body. There must be an operation, and author and label must not be too long.
  package func finish(
    timestamp: Timestamp, writeID: UInt64? = nil, author: String? = nil, label: String? = nil,
    schemaVersion: UInt64? = nil, into writer: inout ByteWriter
  ) {
    precondition((author?.utf8.count ?? 0) <= Limits.authorBytesMax, "the author is too long")
    precondition((label?.utf8.count ?? 0) <= Limits.labelBytesMax, "the label is too long")
    writer.append(TransactionFormat.bodyVersion)
    writer.append(
      (writeID == nil ? 0 : TransactionFormat.writeIDFlag)
        | (author == nil ? 0 : TransactionFormat.authorFlag)
        | (label == nil ? 0 : TransactionFormat.labelFlag)
        | (schemaVersion == nil ? 0 : TransactionFormat.schemaVersionFlag))
    writer.append(littleEndian: timestamp.rawValue)
    if let writeID { writer.append(littleEndian: writeID) }
    if let author { writer.append(text: author) }
    if let label { writer.append(text: label) }
    if let schemaVersion { writer.append(varint: schemaVersion) }
    writeNames(to: &writer)
    writeOperations(to: &writer)
  }

  // MARK: Names

  private func writeNames(to writer: inout ByteWriter) {
    precondition(nameRanges.count <= Limits.transactionNamesMax, "\(nameRanges.count) names")
    precondition(keepsNames || usedNames == nameRanges.count, "a name got an index and was not used")
    writer.append(count: nameRanges.count)
    writer.append(names.span)
  }

  /// How many names the table holds.
  var nameCount: Int { nameRanges.count }

  /// Returns the index of a name of 1 to 255 bytes: the next index if the name is new.
  package mutating func nameIndex(_ name: Name) -> Int {
    let utf8 = name.rawValue.utf8Span.span
    return nameIndex(utf8.bytes)
  }

  /// Returns the index of a name, given as UTF-8.
  package mutating func nameIndex(_ bytes: RawSpan) -> Int {
    precondition(1...Limits.recordNameBytesMax ~= bytes.byteCount, "a name of \(bytes.byteCount) bytes")
    var search = distinctNames.search(hash: distinctNames.hash(of: bytes))
    while let index = distinctNames.next(&search) {
      if equalBytes(names.span.extracting(nameRanges[index]), bytes) { return index }
    }
    distinctNames.insert(search)
    names.append(count: bytes.byteCount)
    nameRanges.append(names.count..<(names.count + bytes.byteCount))
    made.append(false)
    names.append(bytes)
    return nameRanges.count - 1
  }

  /// Allows names in any order, and names that no operation of a known kind uses. Call it for a table that
  /// was decoded together with operations of unknown kinds.
  mutating func keepNames() { keepsNames = true }

  // MARK: Operations

  private func writeOperations(to writer: inout ByteWriter) {
    precondition(1...Limits.transactionOperationsMax ~= operationCount, "\(operationCount) operations")
    writer.append(count: operationCount)
    writer.append(operations.span)
  }

  package mutating func appendCreate(record: Int, type: Int) {
    lastOperation = -1
    noteMade(record)
    beginOperation(.create, byteCount: size(record) + size(type))
    appendRecord(record)
    appendType(type)
  }

  package mutating func appendDelete(record: Int) {
    lastOperation = -1
    beginOperation(.delete, byteCount: size(record))
    appendRecord(record)
  }

  /// Appends that a record moved to another zone.
  ///
  /// - Parameter place: its new place, as ``RecordID/encodeOtherPlace(into:)`` encodes it.
  package mutating func appendMoveAway(record: Int, to place: RawSpan) {
    lastOperation = -1
    beginOperation(.moveAway, byteCount: size(record) + place.byteCount)
    appendRecord(record)
    operations.append(place)
  }

  /// Appends that a record moved here from another zone.
  ///
  /// - Parameter place: its old place, as ``RecordID/encodeOtherPlace(into:)`` encodes it.
  package mutating func appendMoveHere(record: Int, type: Int, from place: RawSpan) {
    lastOperation = -1
    noteMade(record)
    beginOperation(.moveHere, byteCount: size(record) + size(type) + place.byteCount)
    appendRecord(record)
    appendType(type)
    operations.append(place)
  }

  /// Appends that the log is folded together up to an offset.
  package mutating func appendCompact(floor: UInt64) {
    lastOperation = -1
    beginOperation(.compact, byteCount: ByteWriter.varintByteCount(floor))
    operations.append(varint: floor)
  }

  /// Appends an operation on a field.
  ///
  /// - Parameter operand: as ``FieldChange/encode(into:)`` encodes it.
  package mutating func append(
    _ kind: OperationKind, record: Int, type: Int, field: Int, operand: RawSpan
  ) {
    precondition(kind.payload == .change, "kind \(kind.rawValue) has no field")
    assert(Self.isOperand(operand, of: kind), "bytes that are no operand of kind \(kind.rawValue)")
    lastOperation = operations.count
    let stepsBefore = steps
    let payloadBytes = size(record) + size(type) + size(field) + operand.byteCount
    beginOperation(kind, byteCount: payloadBytes)
    appendRecord(record)
    appendType(type)
    appendName(field, bytesMax: Limits.nameBytesMax)
    operations.append(operand)
    steps += FoldWork.steps(of: kind, operand: operand)
    lastSteps = steps - stepsBefore
    lastRenaming = renaming
    renaming.add(kind, operand: operand, payloadBytes: payloadBytes)
  }

  /// Appends an operation of a kind that this version does not know. Afterwards, the table of names may have
  /// any names in any order.
  mutating func appendUnknown(kind: OperationKind, payload: RawSpan) {
    precondition(!kind.isKnown && kind.rawValue > 0, "kind \(kind.rawValue) is known")
    keepsNames = true
    lastOperation = -1
    beginOperation(kind, byteCount: payload.byteCount)
    operations.append(payload)
  }

  /// Removes the last operation, so that a longer one can replace it. It must be an operation on a field that
  /// used no name for the first time.
  package mutating func removeLast() {
    precondition(lastOperation >= 0, "no operation to remove")
    operations.truncate(to: lastOperation)
    operationCount -= 1
    steps -= lastSteps
    renaming = lastRenaming
    lastOperation = -1
  }

  private mutating func beginOperation(_ kind: OperationKind, byteCount: Int) {
    assert(OperationKind(rawValue: kind.rawValue) == kind, "OperationKind.init(rawValue:) lacks a kind")
    operations.append(varint: kind.rawValue)
    operations.append(count: byteCount)
    operationCount += 1
    steps += FoldWork.steps(ofPayload: byteCount)
  }

  private mutating func noteMade(_ record: Int) {
    if made[record] { steps += FoldWork.stepsOfMakingAgain }
    made[record] = true
  }

  private mutating func appendRecord(_ index: Int) { appendName(index, bytesMax: Limits.recordNameBytesMax) }

  private mutating func appendType(_ index: Int) { appendName(index, bytesMax: Limits.nameBytesMax) }

  /// Appends the index of a name, and checks the order of first use.
  private mutating func appendName(_ index: Int, bytesMax: Int) {
    precondition(nameRanges[index].count <= bytesMax, "a name of \(nameRanges[index].count) bytes")
    if !keepsNames && index >= usedNames {
      precondition(index == usedNames, "names got their indexes in another order than their use")
      usedNames += 1
    }
    operations.append(count: index)
  }

  private func size(_ index: Int) -> Int { ByteWriter.varintByteCount(UInt64(index)) }

  private static func isOperand(_ bytes: RawSpan, of kind: OperationKind) -> Bool {
    var reader = ByteReader(bytes)
    do throws(FormatError) {
      try FieldChange.validate(kind, &reader)
      try reader.finish("operand")
      return true
    } catch {
      return false
    }
  }
}
