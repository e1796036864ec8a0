/// The rule of compaction: what a transaction that names a floor does to the state of a zone, and what it means for the
/// transactions behind it.
///
/// 1. A *floor* is an offset of the zone's log. An operation of its own kind names it, alone in a transaction, which
///    is otherwise as any other: it has a base, lies in a segment, may be offered again with a limit. It does nothing
///    where it is written. It works at its place in the log, in each store that reads the log up to there.
/// 2. The floor *counts* if it is greater than the zone's last floor that counted, and at most the transaction's base
///    as that counts there, after limits. Otherwise the transaction does nothing; readers reject nothing. They compare
///    it with no bases of other lanes.
/// 3. A floor that counts compacts the canonical state: that of the log up to its transaction. It compacts the records
///    that nobody has changed since the floor: those of which each head of the existence is compacted, or lies at or
///    below the floor. That is enough, since each change adds such a head, which only a later change removes.
/// 4. A record without a head that says *alive* is dropped: of all that it has only the numbers of next units are
///    left, if it had texts or lists. Of another one, `last` is the
///    greatest head of its existence, alive or dead, and it is written again as if `last` had written all of it at once:
///    - existence: the greatest head that says alive, and the greatest that says dead if there is one: policies need both;
///    - register, key of a map, place and value of an element of a list: the value of the greatest head;
///    - set: its elements; counter: one addend, the sum, also if it is 0;
///    - text and list: the units that are visible, with their names, in their order, each with the one before it as its
///      left origin and no right one, as if one operation had inserted them one after the other. The number of each
///      inserter's next unit stays: operations name units by numbers that each store counts itself.
///
///    These heads are *compacted*: they have the time and the replica of `last` (those of the existence each their own),
///    and no sequence. So a record shows the same before and after, also who changed it last and when. Compacting a
///    record again that nobody has changed since changes no byte.
/// 5. All compacted heads of a zone stand at its last floor that counted, whichever wrote them. A transaction has
///    seen them if its base, as it counts, is at least that floor, and in the same incarnation. It does not matter whose
///    they are: the stamp says who changed the record last, not that he had seen all of it. What a transaction has seen of
///    other heads is as ever: by their places and by lanes.
/// 6. To name a unit proves that it was seen. So a compacted unit counts as seen wherever units are inserted, removed,
///    moved or replaced, but not by a `create`, which rule 5 tells which units it removes. An insertion after a unit
///    that was dropped comes after the last compacted unit before it, by number, of the same inserter; at the start if
///    there is none. Any other operation on a dropped unit does nothing.
/// 7. A record is *created* if a `create` was folded since it was last dropped; in a zone without a floor, any change
///    does that. A record that is not created is not there for any policy, query or reference; it is listed, and all of
///    its heads are kept, by compaction too. So a change of a dropped record is not lost, and does not bring it back.
/// 8. A store that is *settled* compacts what it has. A store with transactions that have no place up to the floor's
///    transaction (pending, sent ahead, imported) folds the log alone up to there, compacts, and folds those on
///    top, each with its own base: as if they came next in the log. So they may be late now.
/// 9. The floor is part of a zone's state and of a snapshot, as are the places of transactions of which heads are left
///    that are not compacted. Places of all others are needed no more by heads.
/// 10. A careful maker names at most the base, as it counts, of the last transaction of each lane that it does not give
///    up, and its own. This is for it alone to decide: see below what depends on it.
///
/// A transaction behind a floor is *late* if its base, as it counts, is below it. What the search shows:
/// - Whatever floors are named, and by whom: all stores that have read equally far have the same bytes, and with pending
///   work what they would have if it came next in the log.
/// - A floor changes nothing that users see.
/// - A record of which no change was late shows what it would show without floors. One exception: a change that brings
///   back a record, by an undo, after a floor dropped it; then it is not there.
/// - Late changes never remove more than without floors. All that nobody had replaced is still there, but for values
///   that had lost a conflict when a floor ended it, and what was in the record before it was dropped. A late removal,
///   deletion or `set` may leave in place, or in conflict, what its writer had seen.
/// - What was dropped is there again only after a `create`. Each addend counts once.
/// - After a careful maker's floor, only lanes that it did not know or gave up can be late.
struct CompactionRule {
  /// What is done wrong on purpose.
  var flaw: CompactionFlaw?
  /// Whether a later write has the later time. If not, each has a time before all that it has seen.
  var clocksRun = false

  // MARK: Folding a change

