import EventStore

/// Prints an explanation: what won, why, what lost, and what was replaced before.
struct ExplanationPage {
  /// How many replaced operations are printed; the others are only counted.
  private static let replacedMax = 20
  /// How many heads are printed, each on several lines; the others are only counted.
  private static let headsMax = 50

  let explanation: Explanation
  /// The changed members of a list's elements, if they merge one by one.
  var members: ChangedMembers?
  /// The zone's present token; a base in another incarnation is marked as such.
  let token: Base?
  /// Which of the zone's transactions this store wrote.
  let writtenHere: WrittenHere
  /// The targets of references that read as missing because the target does not exist.
  let nullified: [RecordID]

  func print(_ output: Output) throws {
    let element = explanation.element.map { "  \(Display.value($0))" } ?? ""
    let cell = (explanation.field.map { Display.name($0) } ?? "existence") + element
    try output.line(output.styled("\(Display.record(explanation.record))  \(cell)", .heading))
    try output.line()
    if words.listsSingleHead || explanation.heads.count != 1 || explanation.counter != nil,
      explanation.reasons.isEmpty
    {
      return try printAll(output)
    }
    let winner = explanation.heads[0]
    try output.line(output.styled(quote(winner.head.content), .winner) + " " + verb)
    try output.line("  \(Self.capital(maker(winner))).")
    for line in try sight(winner) { try output.line("  \(line)") }
    try printNullified(output)
    try printVisibility(output)
    try printLosers(output)
    try printMembers(output)
    try printReplaced(output)
    try printEdits(output)
    try printOrigin(output)
  }

  /// Prints a cell that shows all its heads: who made each of them.
  private func printAll(_ output: Output) throws {
    let count = explanation.heads.count
    let losses = explanation.losses
    if count == 0, let floor = explanation.droppedAt { return try printDropped(floor, output) }
    if let counter = explanation.counter {
      let parts = Display.count(count, "addend")
      let clamped = counter.isClamped ? ", as near as a number comes to it" : ""
      try output.line(
        output.styled(Display.value(counter.value), .winner) + " is the sum of \(parts)\(clamped).")
    } else if words.areListedInOrder {
      let stands = count == 1 ? "stands" : "stand, in the order in which they count"
      try output.line("\(Display.count(count, "contribution")) \(stands).")
    } else if explanation.agrees {
      let content = output.styled(quote(explanation.heads[0].head.content), .winner)
      try output.line(
        "\(content) stands: \(Display.count(count)) concurrent changes agree on it.")
    } else if count == 0, explanation.element != nil {
      try output.line("It is not there: it was removed.")
    } else if count == 0 {
      try output.line("It is empty: all that was inserted was removed.")
    } else {
      let lost = losses.count { $0 != nil }
      let stands = count - lost == 1 ? "stands" : "stand"
      let rest =
        lost > 0
        ? ", and \(Display.count(lost)) lost"
        : explanation.edits.isEmpty ? ": none was seen and replaced" : ""
      try output.line("\(Display.count(count - lost, "change")) of its elements \(stands)\(rest).")
    }
    try printNullified(output)
    try printVisibility(output)
    try output.line()
    for (head, loss) in zip(explanation.heads, losses).prefix(Self.headsMax) {
      let content = output.styled(quote(head.head.content), loss == nil ? .winner : .loser)
      let to = loss.map { "  lost to \(quote($0.winner.head.content))" } ?? ""
      try output.line("  " + content + to)
      try output.line("    \(Self.capital(maker(head))).")
      for line in try sight(head) { try output.line("    \(line)") }
      if let loss { try output.line("    Neither had seen the other, and \(text(loss.reason)).") }
    }
    try printRest(explanation.heads.count, output)
    try printMembers(output)
    try printReplaced(output)
    try printEdits(output)
    try printOrigin(output)
  }

  /// Prints a cell of a record that compaction has dropped.
  private func printDropped(_ floor: UInt64, _ output: Output) throws {
    try output.line(
      "The record \(Display.dropped(at: floor)): nothing up to there said that the record was there.")
    let hasUnits = explanation.kind == .list || explanation.kind == .text
    try output.line(
      hasUnits
        ? "Of the field only the numbers are left that its writers count their \(words.unit)s by."
        : "Only a creation brings it back; changes that had not seen this are kept, and do not show.")
    try printReplaced(output)
    try printEdits(output)
    try output.line()
    try output.line("All that is known: `replay log … --record \(Display.record(explanation.record))`.")
    try printOrigin(output)
  }

