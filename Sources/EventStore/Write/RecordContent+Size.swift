import OperationFormat

extension RecordContent {
  /// An upper bound of the bytes of an operation's kind, byte count and three indexes.
  static let operationBytesMax = 16

  /// How many operations content takes, and how many bytes and steps of work at most.
  var size: (operations: Int, bytes: Int, steps: Int) {
    var operations = changes.count
    var (bytes, steps) = (0, 0)
    var last: Name?
    for change in changes {
      bytes += change.operand.count
      steps += FoldWork.steps(ofPayload: change.operand.count + Self.operationBytesMax)
      steps += FoldWork.steps(of: change.kind, operand: change.operand.span.bytes)
      // The changes of a field follow each other.
      if change.field != last { bytes += change.field.byteCount + 2 }
      last = change.field
    }
    for (field, text) in texts {
      // A part ends up to 3 bytes early, at a whole scalar.
      let parts = text.utf8.count / (Limits.insertedTextBytesMax - 3) + 1
      operations += parts
      steps += parts * FoldWork.steps(of: .insertText, operand: RawSpan())
      steps += FoldWork.stepsMax(ofOperations: parts, payloadBytes: text.utf8.count)
      bytes += text.utf8.count + field.byteCount + 2
    }
    return (operations, bytes + operations * Self.operationBytesMax, steps)
  }
}
