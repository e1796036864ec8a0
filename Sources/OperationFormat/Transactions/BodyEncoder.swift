/// Builds the body of a transaction, operation by operation, while the transaction is made.
///
/// The encoder of bodies (see `BodyFormat` for the bytes). One builder may make body after body; it allocates
/// nothing once it has grown. A name gets its number before it is used and is then used in the next
/// operation, by record, type and field in this order: the builder checks that, because a body with another
/// order of names is not valid. Whoever calls checks lengths first (``Name/check(_:bytesMax:canBeEmpty:)``).
package struct BodyEncoder: ~Copyable, Sendable {
  /// How many operations have been appended.
  package private(set) var operationCount = 0
  /// What folding them takes: see ``FoldWork``.
  package private(set) var steps = 0
  /// What they may grow by where they are issued again: see ``RenamedUnits``.
  package private(set) var renaming = RenamedUnits()

  private var names = ByteWriter()
  private var nameRanges: [Range<Int>] = []
  /// Whether a record of that name was made.
  private var made: [Bool] = []
  private var numbers = NameTable()
  private var operations = ByteWriter()
  /// Where the last operation begins, if it is one on a field; else −1.
  private var lastOperation = -1
  private var lastSteps = 0
  private var lastRenaming = RenamedUnits()
  private var usedNames = 0
  // With operations of unknown kinds, the table of names is kept as it is: they may use any of it.
  private var keepsNames = false

  package init() {}

  /// Forgets everything but the capacity.
  package mutating func removeAll() {
    operationCount = 0
    steps = 0
    renaming = RenamedUnits()
    names.removeAll()
    nameRanges.removeAll(keepingCapacity: true)
    made.removeAll(keepingCapacity: true)
    numbers.removeAll()
    operations.removeAll()
    lastOperation = -1
    usedNames = 0
    keepsNames = false
  }

  /// An upper bound of the finished body's size in bytes.
  package var byteCount: Int { BodyFormat.fixedBytesMax + names.count + operations.count }

  /// How many names the table holds.
  package var nameCount: Int { nameRanges.count }

  /// Returns the number of a name of 1 to 255 bytes, the next one if it is new.
  package mutating func nameIndex(_ name: Name) -> Int {
    let utf8 = name.rawValue.utf8Span.span
    return nameIndex(utf8.bytes)
  }

  /// Returns the number of a name that is given by its UTF-8.
  package mutating func nameIndex(_ bytes: RawSpan) -> Int {
    precondition(1...Limits.recordNameBytesMax ~= bytes.byteCount, "a name of \(bytes.byteCount) bytes")
    var search = numbers.search(hash: numbers.hash(of: bytes))
    while let number = numbers.next(&search) {
      if equalBytes(names.span.extracting(nameRanges[number]), bytes) { return number }
    }
    numbers.insert(search)
    names.append(count: bytes.byteCount)
    nameRanges.append(names.count..<(names.count + bytes.byteCount))
    made.append(false)
    names.append(bytes)
    return nameRanges.count - 1
  }

  package mutating func appendCreate(record: Int, type: Int) {
    lastOperation = -1
    noteMade(record)
    beginOperation(.create, byteCount: size(record) + size(type))
    appendName(record, bytesMax: Limits.recordNameBytesMax)
    appendName(type, bytesMax: Limits.nameBytesMax)
  }

  package mutating func appendDelete(record: Int) {
    lastOperation = -1
    beginOperation(.delete, byteCount: size(record))
    appendName(record, bytesMax: Limits.recordNameBytesMax)
  }

  /// Appends that a record left for another zone.
  ///
  /// - Parameter place: where to, as ``RecordID/encodeOtherPlace(into:)`` wrote it.
  package mutating func appendMoveAway(record: Int, to place: RawSpan) {
    lastOperation = -1
    beginOperation(.moveAway, byteCount: size(record) + place.byteCount)
    appendName(record, bytesMax: Limits.recordNameBytesMax)
    operations.append(place)
  }

  /// Appends that a record came from another zone.
  ///
  /// - Parameter place: where from, as ``RecordID/encodeOtherPlace(into:)`` wrote it.
  package mutating func appendMoveHere(record: Int, type: Int, from place: RawSpan) {
    lastOperation = -1
    noteMade(record)
    beginOperation(.moveHere, byteCount: size(record) + size(type) + place.byteCount)
    appendName(record, bytesMax: Limits.recordNameBytesMax)
    appendName(type, bytesMax: Limits.nameBytesMax)
    operations.append(place)
  }

  /// Appends an operation on a field.
  ///
  /// - Parameter operand: what it says of the field, as ``FieldChange/encode(into:)`` wrote it.
  package mutating func append(
    _ kind: OperationKind, record: Int, type: Int, field: Int, operand: RawSpan
  ) {
    precondition(kind.hasField, "kind \(kind.rawValue) has no field")
    assert(Self.isOperand(operand, of: kind), "bytes that are no operand of kind \(kind.rawValue)")
    lastOperation = operations.count
    let stepsBefore = steps
    let payloadBytes = size(record) + size(type) + size(field) + operand.byteCount
    beginOperation(kind, byteCount: payloadBytes)
    appendName(record, bytesMax: Limits.recordNameBytesMax)
    appendName(type, bytesMax: Limits.nameBytesMax)
    appendName(field, bytesMax: Limits.nameBytesMax)
    operations.append(operand)
    steps += FoldWork.steps(of: kind, operand: operand)
    lastSteps = steps - stepsBefore
    lastRenaming = renaming
    renaming.add(kind, operand: operand, payloadBytes: payloadBytes)
  }

  /// Takes back the last operation, which was one on a field and whose names were all used before it, so that a longer one
  /// can take its place.
  package mutating func removeLast() {
    precondition(lastOperation >= 0, "no operation to take back")
    operations.truncate(to: lastOperation)
    operationCount -= 1
    steps -= lastSteps
    renaming = lastRenaming
    lastOperation = -1
  }

  /// Appends an operation of a kind that this version does not know. From here on the table of names may hold
  /// any names in any order.
  package mutating func appendUnknown(kind: OperationKind, payload: RawSpan) {
    precondition(!kind.isKnown && kind.rawValue > 0, "kind \(kind.rawValue) is not an unknown one")
    keepsNames = true
    lastOperation = -1
    beginOperation(kind, byteCount: payload.byteCount)
    operations.append(payload)
  }

  /// Allows names that no operation of a known kind uses, in any order: for a table that came with operations
  /// of unknown kinds.
  package mutating func keepNames() { keepsNames = true }

  /// Appends the finished body. There must be an operation, and author and label must keep to their limits.
  package func finish(
    timestamp: Timestamp, writeID: UInt64? = nil, author: String? = nil, label: String? = nil,
    schemaVersion: UInt64? = nil, into writer: inout ByteWriter
  ) {
    precondition(1...Limits.transactionOperationsMax ~= operationCount, "\(operationCount) operations")
    precondition(nameRanges.count <= Limits.transactionNamesMax, "\(nameRanges.count) names")
    precondition(keepsNames || usedNames == nameRanges.count, "a name got a number and was not used")
    precondition((author?.utf8.count ?? 0) <= Limits.authorBytesMax, "the author is too long")
    precondition((label?.utf8.count ?? 0) <= Limits.labelBytesMax, "the label is too long")
    writer.append(BodyFormat.version)
    writer.append(
      (writeID == nil ? 0 : BodyFormat.writeIDFlag) | (author == nil ? 0 : BodyFormat.authorFlag)
        | (label == nil ? 0 : BodyFormat.labelFlag)
        | (schemaVersion == nil ? 0 : BodyFormat.schemaVersionFlag))
    writer.append(littleEndian: timestamp.rawValue)
    if let writeID { writer.append(littleEndian: writeID) }
    if let author { writer.append(text: author) }
    if let label { writer.append(text: label) }
    if let schemaVersion { writer.append(varint: schemaVersion) }
    writer.append(count: nameRanges.count)
    writer.append(names.span)
    writer.append(count: operationCount)
    writer.append(operations.span)
  }

  private mutating func beginOperation(_ kind: OperationKind, byteCount: Int) {
    operations.append(varint: kind.rawValue)
    operations.append(count: byteCount)
    operationCount += 1
    steps += FoldWork.steps(ofPayload: byteCount)
  }

  private mutating func noteMade(_ record: Int) {
    if made[record] { steps += FoldWork.stepsOfMakingAgain }
    made[record] = true
  }

  private mutating func appendName(_ number: Int, bytesMax: Int) {
    precondition(nameRanges[number].count <= bytesMax, "a name of \(nameRanges[number].count) bytes")
    if !keepsNames && number >= usedNames {
      precondition(number == usedNames, "names got their numbers in another order than their use")
      usedNames += 1
    }
    operations.append(count: number)
  }

  private func size(_ number: Int) -> Int { ByteWriter.varintByteCount(UInt64(number)) }

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
