/// How large the generated sequences are, and how much of each is checked.
package struct FoldCheckSizes: Hashable, Sendable {
  /// The most replicas at the start of an ordinary sequence, at least 2. (Few sequences have a crowd of up to
  /// 7.)
  var replicasMax = 4
  /// The most records, up to 3.
  var recordsMax = 3
  /// The most fields of a record, up to 3.
  var fieldsMax = 3
  /// The most transactions of an ordinary sequence; half of them have about half as many or fewer.
  var transactionsMax = 12
  /// The most operations of a transaction.
  var operationsMax = 4
  /// In how many random orders each sequence is folded again.
  package var orders = 1
  /// The most transactions of a sequence of which all orders are covered; at most 12.
  var exhaustiveTransactionsMax = 6

  /// Creates the ordinary sizes: a median of about 8 transactions.
  package init() {}
}
