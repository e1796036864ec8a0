import OperationFormat

/// What takes a transaction back, or brings it back: found by comparing what its records have now with what they would
/// have, had it never been, or had it never been taken back.
struct UndoPlan {
  /// One change.
  struct Step {
    enum Content {
      case revive(type: Name)
      /// A head of the record's existence says how: deleted, or moved away.
      case end(CellHead.Content)
      case change(Name, FieldChange)
    }

    let record: RecordID
    let content: Content

    /// Nil for whether the record exists.
    var field: Name? { if case .change(let field, _) = content { field } else { nil } }

    /// The element of a set or the key of a map.
    var element: Value? { if case .cell(let cell, _)? = expected { cell.element } else { nil } }

    /// What must be the same when it is written; nil if what it does needs no such care.
    var expected: Expectation?
  }

  /// What was there of a place when an undo was planned.
  enum Expectation {
    case existence([OperationID])
    case cell(UndoneCell, [OperationID])
    /// Of elements of a list.
    case items([UnitReference: UndoneUnits.Item])
  }

  /// A record that is alive afterwards, and since when.
  struct Alive: Hashable {
    let record: RecordID
    let type: Name
    let timestamp: Timestamp
  }

  private(set) var steps: [Step] = []
  private(set) var kept: [UndoReport.Kept] = []
  private var known: Set<UndoReport.Kept> = []
  /// The time of what it brings back, and of the transaction at most: a write of another store that has not seen it
  /// wins, as if what is taken back had never been.
  private(set) var timestamp: Timestamp
  /// The records that it changes, and when they would have been changed last. A deletion that has not seen the undo wins
  /// if it is later than that, as if what is taken back had never been.
  private(set) var alive: [Alive] = []

  private let transactions: UndoneTransactions
  private var root: LogTransaction { transactions.root }
  /// The records that were there when the transaction created them again.
  private var createdAgain: Set<RecordID> = []

  init(_ transactions: UndoneTransactions) {
    self.transactions = transactions
    timestamp = transactions.root.timestamp
  }

  /// The operations on each record, in the order of the records' names.
  private var operations: [(record: RecordID, operations: [LogOperation])] {
    var found: [Name: [LogOperation]] = [:]
    for operation in root.operations {
      if let record = operation.record { found[record, default: []].append(operation) }
    }
    return found.sorted { $0.key < $1.key }.map { (RecordID(zone: root.zone, name: $0.key), $0.value) }
  }

  /// Notes which records were there that the transaction has created again.
  mutating func note(_ before: RecordReader) throws {
    for (record, operations) in operations where operations.contains(where: \.makesRecord) {
      if try before.aliveType(of: record) != nil { createdAgain.insert(record) }
    }
  }

  // MARK: Comparing

  /// What of a record is to be compared.
  private enum Scope { case nothing, changed, all }

  /// Compares what there is now with what there would be.
  mutating func compare(_ now: RecordReader, _ aim: RecordReader) throws {
    for (record, operations) in operations {
      let stepsBefore = steps.count
      let scope = try compareExistence(of: record, operations, now, aim)
      if scope == .nothing { continue }
      defer { if steps.count > stepsBefore { noteAlive(record, aim) } }
      let own = changes(operations)
      var (cells, sequences) = (Set(own.cells.keys), Set(own.units.keys))
      for cell in cells.sorted() where cell.kind == .contributions { try keep(record, cell.field, .lasting) }
      if scope == .all {
        let all = try all(of: record, now, aim)
        cells.formUnion(all.cells)
        sequences.formUnion(all.sequences)
      }
      var (nowHeads, aimHeads) = (CellHeads(record, now), CellHeads(record, aim))
      for cell in cells.sorted() where cell.kind != .contributions {
        try compare(
          cell, of: record, own.cells[cell], nowHeads.heads(of: cell), aimHeads.heads(of: cell),
          createdAt: { try aim.creation(of: record) })
      }
      for cell in sequences.sorted() {
        try compareUnits(
          of: cell.field, cell.kind, of: record, scope == .all ? nil : own.units[cell],
          UndoneUnits(cell.field, cell.kind, of: record, in: now),
          UndoneUnits(cell.field, cell.kind, of: record, in: aim))
      }
    }
  }

