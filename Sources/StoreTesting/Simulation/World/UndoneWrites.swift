import EventStore

/// What a device has taken back of its own transactions, as its app was told.
struct UndoneWrites {
  /// What was done to one transaction, in turns: it was taken back, brought back, and so on.
  struct Chain {
    /// The last position of the log after each turn.
    var turns: [Position] = []
    /// The transactions that did it.
    var done: Set<Position> = []

    var isUndone: Bool { !turns.count.isMultiple(of: 2) }
  }

  /// By the transaction that was taken back first.
  private(set) var chains: [Position: Chain] = [:]
  /// Whether a commit failed of which nobody knows whether it lasts: then the chains may lack something.
  var isUncertain = false

  func isUndone(_ root: Position) -> Bool { chains[root]?.isUndone ?? false }

  /// - Parameter last: the last position of the log.
  mutating func add(_ report: UndoReport, last: Position, zoneOf: (Position) throws -> ZoneID) rethrows {
    for root in report.undone {
      let zone = try zoneOf(root)
      let done = try report.positions.filter { try zoneOf($0) == zone }
      chains[root, default: Chain()].turns.append(done.first ?? last)
      chains[root]!.done.formUnion(done)
    }
  }

  /// Forgets chains of which a transaction is not in the log any more: the store does so too.
  mutating func forget(unless isThere: (Position) throws -> Bool) rethrows {
    chains = try chains.filter { root, chain in try isThere(root) && chain.done.allSatisfy(isThere) }
  }

  /// The transactions without which the log gives the same records, as if what was taken back had never been.
  ///
  /// - Parameter root: the one that was taken back or brought back last: what was taken back before it was made, and
  ///   stays so, is as it was then.
  func idle(with root: Position) -> Set<Position> {
    let first =
      chains.filter { $0.key < root && $0.value.isUndone && $0.value.turns.last! >= root }.keys.min() ?? root
    var idle: Set<Position> = []
    for (other, chain) in chains where other >= first {
      idle.formUnion(chain.done)
      if chain.isUndone { idle.insert(other) }
    }
    return idle
  }
}
