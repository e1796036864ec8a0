/// Counts what a run came across, to show that it went where faults may lie.
public struct FoldCheckCoverage: Hashable, Sendable {
  /// Transactions that were made.
  public var transactions = 0
  /// Operations in them.
  public var operations = 0
  /// Transactions that were folded, at replicas and in other orders.
  public var folds = 0
  /// Records that were compared with the oracle's.
  public var comparisons = 0
  /// Compared cells with more than one head.
  public var conflicts = 0
  /// Compared records with dead and alive heads at once.
  public var deletesAgainstUpdates = 0
  /// Compared records with heads of moves to different places at once.
  public var movesAgainstMoves = 0
  /// Creations of a record that had been written about before.
  public var recreates = 0
  /// Compared heads whose value is kept apart for its size.
  public var valuesApart = 0
  /// Compared records whose registers are kept apart from what else they have.
  public var rowsDivided = 0
  /// Compared records that lie in blocks.
  public var rowsInBlocks = 0
  /// Compared heads beyond a cell's first four.
  public var headsBeyondFour = 0
  /// Compared cells whose heads beyond the first four have an index.
  public var indexesOfHeads = 0
  /// Cells that had more than four heads and have four or fewer again.
  public var cellsBackToFour = 0
  /// Compared counters with more than four contributions.
  public var sumsApart = 0
  /// Compared elements of sets and keys of maps.
  public var elements = 0
  /// Compared references from one record to another.
  public var references = 0
  /// Compared units of lists and texts.
  public var units = 0
  /// Compared contributions.
  public var contributions = 0
  /// Compared fields whose contributions have another order than their heads.
  public var reordered = 0
  /// The greatest number of heads in one cell.
  public var headsMax = 0
  /// Transactions that were folded with a capped timestamp.
  public var capped = 0
  /// Transactions whose heads got another timestamp later.
  public var retimed = 0
  /// Times that an operation was paused and went on.
  public var pauses = 0
  /// Transactions made under an identity that continues another.
  public var lineages = 0
  /// Replicas that started as copies.
  public var copies = 0
  /// Transactions that were delivered to a replica that had them.
  public var redeliveries = 0
  /// Random orders that were folded.
  public var ordersFolded = 0
  /// Orders that were covered exhaustively, through the sets that they pass.
  public var ordersCovered = 0
  /// Sequences of which all orders were covered.
  public var exhaustive = 0

  /// Creates counts of zero.
  public init() {}

  /// Adds the counts of another run.
  public mutating func add(_ other: FoldCheckCoverage) {
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
    ordersFolded += other.ordersFolded
    ordersCovered += other.ordersCovered
    exhaustive += other.exhaustive
    headsMax = max(headsMax, other.headsMax)
  }

  /// The counts with what they are called in a report, in the order of the report.
  public var named: [(name: String, count: Int)] {
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
      ("indexesOfHeads", indexesOfHeads),
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
      ("ordersFolded", ordersFolded),
      ("ordersCovered", ordersCovered),
      ("exhaustive", exhaustive),
    ]
  }
}