  /// What operations give cells in the end, and do to lists and texts.
  private func changes(
    _ operations: [LogOperation]
  ) -> (cells: [UndoneCell: Value?], units: [UndoneCell: [FieldChange]]) {
    var (cells, units): ([UndoneCell: Value?], [UndoneCell: [FieldChange]]) = ([:], [:])
    for case .update(_, _, let field, let change) in operations {
      switch change {
      case .set(let value): cells[UndoneCell(field, .register)] = .some(value == .null ? nil : value)
      case .add: cells[UndoneCell(field, .counter)] = .some(nil)
      case .insert(let element): cells[UndoneCell(field, .set, element)] = .some(element)
      case .remove(let element): cells[UndoneCell(field, .set, element)] = .some(nil)
      case .put(let key, let value): cells[UndoneCell(field, .map, .string(key.rawValue))] = .some(value)
      case .removeKey(let key): cells[UndoneCell(field, .map, .string(key.rawValue))] = .some(nil)
      case .contribute: cells[UndoneCell(field, .contributions)] = .some(nil)
      case .insertText, .removeText: units[UndoneCell(field, .text), default: []].append(change)
      case .insertElements, .removeElements, .moveElement, .replaceElement:
        units[UndoneCell(field, .list), default: []].append(change)
      }
    }
    return (cells, units)
  }

  /// The cells that a record has or would have, and its lists and texts.
  private mutating func all(
    of record: RecordID, _ now: RecordReader, _ aim: RecordReader
  ) throws -> (cells: Set<UndoneCell>, sequences: Set<UndoneCell>) {
    var (cells, sequences) = (Set<UndoneCell>(), Set<UndoneCell>())
    let all = try now.kinds(of: record).merging(aim.kinds(of: record)) { $0.union($1) }
    for (field, kinds) in all.sorted(by: { $0.key < $1.key }) {
      for kind in kinds {
        switch kind {
        case .register, .counter: cells.insert(UndoneCell(field, kind))
        case .list, .text: sequences.insert(UndoneCell(field, kind))
        case .set, .map:
          for head in try now.heads(of: field, kind, record) + aim.heads(of: field, kind, record) {
            cells.insert(UndoneCell(field, kind, head.content.element))
          }
        case .contributions:
          let heads = try (now.heads(of: field, kind, record), aim.heads(of: field, kind, record))
          if heads.0.map(\.operation) != heads.1.map(\.operation) { try keep(record, field, .lasting) }
        }
      }
    }
    return (cells, sequences)
  }

  private mutating func compareExistence(
    of record: RecordID, _ operations: [LogOperation], _ now: RecordReader, _ aim: RecordReader
  ) throws -> Scope {
    let heads = try now.heads(of: .existence, record)
    let expected = Expectation.existence(heads.map(\.operation))
    let aimHeads = try aim.heads(of: .existence, record)
    let makes = operations.contains { $0.makesRecord || $0.isRevival }
    let deletes = operations.contains {
      if case .delete = $0 { true } else if case .moveAway = $0 { true } else { false }
    }
    switch try (now.aliveType(of: record), aim.aliveType(of: record)) {
    case (_?, nil) where transactions.hasMovedHere(record):
      // It was left here when its move was taken back, and away where it came from: it would be nowhere.
      try keep(record, nil, .changedSince)
      return .nothing
    case (_?, nil):
      let end = aimHeads.map(\.content).first { if case .alive = $0 { false } else { true } } ?? .dead
      steps.append(Step(record: record, content: .end(end), expected: expected))
      return .nothing
    case (nil, let type?) where makes || deletes:
      steps.append(Step(record: record, content: .revive(type: type), expected: expected))
      if let alive = aimHeads.first { bringsBack(alive.timestamp) }
      return .all
    case (let type?, let other?) where makes && type != other:
      steps.append(Step(record: record, content: .revive(type: other), expected: expected))
      if let alive = aimHeads.first { bringsBack(alive.timestamp) }
      return .all
    case (_?, _?) where createdAgain.contains(record): return .all
    case (_?, _?) where makes && transactions.undoes:
      // Others have changed it: it stays, and so does what they have seen.
      try keep(record, nil, .changedSince, by: aimHeads.first?.operation)
      return .nothing
    case (_?, _): return .changed
    case (nil, _):
      if transactions.undoes || !deletes {
        try keep(record, nil, .changedSince, by: (aimHeads.first ?? heads.first)?.operation)
      }
      return .nothing
    }
  }

