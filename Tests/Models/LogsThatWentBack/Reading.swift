/// What a reader knows from a log: slow and obvious, from the start each time.
struct Reading {
  /// The transactions in the order in which each is first in the log.
  private(set) var order: [Int] = []
  /// For each transaction, the offset at which it is first in the log.
  private(set) var offsets: [Int: Int] = [:]
  /// For each transaction, the offset up to which it has seen the log: its base, or its limit.
  private(set) var bases: [Int: Int] = [:]
  /// For each transaction, what it has seen of those in the log.
  private(set) var seen: [Int: NumberSet] = [:]

  private let transactions: [Transaction]

  /// Reads a log.
  ///
  /// - Parameters:
  ///   - flaw: a wrong rule of this reader.
  ///   - ownLimits: the limits that this reader has set itself. Only a wrong rule observes them.
  init(_ log: Int, of world: World, in tree: LogTree, flaw: Rules.Flaw?, ownLimits: [Entry] = []) {
    transactions = world.transactions
    for (index, node) in tree.path(to: log).enumerated() {
      let entry = tree.entry(of: node)
      // The first place of a transaction decides.
      guard offsets[entry.transaction] == nil else { continue }
      let transaction = transactions[entry.transaction]
      bases[entry.transaction] = transaction.base
      if let limit = entry.limit, flaw != .ignoresLimits {
        // It has seen the one before it in its lane, and so all that that one had seen.
        let before = order.last { transactions[$0].writer == transaction.writer }.flatMap { bases[$0] } ?? 0
        let least = flaw == .limitsBelowLane ? 0 : before
        bases[entry.transaction] = max(min(transaction.base, limit), least)
      }
      order.append(entry.transaction)
      offsets[entry.transaction] = index + 1
    }
    if flaw == .keepsOwnLimits {
      for own in ownLimits {
        bases[own.transaction] = bases[own.transaction].map { min($0, own.limit ?? $0) }
      }
    }
    for number in order { seen[number] = NumberSet(order.filter { hasSeen(number, $0) }) }
  }

  /// The state of both cells, folded in the log's order.
  var state: CellState {
    var state = CellState()
    for number in order {
      let (kind, seen) = (transactions[number].kind, seen[number]!)
      if kind.sets {
        state.register.removeAll(where: seen.contains)
        state.register.append(number)
      }
      if kind.adds || kind.removes { state.element.removeAll(where: seen.contains) }
      if kind.adds { state.element.append(number) }
    }
    state.register.sort()
    state.element.sort()
    return state
  }

  /// Whether X has seen Y: Y is an earlier one of its lane, or is at or before its base.
  private func hasSeen(_ x: Int, _ y: Int) -> Bool {
    guard x != y else { return false }
    return y < x && transactions[y].writer == transactions[x].writer || offsets[y]! <= bases[x]!
  }
}
