import EventStore

/// What a device has taken back of its own transactions, as its app was told.
struct UndoneWrites {
  /// What was done to one transaction, in turns: it was taken back, brought back, and so on.
  struct Chain {
    /// How often it was done.
    var turns = 0
    /// The transactions that did it.
    var done: Set<Position> = []

    var isUndone: Bool { !turns.isMultiple(of: 2) }
  }

  /// By the transaction that was taken back first.
  private(set) var chains: [Position: Chain] = [:]
  /// Whether a commit failed of which nobody knows whether it lasts: then the chains may lack something.
  var isUncertain = false

  func isUndone(_ root: Position) -> Bool { chains[root]?.isUndone ?? false }

  mutating func add(_ report: UndoReport, zoneOf: (Position) throws -> ZoneID) rethrows {
    for root in report.undone {
      let zone = try zoneOf(root)
      let done = try report.positions.filter { try zoneOf($0) == zone }
      chains[root, default: Chain()].turns += 1
      chains[root]!.done.formUnion(done)
    }
  }

  /// Forgets chains of which a transaction is not in the log any more: the store does so too.
  mutating func forget(unless isThere: (Position) throws -> Bool) rethrows {
    chains = try chains.filter { root, chain in try isThere(root) && chain.done.allSatisfy(isThere) }
  }

  /// The transactions without which the log gives what there would be, had what is taken back never been.
  var ineffective: Set<Position> {
    chains.reduce(into: []) { ineffective, chain in
      ineffective.formUnion(chain.value.done)
      if chain.value.isUndone { ineffective.insert(chain.key) }
    }
  }
}
