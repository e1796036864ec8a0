/// The rule of compaction: what a transaction that names a floor does to a zone, and what that means for the
/// transactions behind it.
///
/// 1. A *floor* is an offset of the zone's log. An operation of its own kind names it, alone in a
///    transaction, which is otherwise as any other: it has a base, lies in a segment, and may be offered
///    again with a limit. It does nothing where it is written. It works at its place in the log, in each
///    store that reads up to there.
/// 2. The floor *counts* if it is above the zone's last floor that counted, and at most the transaction's
///    base as that counts there, after limits. Otherwise the transaction does nothing, and no reader rejects
///    it. Readers compare a floor with no base of another lane.
/// 3. A floor that counts compacts the canonical state, which is that of the log up to its transaction. It
///    compacts the records that nobody has changed since the floor: those of which each head of the existence
///    is compacted or at or below the floor. Each change adds such a head, and only a later one removes
///    it.
/// 4. A record without a head that says *alive* is dropped. Only the number of each inserter's next unit
///    stays, if it had a text or a list: operations name units by numbers that each store counts for itself.
///    Of any other record stays what it shows.
///    - Existence: the greatest head that says alive, and the greatest that says dead if any does. Policies
///      need both.
///    - Register, key of a map, place and value of a list's element: the value of the greatest head.
///    - Set: its elements, each with its greatest head. Counter: one addend, the sum, also if it is 0, with the
///      greatest head.
///    - Text and list: the visible units, with their names, in their order. Each has the one before it as its
///      left origin, and no right one, as if one operation had inserted them. The numbers of next units stay.
///
///    These heads are *compacted*. They keep their times and replicas, and have no sequence. So who changed what
///    last, and when, does not change. Compacting a record once more that nobody has changed meanwhile changes no
///    byte.
/// 5. All compacted heads of a zone stand at its last floor that counted, whichever wrote them. A transaction
///    has seen them if its base as it counts is at least that floor. It does not matter whose they are. What a
///    transaction has seen of other heads is as ever, by their places and by lanes.
/// 6. Who names a unit has seen it. So a compacted unit counts as seen where units are inserted, removed,
///    moved or replaced; only to a `create`, which names none, rule 5 applies. An insertion after a unit that
///    was dropped comes after the compacted unit with the greatest smaller number of the same inserter, or at
///    the start if there is none. Any other operation on a dropped unit does nothing.
/// 7. A record is *created* if a `create` was folded since it was last dropped; in a zone without a floor,
///    any change does that. A record that is not created is not there: for no policy, query or reference. It
///    is listed apart, and its heads are kept and compacted like others. So a change of a dropped record does
///    not bring it back, and is not lost.
/// 8. A *settled* store compacts what it has. A store that also has transactions without a place up to there
///    (pending, sent ahead, imported) folds the log alone up to there, compacts, and folds those on top, each
///    with its own base, as if they came next in the log. Records depend on nothing of each other: this is
///    needed only for those that such transactions change. And a record may be compacted later, but before
///    anything changes it: so no floor needs much work at once.
/// 9. The last floor is part of a zone's state and of a snapshot. So are the places of transactions of which
///    heads are left that are not compacted. No head needs other places.
/// 10. A careful maker names at most its own base, and the base as it counts of the last transaction of each
///     lane, but for lanes that it gives up. This is for it alone to decide.
///
/// What the model has not, and what holds for it:
/// - Several operations in the transaction of a floor: then the floor does not count. Several transactions in
///   a segment: all are folded before the floor works. Of several floors in it the last that counts does.
/// - Incarnations: only bases of the incarnation in which the last floor counted can reach it.
/// - Contributions keep their payloads and heads, whose indexes are their order. Addends whose sum
///   no value can hold are as few as can hold it.
/// - A record that moved away keeps the head that says where to, compacted, since references follow it. All
///   else of it is dropped.
/// - Receive times that become known later change no compacted head.
/// - By which transaction a record was created first: compaction keeps it, and a drop forgets it.
///
/// A change is *late* if it comes behind a floor that counted, and its base as it counts is below it. What
/// the search shows:
/// - Whoever names whatever floors: stores that have read equally far have equal bytes, and with pending work
///   what they would have if that came next in the log.
/// - A floor changes nothing that users see, but for the losers of conflicts, which end.
/// - A record without late changes shows what it would show if there were no floors. The only exception is a
///   change that, by an undo, revives a record after a floor has dropped it: it is not there. So a maker
///   keeps away from recent deletions.
/// - Late changes remove no more than if there were no floors. What nobody had replaced is there, but for
///   losers of conflicts that a floor has ended, and what was in a record before it was dropped. A late
///   `remove`, `delete` or `create` may leave what its writer had seen. A late `set` is in conflict with it.
/// - A dropped record is there again only after a `create`. Each addend counts once.
/// - Behind a careful maker's floor, only lanes can be late that it did not know, or gave up.
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
    state.floor = floor
    for record in state.records.indices { compact(record, of: &state) }
  }

  /// Compacts a record, if nobody has changed it since the last floor.
  func compact(_ index: Int, of state: inout ZoneState) {
    var record = state.records[index]
    defer { state.records[index] = record }
    let isUnchanged = record.existence.allSatisfy {
      $0.isCompacted || state.place(of: $0.number) <= state.floor
    }
    guard isUnchanged || flaw == .compactsChanged, let last = greatest(record.existence) else { return }
    let alive = greatest(record.existence.filter(\.isAlive))
    if alive == nil || flaw == .dropsContested && !last.isAlive {
      let counts = record.unitCounts
      record = RecordState()
      if flaw != .forgetsUnitCounts { record.unitCounts = counts }
      return
    }
    func compacted(_ head: Head, _ value: Int? = nil) -> Head {
      Head(number: head.number, writer: head.writer, value: value ?? head.value, isCompacted: true)
    }
    let dead = greatest(record.existence.filter { !$0.isAlive })
    record.existence = flaw == .decidesExistence ? [last] : [alive, dead].compactMap(\.self)
    for place in record.existence.indices { record.existence[place].isCompacted = true }
    let loser = flaw == .keepsLoser ? record.register.first { $0 != greatest(record.register) } : nil
    record.register = (loser ?? greatest(record.register)).map { [compacted($0)] } ?? []
    record.element = greatest(record.element).map { [compacted($0)] } ?? []
    if let addend = greatest(record.counter) {
      let sum = compacted(addend, record.counter.reduce(0) { $0 + $1.value })
      let addend = flaw == .countsTwice ? record.counter.filter { $0.number == addend.number } : []
      record.counter = addend + [sum]
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
