/// All operations that ever worked on one cell, and which of them replace which.
struct OracleCell: Sendable {
  /// What an operation does to the cell. All of them remove what they have seen.
  struct Operation: Sendable {
    var transaction: Int
    /// Its place in the transaction.
    var index: Int
    /// What its head says; nil if it adds none.
    var content: Int?
  }

  /// In the order in which they were made.
  private(set) var operations: [Operation] = []
  /// For each operation, the numbers of those of this cell that have seen it.
  private var replacements: [NumberSet] = []

  /// Takes in an operation.
  ///
  /// - Parameters:
  ///   - operation: the operation.
  ///   - seen: the transactions that its transaction has seen.
  mutating func append(_ operation: Operation, seen: TransactionSet) {
    for earlier in operations.indices {
      let (transaction, index) = (operations[earlier].transaction, operations[earlier].index)
      let hasSeen =
        transaction == operation.transaction ? index < operation.index : seen.contains(transaction)
      if hasSeen { replacements[earlier].insert(operations.count) }
    }
    operations.append(operation)
    replacements.append(NumberSet())
  }

  /// Calls a closure with each operation that left a head, once certain transactions were folded.
  func forEachHead(folded: TransactionSet, _ body: (Operation, _ content: Int) -> Void) {
    var present = NumberSet()
    for number in operations.indices where folded.contains(operations[number].transaction) {
      present.insert(number)
    }
    for number in operations.indices {
      guard let content = operations[number].content, present.contains(number),
        replacements[number].isDisjoint(with: present)
      else { continue }
      body(operations[number], content)
    }
  }
}
