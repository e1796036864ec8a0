public import OperationFormat

/// A piece of a text that one operation has made.
public struct TextRun: Hashable, Sendable {
  /// The operation that inserted it.
  public let operation: OperationID
  /// The piece.
  public let text: String
}
