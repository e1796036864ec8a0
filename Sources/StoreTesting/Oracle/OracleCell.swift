/// All operations that ever worked on one cell, and which transactions replace them.
struct OracleCell: Sendable {
  /// What an operation does to the cell. Each removes the heads that it has seen, unless it adds to a counter
  /// or contributes.
  struct Operation: Sendable {
    var transaction: Int
    /// Its place in the transaction.
    var index: Int
    /// The content of its head; nil if it adds none.
    var content: Int?
    /// Whether it removes nothing.
    let isContribution: Bool
    /// The transactions that work on the cell and have seen this operation. Its own transaction is one of
    /// them if a later operation of that transaction works on the cell.
    fileprivate var replacements = TransactionSet()

    init(transaction: Int, index: Int, content: Int?, isContribution: Bool) {
      self.transaction = transaction
      self.index = index
      self.content = content
      self.isContribution = isContribution
    }
  }

  /// In the order in which they were made.
  private(set) var operations: [Operation] = []

  /// Adds an operation.
  ///
  /// - Parameters:
  ///   - operation: the operation.
  ///   - seen: the transactions that its transaction has seen.
  mutating func append(_ operation: Operation, seen: TransactionSet) {
    defer { operations.append(operation) }
    if operation.isContribution { return }
    for earlier in operations.indices {
      let (transaction, index) = (operations[earlier].transaction, operations[earlier].index)
      let hasSeen =
        transaction == operation.transaction ? index < operation.index : seen.contains(transaction)
      if hasSeen { operations[earlier].replacements.insert(operation.transaction) }
    }
  }

  /// Calls a closure with each operation that left a head, once certain transactions were folded.
  func forEachHead(folded: TransactionSet, _ body: (Operation, _ content: Int) -> Void) {
    // A span reads in place: copies of sets would count references.
    let operations = operations.span
    for number in operations.indices {
      guard let content = operations[number].content, folded.contains(operations[number].transaction),
        operations[number].replacements.isDisjoint(with: folded)
      else { continue }
      body(operations[number], content)
    }
  }
}