  private var words: FieldKind.Words { explanation.kind.words }

  private var verb: String {
    switch explanation.heads.count {
    case 1: "stands. No concurrent change competes with it."
    case 2: "won over one value that it had not seen."
    case let count: "won over \(count - 1) values that it had not seen."
    }
  }

  // MARK: Who

  /// “set by ann on replica 9c1f03aa at 2026-01-31T09:05:00.000Z (position 12, “Buy milk”)”.
  ///
  /// Of what a snapshot stands for, the author, the label and the position are not known.
  private func maker(_ one: Explanation.ExplainedHead) -> String {
    let id = one.head.operation.transaction
    let by = one.entry?.transaction.author.map { " by \(Display.plain($0))" } ?? ""
    let epoch = id.epoch == 0 ? "" : ", epoch \(id.epoch)"
    let here =
      switch writtenHere.writer(of: id) {
      case .thisStore: " (this store)"
      case .copy: " (a copy of this store)"
      case .other: ""
      }
    let label = one.entry?.transaction.label.map { ", “\(Display.plain($0, limit: 60))”" } ?? ""
    let floor = explanation.compactedThrough.map { " up to offset \($0)" } ?? ""
    let unknown =
      id.sequence == 0
      ? "compacted\(floor): by which transaction is not known"
      : "the zone begins with a snapshot here: its transaction is not in the log"
    let place = one.entry.map { "position \($0.position)\(label)" } ?? unknown
    let timestamp = one.entry?.transaction.timestamp ?? one.head.timestamp
    // Runs of texts have no time of their own.
    let time = Display.knownTime(timestamp).map { " at \($0)" } ?? " at an unknown time"
    return
      "\(verb(of: one.head.content, one.entry))\(by) on replica \(Display.short(id.replica))\(epoch)\(here)"
      + "\(time) (\(place))"
  }

  private func verb(of content: CellHead.Content, _ entry: LogEntry?) -> String {
    switch content {
    case .value(.null): return "cleared"
    case .value: return "set"
    case .contribution: return "contributed"
    case .addend, .element: return "added"
    case .entry: return "put"
    case .item: return "put"
    case .text: return "inserted"
    case .dead: return "deleted"
    case .moved: return "moved"
    case .alive:
      for operation in entry?.transaction.operations.reversed() ?? [] {
        switch operation {
        case .create(explanation.record.name, _): return "created"
        case .moveHere(explanation.record.name, _, let place):
          return "moved here from \(Display.record(place))"
        case .update(explanation.record.name, _, _, _) where operation.isRevival: return "revived"
        case .create, .delete, .moveAway, .moveHere, .update, .compact, .unknown: continue
        }
      }
      return "updated"
    }
  }

  private func quote(_ content: CellHead.Content) -> String {
    switch content {
    case .addend(let value), .contribution(let value): Display.value(value)
    case .item(_, let value): Display.value(members?.merged(value) ?? value, limit: nil)
    case .value, .element, .entry, .text: HeadText.content(content, limit: nil)
    case .alive, .dead, .moved: Self.capital(HeadText.content(content))
    }
  }

  // MARK: What it had seen

  /// What a head's transaction had seen, where it is, and whether its clock was corrected: one sentence for
  /// each.
  private func sight(_ head: Explanation.ExplainedHead) throws -> [String] {
    if head.head.operation.transaction.sequence == 0 { return [] }
    if head.entry == nil, head.placement == nil {
      return head.base.map { ["It had seen \(seen($0))."] } ?? []
    }
    var lines = ["It had seen \(seen(head.base)); \(place(head))."]
    guard let transaction = head.entry?.transaction else { return lines }
    if let parent = transaction.parent {
      lines.append("It continues \(Display.short(parent)), and had seen all of it.")
    }
    if let former = head.formerly {
      lines.append("It was issued again: before, it was \(Display.short(former)).")
    }
    if head.head.timestamp < transaction.timestamp {
      let received = head.placement?.receivedMilliseconds.map { CalendarTime.text(milliseconds: $0) }
      lines.append(
        "Its clock was ahead: the remote received it at \(received ?? "an earlier time"), so it counts as of"
          + " \(Display.time(head.head.timestamp)).")
    }
    return lines
  }

