import OperationFormat

/// Takes a write back, or brings it back.
struct UndoRun {
  private let core: StoreCore
  private let author: String?
  private let schemaVersion: UInt64?

  init(_ core: StoreCore, author: String?, schemaVersion: UInt64?) {
    (self.core, self.author, self.schemaVersion) = (core, author, schemaVersion)
  }

  /// What is to be done.
  private struct Work: Sendable {
    /// The transactions of the write, by their zones.
    var roots: [ZoneID: Position] = [:]
    /// How often anything had been taken back when it was planned.
    var turnCount = 0
    /// What else in the log was another then.
    var rewrites: UInt64 = 0
    var steps: [UndoPlan.Step] = []
    var kept: [UndoReport.Kept] = []
    var alive: [UndoPlan.Alive] = []
    var label: String?
    /// Of the transactions that take it back.
    var timestamp: Timestamp?
  }

  func run(_ position: Position, undoes: Bool) async throws -> UndoReport {
    while true {
      let work = try await core.fileThreads.run(.waits) { [self] call in
        try find(position, undoes: undoes) { try call.checkCancellation() }
      }
      let done = Shared<(written: Written, kept: [UndoReport.Kept])?>(nil)
      try await core.perform(.local { [self] write in done.value = try apply(work, undoes: undoes, write) })
      if let (written, kept) = done.value {
        return UndoReport(
          undone: work.roots.values.sorted(), positions: written.transactions.map(\.position), kept: kept)
      }
      // Something else was taken back meanwhile.
    }
  }

  // MARK: Finding

  private func find(_ position: Position, undoes: Bool, check: () throws -> Void) throws -> Work {
    try core.retryingPast {
      var work = Work()
      let (roots, links) = try core.read { source in
        let links = try UndoLinks(source.readView)
        work.rewrites = try source.readView.meta.rewrites()
        return (try self.roots(position, undoes: undoes, source, links), links)
      }
      work.turnCount = links.turnCount
      for root in roots {
        work.roots[root.transaction.zone] = root.position
        work.label = root.transaction.label ?? work.label
      }
      let start = links.start(for: roots.map(\.position))
      let past = try UndonePast(core)
      // Apart from what follows: the store must not be read for as long.
      try past.prepare(for: start, check: check)
      try StoreError.translating {
        try plan(roots, undoes: undoes, from: start, links, past, check, &work)
      }
      return work
    }
  }

  /// The transactions that are to be taken back or brought back.
  private func roots(
    _ position: Position, undoes: Bool, _ source: borrowing ReadTransaction, _ links: UndoLinks
  ) throws -> [LogEntry] {
    try group(of: position, source).filter { entry in
      if entry.position == position { try check(entry, undoes: undoes, links, source) }
      // One zone's may be taken back already.
      if links.isUndone(entry.position) == undoes { return false }
      let (number, row) = try source.readView.zones.visible(entry.transaction.zone)
      if try row.building != .none || source.readView.lanes.rereading(of: number) != nil {
        throw StoreError.foldingAgain("nothing can be taken back")
      }
      if try source.isCompacted(entry.transaction.id, in: entry.transaction.zone) {
        throw StoreError(
          .notUndoable,
          "the transaction at position \(entry.position) was compacted: what it replaced is not known any more",
          hint: "change the records instead")
      }
      return true
    }
  }

  private func plan(
    _ roots: [LogEntry], undoes: Bool, from start: Position, _ links: UndoLinks, _ past: UndonePast,
    _ check: () throws -> Void, _ work: inout Work
  ) throws {
    let positions = Set(roots.map(\.position))
    let ineffective = links.ineffective(from: start, toggling: positions)
    let made = links.made(from: start)
    let others = try core.read { source in
      try Dictionary(grouping: ineffective.union(made).sorted().map { try source.entry(at: $0) }) {
        $0.transaction.zone
      }
    }
    var plans: [Position: UndoPlan] = [:]
    for root in roots {
      let zone = root.transaction.zone
      let inZone = others[zone] ?? []
      plans[root.position] = UndoPlan(
        UndoneTransactions(
          root, undoes: undoes,
          ineffective: inZone.filter { ineffective.contains($0.position) }.map(\.transaction),
          made: inZone.filter { made.contains($0.position) }.map(\.transaction)
        ) { [core] transaction in
          try core.read { source in
            let position = try source.position(of: transaction, in: zone)
            return try position.map { ($0, try source.entry(at: $0).transaction.author) }
          }
        })
    }
    let names = Set(
      roots.flatMap(\.transaction.operations).compactMap(\.record).map { Array($0.rawValue.utf8) })
    try past.read(from: start, without: ineffective, before: positions, names, check: check) { root, reader in
      try plans[root]!.note(reader)
    } now: { source, reader in
      for root in roots { try plans[root.position]!.compare(source.reader, reader) }
    }
    var some = roots.map { plans[$0.position]! }
    try UndoPlan.joinMoves(&some)
    for plan in some {
      work.steps += plan.steps
      work.kept += plan.kept
      work.alive += plan.alive
      work.timestamp = min(work.timestamp ?? plan.timestamp, plan.timestamp)
    }
  }

