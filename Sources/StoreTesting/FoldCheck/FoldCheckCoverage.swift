/// Counts of what occurred in a run, which show that it reached the cases where bugs may be.
package struct FoldCheckCoverage: Hashable, Sendable {
  /// Transactions that were made.
  package var transactions = 0
  /// Operations in them.
  var operations = 0
  /// Transactions that were folded, at replicas and in other orders.
  var folds = 0
  /// Records that were compared with the oracle's.
  var comparisons = 0
  /// Compared cells with more than one head.
  var conflicts = 0
  /// Compared records with dead and alive heads at once.
  var deletesAgainstUpdates = 0
  /// Compared records with heads of moves to different places at once.
  var movesAgainstMoves = 0
  /// Creations of a record that earlier operations had changed.
  var recreates = 0
  /// Compared heads whose value is kept apart for its size.
  var valuesApart = 0
  /// Compared records whose registers have their own row, apart from the other cells.
  var rowsDivided = 0
  /// Compared records that are divided into blocks.
  var rowsInBlocks = 0
  /// Compared heads beyond a cell's first four.
  var headsBeyondFour = 0
  /// Compared cells whose heads beyond the first four have an index.
  var indexesOfHeads = 0
  /// Rows that several addends share.
  var sharedRows = 0
  /// Cells that had more than four heads and have four or fewer again.
  var cellsBackToFour = 0
  /// Compared counters with more than four contributions.
  var sumsApart = 0
  /// Compared elements of sets and keys of maps.
  var elements = 0
  /// Compared references from one record to another.
  var references = 0
  /// Compared units of lists and texts.
  var units = 0
  /// Compared contributions.
  var contributions = 0
  /// Compared fields whose contributions have another order than their heads.
  var reordered = 0
  /// The greatest number of heads in one cell.
  package var headsMax = 0
  /// Transactions that were folded with a capped timestamp.
  var capped = 0
  /// Transactions whose heads got another timestamp later.
  var retimed = 0
  /// Times that an operation was paused and continued.
  var pauses = 0
  /// Transactions made under an identity that continues another.
  var lineages = 0
  /// Replicas that started as copies.
  var copies = 0
  /// Transactions that were delivered to a replica that already had them.
  var redeliveries = 0
  /// Floors that counted at a replica, or in another order.
  var floors = 0
  /// Floors that did not count: not above the last one, or above the base of their transaction.
  var floorsIgnored = 0
  /// Transactions that were folded behind a floor that they had not seen.
  var lateTransactions = 0
  /// Compared orders of contributions of which floors have compacted some, without late transactions.
  var ordersBelowFloors = 0
  /// Times that a replica folded its log again, because it had transactions without a place up to a floor.
  var foldedAgain = 0
  /// Records that waited to be compacted by the job or a check.
  var compactedLater = 0
  /// Times that compacting a record was paused and continued.
  var compactionPauses = 0
  /// Compared heads that compaction wrote.
  var compactedHeads = 0
  /// Compared records that a floor has dropped.
  var recordsDropped = 0
  /// Compared records that are not there until they are created.
  var recordsNotCreated = 0
  /// Random orders that were folded.
  var ordersFolded = 0
  /// Orders that were covered exhaustively, through the sets that they pass.
  var ordersCovered = 0
  /// Sequences of which all orders were covered.
  var exhaustive = 0

  /// Creates counts of zero.
  package init() {}

  /// Adds the counts of another run.
  package mutating func add(_ other: FoldCheckCoverage) {
    transactions += other.transactions
    operations += other.operations
    folds += other.folds
    comparisons += other.comparisons
    conflicts += other.conflicts
    deletesAgainstUpdates += other.deletesAgainstUpdates
    movesAgainstMoves += other.movesAgainstMoves
    recreates += other.recreates
    valuesApart += other.valuesApart
    rowsDivided += other.rowsDivided
    rowsInBlocks += other.rowsInBlocks
    headsBeyondFour += other.headsBeyondFour
    indexesOfHeads += other.indexesOfHeads
    sharedRows += other.sharedRows
    cellsBackToFour += other.cellsBackToFour
    sumsApart += other.sumsApart
    elements += other.elements
    references += other.references
    units += other.units
    contributions += other.contributions
    reordered += other.reordered
    capped += other.capped
    retimed += other.retimed
    pauses += other.pauses
    lineages += other.lineages
    copies += other.copies
    redeliveries += other.redeliveries
    floors += other.floors
    floorsIgnored += other.floorsIgnored
    lateTransactions += other.lateTransactions
    ordersBelowFloors += other.ordersBelowFloors
    foldedAgain += other.foldedAgain
    compactedLater += other.compactedLater
    compactionPauses += other.compactionPauses
    compactedHeads += other.compactedHeads
    recordsDropped += other.recordsDropped
    recordsNotCreated += other.recordsNotCreated
    ordersFolded += other.ordersFolded
    ordersCovered += other.ordersCovered
    exhaustive += other.exhaustive
    headsMax = max(headsMax, other.headsMax)
  }

  /// The counts with their names in a report, in the order of the report.
  package var named: [(name: String, count: Int)] {
    [
      ("transactions", transactions),
      ("operations", operations),
      ("folds", folds),
      ("comparisons", comparisons),
      ("conflicts", conflicts),
      ("deletesAgainstUpdates", deletesAgainstUpdates),
      ("movesAgainstMoves", movesAgainstMoves),
      ("recreates", recreates),
      ("valuesApart", valuesApart), ("rowsDivided", rowsDivided),
      ("rowsInBlocks", rowsInBlocks),
      ("headsBeyondFour", headsBeyondFour),
      ("indexesOfHeads", indexesOfHeads), ("sharedRows", sharedRows),
      ("cellsBackToFour", cellsBackToFour),
      ("sumsApart", sumsApart),
      ("elements", elements),
      ("references", references),
      ("units", units),
      ("contributions", contributions),
      ("reordered", reordered),
      ("headsMax", headsMax),
      ("capped", capped),
      ("retimed", retimed),
      ("pauses", pauses),
      ("lineages", lineages),
      ("copies", copies),
      ("redeliveries", redeliveries),
      ("floors", floors),
      ("floorsIgnored", floorsIgnored),
      ("lateTransactions", lateTransactions),
      ("ordersBelowFloors", ordersBelowFloors),
      ("foldedAgain", foldedAgain),
      ("compactedLater", compactedLater),
      ("compactionPauses", compactionPauses),
      ("compactedHeads", compactedHeads),
      ("recordsDropped", recordsDropped),
      ("recordsNotCreated", recordsNotCreated),
      ("ordersFolded", ordersFolded),
      ("ordersCovered", ordersCovered),
      ("exhaustive", exhaustive),
    ]
  }
}
