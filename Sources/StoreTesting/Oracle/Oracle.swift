import OperationFormat

/// The naive second implementation of the one rule for all conflicts (the page *Merge rules* of EventStore).
/// It keeps every operation. To find what is replaced, it compares each two operations of a cell.
///
/// An operation replaces what it has seen. A transaction has seen an operation if its offset is at most the
/// transaction's base, or it is an earlier one of the same replica and epoch, or of an identity that this one
/// continues. The oracle shares no code with the fold. It has no rows, and it knows the placement of every
/// transaction.
///
/// Cells, transactions and lanes are numbers from 0, in the order in which they were made.
struct Oracle: Sendable {
  private var lanes: [OracleLane] = []
  private(set) var transactions: [Entry] = []
  private(set) var cells: [OracleCell] = []
  /// The last offset of the remote log.
  private(set) var lastOffset = 0

  /// A transaction, its first offset and what it has seen.
  struct Entry {
    var made: OracleTransaction
    /// Its first offset in the remote log; 0 while it has none.
    var place = 0
    /// The transactions that it has seen.
    var seen: TransactionSet
  }

  init() {}

  // MARK: What happened

  /// Adds an identity that a store now has, and returns its lane.
  mutating func openLane(_ lane: OracleLane) -> Int {
    lanes.append(lane)
    return lanes.count - 1
  }

  /// Adds a cell, and returns its number.
  mutating func addCell() -> Int {
    cells.append(OracleCell())
    return cells.count - 1
  }

  /// Adds a transaction that was just made. What it has seen is final, because a base is never past the end
  /// of the log, and a first offset never changes.
  ///
  /// - Precondition: everything up to its base was placed.
  mutating func append(_ made: OracleTransaction) -> Int {
    precondition(made.base <= lastOffset, "a base of \(made.base) in a log of \(lastOffset)")
    var seen = TransactionSet()
    for (number, other) in transactions.enumerated() where hasSeen(other, made) { seen.insert(number) }
    transactions.append(Entry(made: made, seen: seen))
    return transactions.count - 1
  }

  /// Adds an operation of the last transaction.
  ///
  /// - Parameters:
  ///   - cell: the cell that it works on.
  ///   - index: its place in its transaction: in ascending order.
  ///   - content: what its head says; nil if it removes and adds none.
  ///   - isContribution: whether it removes nothing.
  mutating func addOperation(
    to cell: Int, index: Int, content: Int?, isContribution: Bool = false
  ) {
    let transaction = transactions.count - 1
    cells[cell].append(
      OracleCell.Operation(
        transaction: transaction, index: index, content: content, isContribution: isContribution),
      seen: transactions[transaction].seen)
  }

  /// Notes that a transaction is at an offset of the remote log. The first offset counts.
  ///
  /// - Precondition: offsets come in ascending order.
  mutating func place(_ number: Int, at offset: Int) {
    precondition(offset > 0 && offset >= lastOffset, "an offset \(offset) after \(lastOffset)")
    lastOffset = offset
    if transactions[number].place == 0 { transactions[number].place = offset }
  }

  /// Whether a transaction has seen another one.
  private func hasSeen(_ other: Entry, _ made: OracleTransaction) -> Bool {
    if other.place > 0 && other.place <= made.base { return true }
    let other = other.made
    if other.lane == made.lane { return other.sequence < made.sequence }
    var at = made.lane
    while let parent = lanes[at].parent {
      if parent.lane == other.lane && other.sequence <= parent.through { return true }
      at = parent.lane
    }
    return false
  }

  // MARK: Results

  /// The first offset of a transaction in the remote log; 0 while it has none.
  func place(of number: Int) -> Int { transactions[number].place }

  /// The transactions that one has seen.
  func seen(by number: Int) -> TransactionSet { transactions[number].seen }

  /// Whether any operation works on a cell.
  func isUsed(_ cell: Int) -> Bool { !cells[cell].operations.isEmpty }

  /// Finds the heads of a cell, greatest first, once certain transactions were folded.
  ///
  /// - Parameters:
  ///   - cell: which cell.
  ///   - folded: the transactions.
  ///   - received: each transaction's first known time of receipt, in milliseconds since 1970; `Int64.max`
  ///     where none is known, as for those after the end.
  ///   - heads: gets the heads. No floors count.
  /// - Complexity: O(n) in the operations of the cell, each a comparison of two sets of transactions.
  func findHeads(
    of cell: Int, folded: TransactionSet, received: [Int64], into heads: inout [OracleHead]
  ) {
    heads.removeAll(keepingCapacity: true)
    cells[cell].forEachHead(folded: folded) { operation, content in
      heads.append(head(operation, content, received))
    }
    if heads.count > 1 { heads.sort(by: OracleHead.isGreater) }
  }

  /// The head that an operation adds.
  func head(_ operation: OracleCell.Operation, _ content: Int, _ received: [Int64]) -> OracleHead {
    let made = transactions[operation.transaction].made
    let lane = lanes[made.lane]
    let receipt = operation.transaction < received.count ? received[operation.transaction] : .max
    return OracleHead(
      transaction: operation.transaction, timestamp: Self.effective(made.timestamp, receipt),
      replica: lane.replica, epoch: lane.epoch, sequence: made.sequence, index: operation.index,
      content: content)
  }

  /// Sorts contributions. It repeatedly takes the least of those that have seen no other remaining one.
  ///
  /// Those that floors have left keep their order. Who has seen all places of those has seen them.
  ///
  /// - Parameter heads: greatest first.
  func contributionOrder(_ heads: [OracleHead]) -> [OracleHead] {
    var left = Array(heads.reversed())
    var order: [OracleHead] = []
    while !left.isEmpty {
      let free = left.firstIndex { later in
        let seen = transactions[later.transaction].seen
        return !left.contains { earlier in
          if later.isCompacted { return earlier.isCompacted && earlier.index < later.index }
          if earlier.isCompacted { return transactions[later.transaction].made.base >= earlier.lastPlace }
          return earlier.transaction == later.transaction
            ? earlier.index < later.index : seen.contains(earlier.transaction)
        }
      }
      order.append(left.remove(at: free ?? 0))
    }
    return order
  }

  /// What a floor leaves of contributions: all in their order, with the last place of one.
  func compactedContributions(_ heads: [OracleHead]) -> [OracleHead] {
    let last = heads.map { $0.isCompacted ? $0.lastPlace : place(of: $0.transaction) }.max() ?? 0
    return contributionOrder(heads).map { head in
      var head = head
      head.lastPlace = last
      return head
    }
  }

  /// At most 5 minutes after the time of receipt, whatever the counter (*effective timestamp* in
  /// the Glossary of Internals).
  static func effective(_ timestamp: Timestamp, _ received: Int64) -> Timestamp {
    if received == .max { return timestamp }
    let milliseconds = min(UInt64(max(received, 0)) + 300_000, Timestamp.millisecondsMax)
    return Timestamp(rawValue: min(timestamp.rawValue, milliseconds << 16 | 0xffff))
  }
}
