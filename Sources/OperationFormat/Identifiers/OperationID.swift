/// The identity of an operation: its transaction and its place in it.
///
/// Text form: `replica.epoch.sequence.index`.
public struct OperationID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The transaction that holds the operation.
  public var transaction: TransactionID
  /// The operation's place in its transaction, from 0.
  public var index: UInt32

  /// Creates an identity.
  public init(transaction: TransactionID, index: UInt32) {
    self.transaction = transaction
    self.index = index
  }

  /// Parses the text form; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    guard let transaction = TransactionID(scanning: &scanner), scanner.skip("."),
      let index = scanner.decimal(max: UInt64(UInt32.max)), scanner.isAtEnd
    else { return nil }
    self.init(transaction: transaction, index: UInt32(index))
  }

  /// `replica.epoch.sequence.index`
  public var description: String { "\(transaction).\(index)" }

  /// Orders by transaction, then by index.
  public static func < (a: OperationID, b: OperationID) -> Bool {
    (a.transaction, a.index) < (b.transaction, b.index)
  }
}
