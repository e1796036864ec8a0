import OperationFormat

extension LocalWrite {
  /// Moves a record to a zone that has none of its name. Refuses a wrong call before it changes anything.
  func move(_ record: RecordID, to zone: ZoneID) throws -> RecordID {
    let copy = RecordID(zone: zone, name: record.name)
    let source = try draft(for: record.zone)
    let target = try draft(for: zone)
    let reader = try reader()
    guard let content = try reader.content(of: record, for: zone) else { throw try unknown(record) }
    guard try !reader.contains(copy) else {
      throw StoreError(
        .recordExists, "the record \(copy) is there already",
        hint: zone == record.zone
          ? "move it to another zone" : "move it to another zone, or delete the record that is there first")
    }
    try record.name.withBytes { try move($0, record, copy, content, from: source, to: target) }
    return copy
  }

  /// The error of a call that names a record which is not there. If it has moved, it says where it is.
  func unknown(_ record: RecordID) throws -> StoreError {
    let place = try ForwardingReader(reader().view).place(of: record)
    return place.record == record ? .unknown(record) : .moved(record, place)
  }

  /// - Parameter content: the visible content of the record.
  private func move(
    _ name: RawSpan, _ record: RecordID, _ copy: RecordID, _ content: RecordContent, from source: ZoneDraft,
    to target: ZoneDraft
  ) throws {
    var origin = ByteWriter()
    var destination = ByteWriter()
    try encode(record, inLogOf: copy.zone, into: &origin)
    try encode(copy, inLogOf: record.zone, into: &destination)
    let moving = FoldWork.steps(ofPayload: 1024)
    try checkRoom(for: 1, name.byteCount + destination.count, moving, in: source)
    let made = content.size
    let typeBytes = content.type.byteCount
    try checkRoom(
      for: 1 + made.operations, name.byteCount + typeBytes + origin.count + made.bytes, moving + made.steps,
      in: target)

    try applyCreate(name, type: content.type, movedFrom: origin.span, in: target)
    try takingAnyKind {
      for made in content.changes {
        let operand = made.operand.span
        _ = try applyChange(made.field, of: name, made.kind, operand: operand.bytes, in: target)
      }
      for (field, text) in content.texts { _ = try insert(text, at: 0, field, of: name, in: target) }
    }
    target.content.assets += content.assets
    try applyDelete(name, movedTo: destination.span, in: source)
  }

  /// Encodes the other place of a record that moves, for the log of a zone.
  ///
  /// - Throws: ``StoreError`` `valueInvalid` if that log cannot name the place's zone.
  func encode(_ place: RecordID, inLogOf zone: ZoneID, into writer: inout ByteWriter) throws {
    do throws(FormatError) {
      try place.stated(inLogOf: zone).encodeOtherPlace(into: &writer)
    } catch {
      throw StoreError.unstorable(place, in: zone, error)
    }
  }

  /// Refuses operations that do not fit into a zone's transaction, before the first one is made.
  private func checkRoom(for operations: Int, _ bytes: Int, _ steps: Int, in draft: ZoneDraft) throws {
    try draft.check(
      operations: draft.encoder.operationCount + operations,
      bytes: draft.encoder.byteCount + bytes + 2 * RecordContent.operationBytesMax,
      steps: draft.encoder.steps + steps)
  }
}

extension StoreError {
  /// The record was moved away from where it is named.
  fileprivate static func moved(_ record: RecordID, _ place: RecordPlace) -> StoreError {
    let message = "the record \(record) was moved"
    return switch place {
    case .here(let found):
      StoreError(
        .recordUnknown, "\(message): it is \(found) now",
        hint: "name it as it is now: `current(_:)` says where a record is that has moved")
    case .elsewhere(let found):
      StoreError(
        .recordUnknown, "\(message) to \(found), which this store does not have",
        hint: "attach that zone and sync it, then name the record there")
    case .nowhere(let found):
      StoreError(
        .recordUnknown, "\(message) to \(found), and was deleted there",
        hint: "check its name; one that is created here is another record")
    }
  }
}
