/// An entry of a log: one transaction, and what the header of its segment says.
struct Entry: Hashable {
  let transaction: Int
  /// The offset up to which the transaction has seen this log at most; nil in an ordinary entry. An entry
  /// that is offered again has one if its transaction had seen what the log has lost.
  var limit: Int?
}