  private func seen(_ base: Base?) -> String {
    guard let base else { return "nothing of the remote log" }
    let isPresent = token == nil || token?.incarnation == base.incarnation
    return "the zone up to offset \(base.offset)"
      + (isPresent ? "" : " of a former remote log, \(Display.short(base.incarnation))")
  }

  private func place(_ head: Explanation.ExplainedHead) -> String {
    if let placement = head.placement { return "it is at offset \(placement.offset)" }
    return writtenHere.writer(of: head.head.operation.transaction) == .thisStore
      ? "it is pending: no other replica has it yet" : "it is in no present remote log"
  }

  // MARK: Sections

  private func printNullified(_ output: Output) throws {
    for target in nullified {
      try output.line("  It reads as missing: \(Display.record(target)) is not there.")
    }
  }

  private func printVisibility(_ output: Output) throws {
    if explanation.field != nil {
      if !explanation.isVisible {
        try output.line()
        let state = explanation.missingTarget.map(Display.hidden(with:)) ?? explanation.gone
        try output.line(
          "The record \(state), so this does not show. `replay explain … --existence` says why.")
      }
      return
    }
    try output.line()
    let state = explanation.isVisible ? "The record is there" : "The record is not there"
    let reason =
      switch explanation.policy {
      case .deleteWins: "for its type a record is deleted if any of these deletes it"
      case .updateWins: "for its type a record is there if any of these updates it"
      case .latest, nil: "for its type the latest of these decides"
      }
    if let missing = explanation.missingTarget {
      return try output.line("The record is alive, and \(Display.hidden(with: missing)).")
    }
    if let floor = explanation.droppedAt {
      try output.line("\(state): it \(Display.dropped(at: floor)), and was not created since.")
    } else {
      let isAlone = explanation.heads.count == 1 || explanation.agrees
      try output.line(isAlone ? "\(state)." : "\(state): \(reason).")
    }
    if let place = explanation.movedTo { try output.line(Display.moved(to: place)) }
  }

  private func printLosers(_ output: Output) throws {
    guard explanation.heads.count > 1 else { return }
    try output.line()
    try output.line("Lost to it:")
    for (loser, reason) in zip(explanation.heads.dropFirst(), explanation.reasons).prefix(Self.headsMax) {
      try output.line("  " + output.styled(quote(loser.head.content), .loser))
      try output.line("    \(Self.capital(maker(loser))).")
      for line in try sight(loser) { try output.line("    \(line)") }
      try output.line("    Neither had seen the other, and \(text(reason)).")
    }
    try printRest(explanation.reasons.count, output)
    try output.line()
    try output.line(
      "The next write that has seen these settles it; until then the app can restore what lost (`restore`).")
  }

  /// Prints how many heads are not printed.
  private func printRest(_ count: Int, _ output: Output) throws {
    guard count > Self.headsMax else { return }
    let rest = "  … and \(Display.count(count - Self.headsMax)) more: --json prints all"
    try output.line(output.styled(rest, .quiet))
  }

  /// The reason why a head lost, as a clause.
  private func text(_ reason: Explanation.Reason) -> String {
    switch reason {
    case .laterTimestamp(let milliseconds):
      "its timestamp is \(Display.duration(milliseconds: milliseconds)) earlier"
    case .laterCounter: "its timestamp is of the same millisecond, with a lower counter"
    case .greaterReplica: "its timestamp is the same; its replica's identity is the lesser"
    case .laterSequence: "its timestamp is the same; it comes before it in its replica's own count"
    }
  }