  /// - Parameter own: what the transaction gives the cell; nil if nothing.
  private mutating func compare(
    _ cell: UndoneCell, of record: RecordID, _ own: Value??, _ heads: [CellHead], _ aim: [CellHead],
    createdAt: () throws -> Timestamp?
  ) throws {
    if cell.kind == .counter {
      let amount = try CounterSum.difference(from: heads, to: aim)
      if amount != .int(0) {
        steps.append(Step(record: record, content: .change(cell.field, .add(amount))))
      } else if own != nil, !(transactions.undoes ? heads : aim).contains(where: isOfRoot) {
        try keep(record, cell.field, .changedSince)
      }
      return
    }
    let (value, other) = (cell.value(of: heads), cell.value(of: aim))
    let former = try aim.first?.timestamp ?? createdAt()
    if value == other {
      if let own {
        let isHeldByOthers =
          try transactions.undoes
          ? aim.first.map { try transactions.isLater($0.operation) } ?? false : own != other
        if isHeldByOthers {
          try keep(record, cell.field, .changedSince, by: aim.first?.operation, element: cell.element)
        }
      }
      // What shows the same may still win against what others wrote before it, and would not have, had it never been.
      // And others may replace it that have not seen the undo, while they lose against all else that it changes.
      guard former != nil, let head = heads.first, head.operation != aim.first?.operation else { return }
    }
    if let former { bringsBack(former) }
    steps.append(
      Step(
        record: record, content: .change(cell.field, cell.change(to: other)),
        expected: .cell(cell, heads.map(\.operation))))
  }

  private func isOfRoot(_ head: CellHead) -> Bool { head.operation.transaction == root.id }

  // MARK: Moves

  /// Of a move between zones, leaves the record where it was away if it stays where it went: it would be there twice.
  static func joinMoves(_ plans: inout [UndoPlan]) throws {
    for plan in plans {
      for case .moveHere(let name, _, let origin) in plan.root.operations {
        let record = RecordID(zone: plan.root.zone, name: name)
        let stays = plan.kept.contains { $0.record == record && $0.field == nil }
        guard stays, let place = plans.firstIndex(where: { $0.root.zone == origin.zone }) else { continue }
        try plans[place].leave(origin)
      }
    }
  }

  private mutating func leave(_ record: RecordID) throws {
    guard steps.contains(where: { $0.record == record }) else { return }
    steps.removeAll { $0.record == record }
    alive.removeAll { $0.record == record }
    try keep(record, nil, .changedSince)
  }

  private mutating func noteAlive(_ record: RecordID, _ aim: RecordReader) {
    guard let head = try? aim.heads(of: .existence, record).first, case .alive(let type) = head.content
    else { return }
    alive.append(Alive(record: record, type: type, timestamp: head.timestamp))
  }

  private mutating func bringsBack(_ former: Timestamp) { timestamp = min(timestamp, former) }

  // MARK: Lists and texts

  /// - Parameter changes: what the transaction does to it; nil if all of it is to be compared.
  private mutating func compareUnits(
    of field: Name, _ kind: FieldKind, of record: RecordID, _ changes: [FieldChange]?, _ now: UndoneUnits,
    _ aim: UndoneUnits
  ) throws {
    let comparison = UndoneSequence(now, aim, transactions)
    if kind == .text {
      let (removed, inserted) = comparison.texts(changes)
      for some in removed.groups(ofAtMost: 32_768) {
        steps.append(Step(record: record, content: .change(field, .removeText(some))))
      }
      for (text, last) in inserted {
        steps.append(Step(record: record, content: .change(field, .insertText(text, after: last))))
      }
      return
    }
    let found = comparison.elements(changes)
    for other in found.changedByOthers { try keep(record, field, .changedSince, by: other) }
    if found.isOneGone { try keep(record, field, .changedSince) }
    for some in found.removed.groups(ofAtMost: 4096) {
      let removed = UnitSet(some)
      let items = now.items.filter { removed.contains($0.key) }
      steps.append(
        Step(record: record, content: .change(field, .removeElements(some)), expected: .items(items)))
    }
    for change in found.changed {
      if let valued = change.valued { bringsBack(valued) }
      steps.append(
        Step(
          record: record, content: .change(field, change.change),
          expected: .items([change.element: now.items[change.element]!])))
    }
    for (values, last) in found.inserted {
      steps.append(Step(record: record, content: .change(field, .insertElements(values, after: last))))
    }
  }

  // MARK: What stays

  /// - Parameter operation: what holds it; nil if that is not known.
  private mutating func keep(
    _ record: RecordID, _ field: Name?, _ reason: UndoReport.Kept.Reason, by operation: OperationID? = nil,
    element: Value? = nil
  ) throws {
    let kept = UndoReport.Kept(
      record: record, field: field, element: element, reason: reason,
      author: try operation.flatMap { try transactions.author(of: $0) })
    if known.insert(kept).inserted { self.kept.append(kept) }
  }
}

extension RecordReader {
  /// When a record was created; nil if that is not known.
  fileprivate func creation(of record: RecordID) throws -> Timestamp? {
    try view.withRow(of: record) { row, _ in try row.creation().stamp?.head(0).timestamp }
  }

  /// The type of a record that is not deleted, even if a cascade hides it.
  fileprivate func aliveType(of record: RecordID) throws -> Name? {
    try view.withStoredRow(of: record) { row, state in
      try view.alive(row, state).map { try view.name($0.type) }
    }
  }
}
