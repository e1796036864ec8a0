import LMDB
import OperationFormat

/// The operations of a write. Each one is added to its zone's transaction and folded at once.
extension LocalWrite {
  // MARK: The app's verbs

  func create(_ record: RecordID, type: Name) throws {
    try record.name.check("a record's name", Limits.recordNameBytesMax)
    try type.check("a type's name", Limits.nameBytesMax)
    let draft = try draft(for: record.zone)
    try record.name.withBytes { bytes in
      // One that a cascade hides reads as missing, so it can be created again.
      guard try aliveType(of: bytes, in: draft) == nil || !reader().contains(record) else {
        throw StoreError(
          .recordExists, "the record \(record) is there already", hint: "set its fields, or delete it first")
      }
      try applyCreate(bytes, type: type, in: draft)
    }
  }

  func delete(_ record: RecordID) throws {
    let draft = try draft(for: record.zone)
    try record.name.withBytes { bytes in
      guard try aliveType(of: bytes, in: draft) != nil else { throw try unknown(record) }
      try applyDelete(bytes, in: draft)
    }
  }

  /// Does the same as ``change(_:of:_:)`` with a register, and costs less.
  ///
  /// - Parameter makesAsset: whether large bytes become an asset.
  func set(_ field: Name, of record: RecordID, to newValue: Value, makesAsset: Bool = true) throws {
    try field.check("a field's name", Limits.nameBytesMax)
    let value = makesAsset ? try storing(newValue) : newValue
    try withOperand { operand in
      do throws(FormatError) {
        try value.stated(inLogOf: record.zone).encode(into: &operand)
      } catch {
        throw StoreError.unstorable(field, record, error)
      }
      let assets = value.mayNameAssets ? try store.knownAssets(in: [value]) : []
      try apply(.set, field, of: record, operand: operand.span, assets)
    }
  }

  /// Changes a field of a record.
  func change(_ field: Name, of record: RecordID, _ change: FieldChange) throws {
    try field.check("a field's name", Limits.nameBytesMax)
    let change = try storing(change)
    try withOperand { operand in
      do throws(FormatError) {
        try change.stated(inLogOf: record.zone).encode(into: &operand)
      } catch {
        throw StoreError.unstorable(field, record, error)
      }
      let assets = try store.knownAssets(in: change.values)
      try apply(change.kind, field, of: record, operand: operand.span, assets)
    }
  }

  @inline(__always)
  private func apply(
    _ kind: OperationKind, _ field: Name, of record: RecordID, operand: RawSpan, _ assets: [AssetReference]
  ) throws {
    let draft = try draft(for: record.zone)
    let name = record.name.rawValue.utf8Span.span
    guard try applyChange(field, of: name.bytes, kind, operand: operand, in: draft) else {
      throw try unknown(record)
    }
    if !assets.isEmpty { draft.content.assets += assets }
  }

  // MARK: Operations in a draft

  /// - Parameter origin: the record's former zone and name, as the operation encodes them; empty if the
  ///   record is new.
  func applyCreate(
    _ record: RawSpan, type: Name, movedFrom origin: RawSpan = RawSpan(), in draft: ZoneDraft
  ) throws {
    let number = try internName(type)
    focus(draft)
    let operation = try draft.beginOperation()
    try markingFailure { try store.fold.create(record, in: draft.state, type: number, index: operation) }
    let recordIndex = draft.encoder.nameIndex(record)
    let typeIndex = try nameIndex(number, in: draft)
    if origin.isEmpty {
      draft.encoder.appendCreate(record: recordIndex, type: typeIndex)
    } else {
      draft.encoder.appendMoveHere(record: recordIndex, type: typeIndex, from: origin)
    }
  }

  /// - Parameter destination: the copy's zone and name, as the operation encodes them; empty if the record is
  ///   deleted.
  func applyDelete(_ record: RawSpan, movedTo destination: RawSpan = RawSpan(), in draft: ZoneDraft) throws {
    focus(draft)
    let operation = try draft.beginOperation()
    try markingFailure {
      try store.fold.delete(record, in: draft.state, movedTo: destination, index: operation)
    }
    let recordIndex = draft.encoder.nameIndex(record)
    if destination.isEmpty {
      draft.encoder.appendDelete(record: recordIndex)
    } else {
      draft.encoder.appendMoveAway(record: recordIndex, to: destination)
    }
  }

  /// Changes a field of a record.
  ///
  /// - Returns: false if no such record is alive in the write.
  func applyChange(
    _ field: Name, of record: RawSpan, _ kind: OperationKind, operand: RawSpan, in draft: ZoneDraft
  ) throws -> Bool {
    guard let type = try aliveType(of: record, in: draft) else { return false }
    try check(type, of: record, in: draft)
    let fieldNumber = try internName(field)
    if !takesAnyKind { try store.checkKind(kind, fieldNumber, of: type) }
    focus(draft)
    let operation = try draft.beginOperation()
    try markingFailure {
      try store.fold.change(kind, fieldNumber, type: type, operand: operand, index: operation)
    }
    try encode(kind, fieldNumber, of: record, type, operand: operand, in: draft)
    return true
  }

  /// Adds an operation on a field to its zone's transaction.
  @inline(__always)
  func encode(
    _ kind: OperationKind, _ field: NameNumber, of record: RawSpan, _ type: NameNumber, operand: RawSpan,
    in draft: ZoneDraft
  ) throws {
    let recordIndex = draft.encoder.nameIndex(record)
    let typeIndex = try nameIndex(type, in: draft)
    let fieldIndex = try nameIndex(field, in: draft)
    guard !draft.target.renamings.isEmpty, kind.namesUnits else {
      return draft.encoder.append(
        kind, record: recordIndex, type: typeIndex, field: fieldIndex, operand: operand)
    }
    let renamed = try store.operandInNewNames(
      kind, field, operand: operand, draft.target.renamings, own: draft.target.lane)
    draft.encoder.append(
      kind, record: recordIndex, type: typeIndex, field: fieldIndex, operand: renamed.span)
  }

  /// The type of a record that is alive in the write; nil if it is not. A record that a cascade hides counts
  /// as alive, so that its reference can get another target.
  func aliveType(of record: RawSpan, in draft: ZoneDraft) throws -> NameNumber? {
    guard record.byteCount <= Limits.recordNameBytesMax else { return nil }
    // What is to be compacted is so before it is read: by the floor of this zone.
    focus(draft)
    return try store.fold.aliveType(of: record, in: draft.state, storage.policies)
  }

  // MARK: Names

  func internName(_ name: Name) throws -> NameNumber {
    if let number = store.recentNames.number(of: name) { return number }
    return try markingUnexpectedFailure { try store.internName(name) }
  }

  /// The index of a name in the draft's transaction.
  private func nameIndex(_ number: NameNumber, in draft: ZoneDraft) throws -> Int {
    for known in draft.content.numbered where known.name == number { return known.index }
    let index = draft.encoder.nameIndex(try store.name(number))
    if draft.content.numbered.count < ZoneDraft.Content.numberedMax {
      draft.content.numbered.append((number, index))
    }
    return index
  }
}
