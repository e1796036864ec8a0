import OperationFormat

extension WriteBatch {
  /// Moves a record that is visible to the write to a zone where none of its name is. An error of the app's comes before
  /// anything is done.
  ///
  /// - Parameter content: what the record shows.
  func move(_ record: RawSpan, _ content: RecordContent, from source: Draft, to target: Draft) throws {
    var origin = ByteWriter()
    var destination = ByteWriter()
    let name = try Name(interned: record)
    guard let sourceZone = source.id, let targetZone = target.id else {
      preconditionFailure("a draft without a zone")
    }
    try RecordID(zone: sourceZone, name: name).encodeOtherPlace(into: &origin)
    try RecordID(zone: targetZone, name: name).encodeOtherPlace(into: &destination)
    let moving = FoldWork.steps(ofPayload: 1024)
    try checkRoom(for: 1, record.byteCount + destination.count, moving, in: source)
    let made = Self.size(of: content)
    let typeBytes = content.type.byteCount
    try checkRoom(
      for: 1 + made.operations, record.byteCount + typeBytes + origin.count + made.bytes, moving + made.steps,
      in: target)

    try create(record, type: content.type, movedFrom: origin.span, in: target)
    for made in content.changes {
      let operand = made.operand.span
      _ = try change(made.field, of: record, made.kind, operand: operand.bytes, in: target)
    }
    for (field, text) in content.texts { _ = try insert(text, at: 0, field, of: record, in: target) }
    target.assets += content.assets
    try delete(record, movedTo: destination.span, in: source)
  }

  /// At least the bytes of an operation's numbers: kind, byte count and three indexes.
  private static let operationBytesMax = 16

  /// How many operations content takes, and how many bytes and steps of work at most.
  private static func size(of content: RecordContent) -> (operations: Int, bytes: Int, steps: Int) {
    var operations = content.changes.count
    var (bytes, steps) = (0, 0)
    var last: Name?
    for change in content.changes {
      bytes += change.operand.count
      steps += FoldWork.steps(ofPayload: change.operand.count + operationBytesMax)
      steps += FoldWork.steps(of: change.kind, operand: change.operand.span.bytes)
      // The changes of a field follow each other.
      if change.field != last { bytes += change.field.byteCount + 2 }
      last = change.field
    }
    for (field, text) in content.texts {
      // A part ends up to 3 bytes early, at a whole scalar.
      let parts = text.utf8.count / (Limits.insertedTextBytesMax - 3) + 1
      operations += parts
      steps += parts * FoldWork.steps(of: .insertText, operand: RawSpan())
      steps += FoldWork.stepsMax(ofOperations: parts, payloadBytes: text.utf8.count)
      bytes += text.utf8.count + field.byteCount + 2
    }
    return (operations, bytes + operations * operationBytesMax, steps)
  }

  /// Refuses operations that a zone's transaction has no room for, before any of them is made.
  private func checkRoom(for operations: Int, _ bytes: Int, _ steps: Int, in draft: Draft) throws {
    try Self.checkSize(
      operations: draft.builder.operationCount + operations,
      bytes: draft.builder.byteCount + bytes + 2 * Self.operationBytesMax,
      steps: draft.builder.steps + steps, draft.builder.renaming)
  }
}