  /// The transactions of a write.
  private func group(of position: Position, _ source: borrowing ReadTransaction) throws -> [LogEntry] {
    let entry = try source.entry(at: position)
    guard let write = entry.transaction.writeID else { return [entry] }
    var found = [entry]
    func isOfWrite(_ entry: LogEntry) -> Bool {
      entry.transaction.writeID == write && entry.transaction.replica == found[0].transaction.replica
    }
    while let before = try source.entry(before: found[0].position), isOfWrite(before) {
      found.insert(before, at: 0)
    }
    try source.history(after: found[found.count - 1].position) { entry in
      guard isOfWrite(entry) else { return false }
      found.append(entry)
      return true
    }
    return found
  }

  private func check(
    _ entry: LogEntry, undoes: Bool, _ links: UndoLinks, _ source: borrowing ReadTransaction
  ) throws {
    let position = entry.position
    let written = try source.writtenHere(in: entry.transaction.zone)
    guard written.writer(of: entry.transaction.id) == .thisStore else {
      throw StoreError(
        .notUndoable, "the transaction at position \(position) is of another store",
        hint: "only its own device can take it back")
    }
    if let root = links.roots[position] {
      throw StoreError(
        .notUndoable, "the transaction at position \(position) takes back or brings back the one at \(root)",
        hint: "undo or redo that one")
    }
    guard links.isUndone(position) != undoes else {
      throw StoreError(
        .notUndoable,
        "the transaction at position \(position) is \(undoes ? "taken back already" : "not taken back")",
        hint: undoes ? "redo brings it back" : "redo brings back what undo has taken back")
    }
  }

  // MARK: Writing

  /// Returns nil if it must be planned again.
  private func apply(
    _ work: Work, undoes: Bool, _ write: LocalWrite
  ) throws -> (written: Written, kept: [UndoReport.Kept])? {
    // Two undo commands at a time.
    let links = try UndoLinks(write.storage)
    for root in work.roots.values where links.isUndone(root) == undoes {
      throw StoreError(
        .notUndoable,
        "the transaction at position \(root) was \(undoes ? "taken back" : "brought back") meanwhile",
        hint: "look again what can be undone")
    }
    let rewrites = try write.storage.meta.rewrites()
    if links.turnCount != work.turnCount || rewrites != work.rewrites { return nil }
    write.begin(at: work.timestamp)
    let written = write.makeWritten()
    // All is looked at before anything changes: no two changes are of one place.
    var checks = UndoChecks()
    let allowed = try work.steps.map { try checks.allows($0, write) }
    var (kept, refused) = (work.kept, Set<RecordID>())
    let label = label(work.label, undoes: undoes)
    var part = UndonePart(write, author: author, label: label, schemaVersion: schemaVersion, work.roots)
    for (step, isAllowed) in zip(work.steps, allowed) {
      if try isAllowed && !refused.contains(step.record) && make(step, write) {
        try part.endIfFull(step.record.zone, at: work.timestamp)
        continue
      }
      // What belongs to a record that is another now stays away too.
      if step.field == nil { refused.insert(step.record) }
      kept.append(
        UndoReport.Kept(
          record: step.record, field: step.field, element: step.element, reason: .changedSince, author: nil))
    }
    try part.end()
    for (zone, root) in work.roots.sorted(by: { $0.key < $1.key }) where !part.zones.contains(zone) {
      try write.noteUndo(of: root)
    }
    try keepAlive(work, &part, write)
    return (written, kept)
  }

  /// Says of the changed records when they were changed last besides: the times of what was brought back may be earlier.
  private func keepAlive(_ work: Work, _ part: inout UndonePart, _ write: LocalWrite) throws {
    guard let timestamp = work.timestamp else { return }
    let later = work.alive.filter { $0.timestamp > timestamp && part.zones.contains($0.record.zone) }
    for (timestamp, records) in Dictionary(grouping: later, by: \.timestamp).sorted(by: { $0.key < $1.key }) {
      part.begin(at: timestamp)
      for alive in records.sorted(by: { $0.record < $1.record }) where try write.isAlive(alive.record) {
        try write.revive(alive.record, type: alive.type)
        try part.endIfFull(alive.record.zone, at: timestamp)
      }
      try part.end()
    }
  }

  /// Makes a change. Returns false if its record is not there, or there already.
  private func make(_ step: UndoPlan.Step, _ write: LocalWrite) throws -> Bool {
    let isAlive = try write.isAlive(step.record)
    switch step.content {
    case .revive(let type):
      if try write.aliveType(of: step.record) == type { return false }
      try write.revive(step.record, type: type)
    case .end(let content):
      if !isAlive { return false }
      try write.restoreExistence(content, of: step.record)
    case .change(let field, let change):
      if !isAlive { return false }
      try write.takingAnyKind { try write.change(field, of: step.record, change) }
    }
    return true
  }

  private func label(_ label: String?, undoes: Bool) -> String {
    let verb = undoes ? "Undo" : "Redo"
    guard let label, label.utf8.count + verb.utf8.count < Limits.labelBytesMax else { return verb }
    return "\(verb) \(label)"
  }
}
