/// Folds logs from their start, slow and obvious, and checks what floors do to them. It keeps what it has
/// found.
final class LogChecker {
  private let rule: CompactionRule
  private let tree: LogTree
  private let empty: ZoneState
  /// Whether makers of floors name no more than what they know all lanes to have seen.
  private let isCareful: Bool
  private var arrivals: [Int: [Arrival]] = [:]
  private var states: [Int: ZoneState] = [:]
  private var checked: Set<Int> = []

  init(_ rule: CompactionRule, _ tree: LogTree, _ bounds: CompactionBounds) {
    self.rule = rule
    self.tree = tree
    isCareful = bounds.floors == .careful
    empty = ZoneState(records: bounds.records)
    arrivals[LogTree.root] = []
    states[LogTree.root] = empty
  }

  private func parent(of log: Int) -> Int { tree.prefix(of: log, upTo: tree.offset(of: log) - 1) }

  /// The transactions of a log, each as it counts where it first stands.
  func arrivals(in log: Int) -> [Arrival] {
    if let known = arrivals[log] { return known }
    let entry = tree.entry(of: log)
    var all = arrivals(in: parent(of: log))
    if !all.contains(where: { $0.number == entry.transaction }) {
      var arrival = Arrival(entry)
      if entry.limit != nil {
        arrival.base = max(arrival.base, all.last { $0.writer == entry.writer }?.base ?? 0)
      }
      arrival.offset = tree.offset(of: log)
      all.append(arrival)
    }
    arrivals[log] = all
    return all
  }

  /// The canonical state after a log.
  func state(after log: Int) -> ZoneState {
    if let known = states[log] { return known }
    var state = state(after: parent(of: log))
    if let last = arrivals(in: log).last, last.offset == tree.offset(of: log) {
      rule.fold(last, into: &state)
      if let floor = rule.floor(of: last, in: state) { rule.compact(&state, to: floor) }
    }
    states[log] = state
    return state
  }

  /// The first violation in a log that was not checked before.
  func violation(in log: Int) -> Violation? {
    // What that rule does not fold it lists, so it loses nothing. But do stores agree?
    guard rule.flaw != .parks, checked.insert(log).inserted else { return nil }
    let arrivals = arrivals(in: log)
    var plain = empty
    for arrival in arrivals { rule.fold(arrival, into: &plain) }
    let states = [empty] + arrivals.map { state(after: tree.prefix(of: log, upTo: $0.offset!)) }
    for record in empty.records.indices {
      let found = CompactedRecord(record, arrivals, states, plain, rule).violation
      if let found { return found }
    }
    return laterCompacted(arrivals, states.last!) ?? (isCareful ? late(arrivals, states) : nil)
  }

  /// A record may as well be compacted only before it is changed next. (What other wrong rules do shows
  /// elsewhere.)
  private func laterCompacted(_ log: [Arrival], _ canonical: ZoneState) -> Violation? {
    guard rule.flaw == nil || rule.flaw == .compactsTooLate else { return nil }
    var state = empty
    for arrival in log {
      if case .change(_, let record, _) = arrival.operation, rule.flaw != .compactsTooLate {
        rule.compact(record, of: &state)
      }
      rule.fold(arrival, into: &state)
      if let floor = rule.floor(of: arrival, in: state) { state.floor = floor }
    }
    for record in state.records.indices { rule.compact(record, of: &state) }
    if state.isEqual(canonical) { return nil }
    return Violation(kind: .unequal, text: "compacted later: \(state), at once: \(canonical)")
  }

  /// A floor of a careful maker lets no lane be late that it knew.
  private func late(_ log: [Arrival], _ states: [ZoneState]) -> Violation? {
    var known: Set<Int> = []
    for (index, arrival) in log.enumerated() {
      if arrival.base < states[index].floor, known.contains(arrival.writer) {
        return Violation(
          kind: .late, text: "\(arrival.number + 1) had not seen the floor \(states[index].floor)")
      }
      if states[index + 1].floor != states[index].floor {
        known = Set(log.filter { $0.offset! <= arrival.base }.map(\.writer) + [arrival.writer])
      }
    }
    return nil
  }
}