  /// Prints the members that were changed since their elements were inserted.
  private func printMembers(_ output: Output) throws {
    guard let changes = members?.explanation else { return }
    try output.line()
    try output.line("Members of its elements, each set since its element was inserted:")
    var columns = Columns(output, indent: 2)
    var last: Value?
    for (head, loss) in zip(changes.heads, changes.losses).prefix(Self.headsMax) {
      let maker = head.entry?.transaction
      let element = members?.element(of: head.head.content, in: explanation)
      defer { last = element }
      try columns.add([
        .init(element.map { element == last ? "" : Display.value($0) } ?? "of a removed element", .quiet),
        .init(ChangedMembers.text(head.head.content), loss == nil ? .winner : .loser),
        .init(loss.map { "lost: \(text($0.reason))" } ?? ""),
        .init(maker?.author.map { Display.plain($0) } ?? "-"),
        .init(Display.writer(head.head.operation.transaction), .quiet),
        .init(Display.time(maker?.timestamp ?? head.head.timestamp), .quiet),
        .init(head.entry.map { "position \($0.position)" } ?? "not in the log", .quiet),
      ])
    }
    try columns.flush()
    try printRest(changes.heads.count, output)
  }

  private func printReplaced(_ output: Output) throws {
    // Steps inside one transaction do not interest people.
    let replaced = explanation.replaced.filter { $0.operation.transaction != $0.replacedBy.transaction }
    guard !replaced.isEmpty else { return }
    try output.line()
    let areRemoved = replaced.contains(where: \.isRemoved)
    try output.line("Before, each seen and \(areRemoved ? "replaced or removed" : "replaced"):")
    if replaced.count > Self.replacedMax {
      try output.line(
        output.styled("  … \(Display.count(replaced.count - Self.replacedMax)) earlier", .quiet))
    }
    var columns = Columns(output, indent: 2)
    for one in replaced.suffix(Self.replacedMax) {
      try columns.add([
        .init(HeadText.content(one.content)),
        .init(one.entry.transaction.author.map { Display.plain($0) } ?? "-"),
        .init(Display.writer(one.entry.transaction.id), .quiet),
        .init(Display.time(one.entry.transaction.timestamp), .quiet),
        .init("position \(one.entry.position)", .quiet),
        .init("\(one.isRemoved ? "removed" : "replaced") by position \(one.replacedAt)", .quiet),
      ])
    }
    try columns.flush()
  }

  /// Prints what was removed from a list or a text, or changed in it.
  private func printEdits(_ output: Output) throws {
    guard !explanation.edits.isEmpty else { return }
    try output.line()
    try output.line("Removed, replaced or moved:")
    if explanation.edits.count > Self.replacedMax {
      let earlier = explanation.edits.count - Self.replacedMax
      try output.line(output.styled("  … \(Display.count(earlier)) earlier", .quiet))
    }
    var columns = Columns(output, indent: 2)
    for edit in explanation.edits.suffix(Self.replacedMax) {
      try columns.add([
        .init(text(edit.kind)),
        .init(edit.entry.transaction.author.map { Display.plain($0) } ?? "-"),
        .init(Display.writer(edit.entry.transaction.id), .quiet),
        .init(Display.time(edit.entry.transaction.timestamp), .quiet),
        .init("position \(edit.entry.position)", .quiet),
      ])
    }
    try columns.flush()
  }

  private func text(_ edit: Explanation.Edit.Kind) -> String {
    switch edit {
    case .removed(let units):
      "removed \(Display.count(units, words.unit))"
    case .replaced: "replaced an element"
    case .moved: "moved an element"
    case .cleared: "the record was created again"
    }
  }

  /// Prints where the record was before, whose earlier history is there, and what nobody knows any more.
  private func printOrigin(_ output: Output) throws {
    if let position = explanation.retiredThrough {
      try output.line()
      try output.line(
        "The history of the zone begins with a snapshot"
          + (position > .start ? ", after position \(position)" : "") + ": \(Display.notBeforeSnapshot)."
      )
    }
    if let offset = explanation.compactedThrough {
      try output.line()
      try output.line(
        "The zone is compacted up to offset \(offset) of its remote log: what lost or was removed up to there is gone from "
          + "the records. What the log still has of it is shown above."
      )
    }
    guard let origin = explanation.movedFrom else { return }
    try output.line()
    try output.line(
      "The record was moved here from \(Display.record(origin)): `replay explain … \(Display.record(origin))` tells"
        + " what was before.")
  }

  private static func capital(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