  /// Folds a change. An operation that names a floor changes no record by itself: see ``compact(_:to:)``.
  func fold(_ arrival: Arrival, into state: inout ZoneState) {
    if let offset = arrival.offset { state.setPlace(offset, of: arrival.number) }
    guard case .change(let change, let index, let unit) = arrival.operation else { return }
    let before = state
    var record = before.records[index]
    if flaw == .parks, before.floor > 0, record.isAbsent, change != .make { return }
    let sees = { hasSeen($0, arrival, in: before) }
    record.existence.removeAll(where: sees)
    record.existence.append(head(of: arrival, change == .delete ? 0 : 1))
    if change == .make || before.floor == 0 || flaw == .showsUncreated { record.isCreated = true }
    switch change {
    case .make:
      record.register.removeAll(where: sees)
      record.element.removeAll(where: sees)
      record.counter.removeAll(where: sees)
      for place in record.text.indices where sees(record.text[place].head) {
        record.text[place].isRemoved = true
      }
      grow(&record, by: arrival, after: unit, sees)
    case .grow: grow(&record, by: arrival, after: unit, sees)
    case .shrink:
      edit(&record, by: arrival, sees)
      record.element.removeAll(where: sees)
      if let unit { record.remove(unit) { seesUnit($0, sees) } }
    case .delete, .revive: break
    }
    record.sort()
    state.records[index] = record
  }

  private func grow(
    _ record: inout RecordState, by arrival: Arrival, after unit: UnitName?, _ sees: (Head) -> Bool
  ) {
    edit(&record, by: arrival, sees)
    record.element.removeAll(where: sees)
    record.element.append(head(of: arrival, 1))
    record.insert(by: head(of: arrival, 0), after: unit) { seesUnit($0, sees) }
  }

  private func edit(_ record: inout RecordState, by arrival: Arrival, _ sees: (Head) -> Bool) {
    record.register.removeAll(where: sees)
    record.register.append(head(of: arrival, arrival.number))
    record.counter.append(head(of: arrival, 1 << (2 * arrival.number)))
  }

  private func head(of arrival: Arrival, _ value: Int) -> Head {
    Head(number: arrival.number, writer: arrival.writer, value: value)
  }

  // MARK: What was seen

  private func hasSeen(_ head: Head, _ arrival: Arrival, in state: ZoneState) -> Bool {
    if head.isCompacted, flaw != .seesPlaceOfStamp {
      return arrival.base >= state.floor || flaw == .seesOwnStamp && head.writer == arrival.writer
    }
    if head.writer == arrival.writer { return head.number < arrival.number }
    let place = state.place(of: head.number)
    return place > 0 && place <= arrival.base
  }

  private func seesUnit(_ unit: TextUnit, _ sees: (Head) -> Bool) -> Bool {
    unit.isCompacted && flaw != .roundsUnits || sees(unit.head)
  }

  // MARK: Floors

  /// The floor that a transaction sets at its place in the log; nil if it sets none.
  func floor(of arrival: Arrival, in state: ZoneState) -> Int? {
    guard case .compact(let floor) = arrival.operation else { return nil }
    if floor <= state.floor, flaw != .lowersFloor { return nil }
    if floor > arrival.base, flaw != .floorAboveBase { return nil }
    return floor
  }

  /// Compacts a canonical state.
  func compact(_ state: inout ZoneState, to floor: Int) {
    for index in state.records.indices {
      compact(&state.records[index], to: floor, in: state)
    }
    state.floor = floor
  }

  private func compact(_ record: inout RecordState, to floor: Int, in state: ZoneState) {
    let isUnchanged = record.existence.allSatisfy { $0.isCompacted || state.place(of: $0.number) <= floor }
    guard isUnchanged || flaw == .compactsChanged,
      let last = greatest(record.existence)
    else { return }
    guard let alive = greatest(record.existence.filter(\.isAlive)), flaw != .dropsContested || last.isAlive
    else {
      let counts = record.unitCounts
      record = RecordState()
      if flaw != .forgetsUnitCounts { record.unitCounts = counts }
      return
    }
    let dead = greatest(record.existence.filter { !$0.isAlive })
    record.existence = [alive, dead].compactMap(\.self)
    if flaw == .decidesExistence { record.existence = [last] }
    for place in record.existence.indices { record.existence[place].isCompacted = true }
    func stamped(_ value: Int) -> Head {
      Head(number: last.number, writer: last.writer, value: value, isCompacted: true)
    }
    let winner = flaw == .keepsLoser ? record.register.first { $0 != greatest(record.register) } : nil
    record.register = (winner ?? greatest(record.register)).map { [stamped($0.value)] } ?? []
    if !record.element.isEmpty { record.element = [stamped(1)] }
    if !record.counter.isEmpty {
      let sum = stamped(record.counter.reduce(0) { $0 + $1.value })
      record.counter =
        flaw == .countsTwice ? record.counter.filter { $0.number == last.number } + [sum] : [sum]
    }
    compactText(&record)
    record.sort()
  }

  /// The units that are left, as if they had been typed one after the other.
  private func compactText(_ record: inout RecordState) {
    var left: UnitName?
    record.text = record.text.filter { !$0.isRemoved }.map { unit in
      defer { left = unit.name }
      return TextUnit(name: unit.name, write: unit.write, isCompacted: true, left: left)
    }
  }

  /// The head with the greatest time.
  func greatest(_ heads: [Head]) -> Head? {
    heads.max { clocksRun ? $0.number < $1.number : $0.number > $1.number }
  }
}
