import OperationFormat

/// Takes a write back, or brings it back.
struct UndoRun {
  private let core: StoreCore
  private let author: String?
  private let schemaVersion: UInt64?

  init(_ core: StoreCore, author: String?, schemaVersion: UInt64?) {
    (self.core, self.author, self.schemaVersion) = (core, author, schemaVersion)
  }

  /// What is to be done, found from one state of the store.
  private struct Work: Sendable {
    /// The transactions of the write, by their zones.
    var roots: [ZoneID: Position] = [:]
    var steps: [UndoPlan.Step] = []
    var kept: [UndoReport.Kept] = []
    var label: String?
    /// Of the transactions that take it back.
    var timestamp: Timestamp?
  }

  func run(_ position: Position, undoes: Bool) async throws -> UndoReport {
    let work = try await core.fileThreads.run(.waits) { [self] _ in try find(position, undoes: undoes) }
    let report = Shared<UndoReport?>(nil)
    try await core.perform(.local { [self] write in report.value = try apply(work, undoes: undoes, write) })
    return report.value!
  }

  // MARK: Finding

  private func find(_ position: Position, undoes: Bool) throws -> Work {
    // Folded before: the store must not be read for as long.
    let before = Position(rawValue: max(position.rawValue, 1) - 1)
    try PastFold(core.past(), core).runMarks(through: before)
    return try core.read { source in
      let links = try UndoLinks(source.readView.meta)
      var work = Work()
      for entry in try group(of: position, source) {
        try check(entry, undoes: undoes, links)
        let (zone, root) = (entry.transaction.zone, entry.position)
        work.roots[zone] = root
        work.label = entry.transaction.label ?? work.label
        // What had nothing to do leaves nothing to bring back.
        guard let last = links.last(of: root) else { continue }
        let undone = try source.entry(at: last).transaction
        let source = source.alias()
        var plan = UndoPlan(undone) { operation in
          try source.position(of: operation.transaction, in: zone).flatMap {
            try source.entry(at: $0).transaction.author
          }
        }
        let names = Set(plan.operations.map { Array($0.record.name.rawValue.utf8) })
        try UndonePast(core).read(source, without: last, links, names) { before in
          try plan.notePlaces(before)
        } now: { without in
          try plan.compare(source.reader, without)
        }
        work.steps += plan.steps
        work.kept += plan.kept
        work.timestamp = min(work.timestamp ?? plan.timestamp, plan.timestamp)
      }
      return work
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

  private func check(_ entry: LogEntry, undoes: Bool, _ links: UndoLinks) throws {
    let position = entry.position
    guard entry.transaction.replica == core.identity.replica else {
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

  private func apply(_ work: Work, undoes: Bool, _ write: LocalWrite) throws -> UndoReport {
    // Two undo commands at a time.
    let links = try UndoLinks(write.storage.meta)
    for root in work.roots.values where links.isUndone(root) == undoes {
      throw StoreError(
        .notUndoable,
        "the transaction at position \(root) was \(undoes ? "taken back" : "brought back") meanwhile",
        hint: "look again what can be undone")
    }
    write.begin(at: work.timestamp)
    var kept = work.kept
    for step in work.steps {
      if let reason = try apply(step, write) {
        kept.append(
          UndoReport.Kept(
            record: step.record, field: step.field, element: step.cell?.element, reason: reason, author: nil))
      }
    }
    let changed = Set(write.changedZones)
    let before = try write.storage.lastPosition()
    try write.end(
      author: author, label: label(work.label, undoes: undoes), schemaVersion: schemaVersion,
      undoing: work.roots)
    for (zone, root) in work.roots where !changed.contains(zone) {
      try write.storage.meta.noteUndo(of: root, at: write.storage.lastPosition(), isDone: false)
    }
    let last = try write.storage.lastPosition()
    return UndoReport(
      undone: work.roots.values.sorted(),
      positions: before < last
        ? (before.next.rawValue...last.rawValue).map { Position(rawValue: $0) } : [],
      kept: kept)
  }

  /// Makes a change. Returns why it is left alone.
  private func apply(_ step: UndoPlan.Step, _ write: LocalWrite) throws -> UndoReport.Kept.Reason? {
    let isAlive = try write.isAlive(step.record)
    switch step.content {
    case .revive(let type):
      if isAlive { return .changedSince }
      try write.revive(step.record, type: type)
    case .delete:
      if !isAlive { return .changedSince }
      try write.delete(step.record)
    case .change(let field, let change):
      guard isAlive else { return .changedSince }
      if let cell = step.cell, try cell.heads(of: step.record, write.reader()).map(\.operation) != step.heads
      {
        return .changedSince
      }
      try write.takingAnyKind { try write.change(field, of: step.record, change) }
    }
    return nil
  }

  private func label(_ label: String?, undoes: Bool) -> String {
    let verb = undoes ? "Undo" : "Redo"
    guard let label, label.utf8.count + verb.utf8.count < Limits.labelBytesMax else { return verb }
    return "\(verb) \(label)"
  }
}
