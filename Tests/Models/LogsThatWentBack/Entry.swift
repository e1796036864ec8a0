/// An entry of a log: one transaction, and what the header of its segment says.
struct Entry: Hashable {
  /// Its number.
  let transaction: Int
  // What its bytes say: see ``Transaction``.
  let writer: Int
  let kind: Transaction.Kind
  let base: Int
  /// The offset up to which the transaction has seen this log at most; nil in an ordinary entry. An entry
  /// that is offered again has one if its transaction had seen what the log has lost.
  var limit: Int?

  init(_ number: Int, of transactions: [Transaction], limit: Int? = nil) {
    transaction = number
    writer = transactions[number].writer
    kind = transactions[number].kind
    base = transactions[number].base
    self.limit = limit
  }
}
