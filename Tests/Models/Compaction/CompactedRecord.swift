/// What floors did to one record, compared with a log whose floors do nothing.
struct CompactedRecord {
  private let record: Int
  private let log: [Arrival]
  /// Of the record, before each transaction and after the last.
  private let states: [RecordState]
  private let floors: [Int]
  private let plain: RecordState
  private let rule: CompactionRule

  init(
    _ record: Int, _ log: [Arrival], _ states: [ZoneState], _ plain: ZoneState, _ rule: CompactionRule
  ) {
    self.record = record
    self.log = log
    self.states = states.map { $0.records[record] }
    floors = states.map(\.floor)
    self.plain = plain.records[record]
    self.rule = rule
  }

  var violation: Violation? {
    changed ?? cameBack ?? twice ?? misplaced ?? (isExact ? different : lost)
  }

  private var last: RecordState { states[log.count] }

  private func change(at index: Int) -> ContentOperation.Change? {
    if case .change(let change, record, _) = log[index].operation { change } else { nil }
  }

  /// Whether nobody may see that there were floors: no change is late, and none revives what was dropped.
  private var isExact: Bool {
    log.indices.allSatisfy { index in
      guard let change = change(at: index) else { return true }
      let isLate = log[index].base < floors[index] && rule.flaw != .promisesLate
      return !isLate && (change != .revive || !states[index].isAbsent || rule.flaw == .promisesUndo)
    }
  }

  /// After which transaction the record was dropped last; 0 if it never was.
  private var dropped: Int {
    log.indices.last { !states[$0].isAbsent && states[$0 + 1].isAbsent }.map { $0 + 1 } ?? 0
  }

  /// A floor changes nothing that users see, and no byte of what is compacted already.
  private var changed: Violation? {
    for index in log.indices where floors[index] != floors[index + 1] {
      let (before, after) = (states[index], states[index + 1])
      let isCompacted = !before.isAbsent && before.existence.allSatisfy(\.isCompacted)
      if ShownRecord(before, rule) != ShownRecord(after, rule) || isCompacted && before != after {
        return Violation(kind: .changed, text: "\(log[index].number + 1) changes \(before) to \(after)")
      }
    }
    return nil
  }

  private var different: Violation? {
    let (with, without) = (ShownRecord(last, rule), ShownRecord(plain, rule))
    if with == without { return nil }
    return Violation(kind: .different, text: "with floors \(with), without \(without)")
  }

  /// What was dropped is there only after it was created.
  private var cameBack: Violation? {
    guard dropped > 0, ShownRecord(last, rule).isAnywhere,
      !(dropped..<log.count).contains(where: { change(at: $0) == .make })
    else { return nil }
    return Violation(kind: .cameBack, text: "a record that was dropped is there: \(last)")
  }

  private var twice: Violation? {
    guard let number = addends(last).firstIndex(where: { $0 > 1 }) else { return nil }
    return Violation(kind: .twice, text: "\(number + 1) counts \(addends(last)[number]) times")
  }

  /// A unit comes right after the compacted one that it was typed after, and one that was named is removed.
  private var misplaced: Violation? {
    for index in log.indices {
      guard case .change(let change, record, let unit?) = log[index].operation else { continue }
      let text = states[index + 1].text
      guard let left = text.firstIndex(where: { $0.name == unit && $0.isCompacted }) else { continue }
      let place = text.firstIndex { $0.write == log[index].number } ?? left
      if change == .shrink ? !text[left].isRemoved : text[...place].last(where: \.isCompacted)?.name != unit {
        return Violation(kind: .changed, text: "\(log[index].number + 1) works on another unit than it names")
      }
    }
    return nil
  }

  /// How often the addend of each transaction counts, by its number.
  private func addends(_ state: RecordState) -> [Int] {
    let sum = state.counter.reduce(0) { $0 + $1.value }
    return (0..<16).map { sum >> (2 * $0) & 3 }
  }

  /// After late work more may stand than without floors, but what was written since the record was dropped
  /// stands, or has lost a conflict that a floor ended.
  private var lost: Violation? {
    let young = Set(log[dropped...].map(\.number))
    func isLost(_ what: (RecordState) -> [Int]) -> Int? {
      let (there, wanted) = (Set(what(last)), what(plain))
      return wanted.first { young.contains($0) && !there.contains($0) }
    }
    let units = isLost { $0.text.filter { !$0.isRemoved }.map(\.write) }
    let added = isLost { state in addends(state).indices.filter { addends(state)[$0] > 0 } }
    let value = isLost { $0.register.map(\.value) }.flatMap { hasLostConflict($0) ? nil : $0 }
    let alive = plain.existence.contains { $0.isAlive && young.contains($0.number) }
    let element = plain.element.contains { young.contains($0.number) } && last.element.isEmpty
    if let number = units ?? added ?? value {
      return Violation(kind: .lost, text: "\(number + 1) is lost: \(last), without floors \(plain)")
    }
    if element || alive && !last.existence.contains(where: \.isAlive) {
      return Violation(kind: .lost, text: "the record is lost: \(last), without floors \(plain)")
    }
    return nil
  }

  private func hasLostConflict(_ value: Int) -> Bool {
    log.indices.contains { index in
      let register = states[index].register
      return floors[index] != floors[index + 1] && register.contains { $0.value == value }
        && !states[index + 1].register.contains { $0.value == value }
        && rule.greatest(register)!.value != value
    }
  }
}
