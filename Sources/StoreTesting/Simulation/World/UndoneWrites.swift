import EventStore
import OperationFormat

/// What a device has taken back of its own transactions, as its app was told.
struct UndoneWrites {
  /// What was done to one transaction, in turns: it was taken back, brought back, and so on.
  struct Chain {
    /// How often it was done.
    var turns = 0
    /// The end of the log when it was done last.
    var last = Position.start
    /// The transactions that did it.
    var done: Set<Position> = []
    /// The records that were left as they were when it was done last.
    var left: Set<RecordID> = []

    var isUndone: Bool { !turns.isMultiple(of: 2) }
  }

  /// By the transaction that was taken back first.
  private(set) var chains: [Position: Chain] = [:]
  /// Whether the chains may lack something: a commit failed of which nobody knows whether it lasts.
  var isUncertain = false

  func isUndone(_ root: Position) -> Bool { chains[root]?.isUndone ?? false }

  /// - Parameter last: the last position of the log.
  mutating func add(_ report: UndoReport, last: Position, zoneOf: (Position) throws -> ZoneID) rethrows {
    for root in report.undone {
      let zone = try zoneOf(root)
      let done = try report.positions.filter { try zoneOf($0) == zone }
      chains[root, default: Chain()].turns += 1
      chains[root]!.last = last
      chains[root]!.done.formUnion(done)
      chains[root]!.left = Set(report.kept.filter { $0.field == nil }.map(\.record))
    }
  }

  /// Gives up if a transaction is not in the log any more, or at another position: the app was not told where it is.
  mutating func check(_ isThere: (Position) throws -> Bool) rethrows {
    for (root, chain) in chains where try !isThere(root) || !chain.done.allSatisfy(isThere) {
      isUncertain = true
    }
  }

  /// The transactions without which the log gives what there would be, had what is taken back never been. What was over
  /// and done before a transaction was made is as it was then: it may have been kept in part.
  ///
  /// - Parameter roots: those that were taken back or brought back last.
  func ineffective(for roots: [Position]) -> Set<Position> {
    var start = roots.min() ?? .start
    while let earlier = chains.filter({ $0.key < start && $0.value.last >= start }).keys.min() {
      start = earlier
    }
    return chains.reduce(into: []) { ineffective, chain in
      guard chain.key >= start else { return }
      ineffective.formUnion(chain.value.done)
      if chain.value.isUndone { ineffective.insert(chain.key) }
    }
  }
}
