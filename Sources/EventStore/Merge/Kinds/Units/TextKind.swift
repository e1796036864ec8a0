import OperationFormat

/// Unicode scalars in an order: units in a ``UnitOrder``. They have no heads.
enum TextKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case insertText = 13
    case removeText = 14
  }

  static var layout: CellLayout { .units }
  static var showsGreatest: Bool { false }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { false }
  static var unitsAreScalars: Bool { true }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { false }

  // MARK: Folding

  static func apply<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    try apply(kind, operand, to: CellNumber(field, .text), index: index, in: &fold)
  }

  /// Folds an operation into a text, and nothing into the record's existence.
  static func apply<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, to cell: CellNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    var order = try fold.unitOrder(of: cell)
    var reader = ByteReader(operand)
    switch try operation(kind) {
    case .insertText:
      var units = UnitReader()
      let left = try units.readOrigin(&reader).flatMap { try UnitCell.unit($0, in: fold) }
      let text = operand.extracting(try FieldChange.readInsertedText(&reader))
      try UnitCell.lendView(to: &order, of: cell, in: &fold)
      _ = try order.insert(text: text, by: fold.step.head(at: index).id, after: left) {
        try UnitCell.hasSeenInSearch($0, at: index, in: fold)
      }
      try UnitCell.takeView(from: &order, of: cell, in: &fold)
      try UnitCell.write(order.root, of: cell, in: &fold)
    case .removeText:
      let ranges = try UnitCell.readRuns(&reader, in: fold)
      try remove(ranges, from: &order, of: cell, index: index, in: &fold)
    }
  }

  /// Hides those of some units that the transaction has seen.
  private static func remove<Storage>(
    _ ranges: [UnitRange], from order: inout UnitOrder<Storage>, of cell: CellNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    var paused = try UnitCell.pausedUnit(of: cell, in: fold)
    for range in ranges {
      guard var seen = try UnitCell.seen(range, in: order, at: index, by: fold) else { continue }
      if let unit = paused {
        // Those before it are hidden.
        guard seen.contains(unit) else { continue }
        seen = UnitRange(first: unit, count: seen.end - unit.number)
        paused = nil
      }
      let rest = try order.setVisible(false, seen) { isChanged in
        // Where nothing changes, the next number's leaf is done already.
        try fold.bound.countVisit(isChanged, looked: isChanged ? FoldBound.stepsOfLeaf : 1)
      }
      guard let rest else { continue }
      try UnitCell.write(order.root, of: cell, in: &fold)
      try fold.bound.pauseIfSpent(at: ListItems.key(rest, of: cell, in: fold))
    }
    try UnitCell.write(order.root, of: cell, in: &fold)
  }

  /// Hides what the transaction has seen.
  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    var order = try fold.unitOrder(of: cell)
    // Who has made which units does not change.
    let makers = order
    // Which of each inserter's units are seen: the first ones, but for those that are compacted.
    var seen: [Inserter: Range<UInt64>] = [:]
    let seesCompacted = fold.context.seesCompacted
    func numbers(of inserter: Inserter) throws -> Range<UInt64> {
      if let known = seen[inserter] { return known }
      let all = UnitRange(first: UnitID(inserter, 0), count: .max)
      let end = try UnitCell.seen(all, in: makers, at: index, by: fold)?.end ?? 0
      let start = seesCompacted ? 0 : try makers.compactedEnd(of: inserter)
      seen[inserter] = min(start, end)..<end
      try fold.bound.count(looked: FoldBound.stepsOfInserter)
      return min(start, end)..<end
    }
    let rest = try order.hide(from: UnitCell.pausedUnit(of: cell, in: fold), numbers) { isChanged in
      try fold.bound.countVisit(isChanged)
    }
    try UnitCell.write(order.root, of: cell, in: &fold)
    if let rest { try fold.bound.pauseIfSpent(at: ListItems.key(rest, of: cell, in: fold)) }
  }

  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    try UnitCell.compact(cell, keepsVisible: keeps, in: &fold)
  }

  /// The units of a text have no timestamp.
  static func retime<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool { false }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? { .string(try cell.unitOrder().text()) }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try cell.unitOrder().count }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] { [] }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] { [] }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    let text = try cell.unitOrder().text()
    return text.isEmpty ? [] : [.insertText(text, after: nil)]
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try cell.appendParts(items: [:], to: &digest)
  }

  /// What is visible, in pieces that one operation each has inserted.
  static func runs<Rows>(of cell: CellReader<Rows>) throws -> [TextRun] {
    let order = try cell.unitOrder()
    var runs: [TextRun] = []
    try order.forEachRun { run in
      guard run.isVisible else { return }
      var scalars = String(decoding: run.text, as: UTF8.self).unicodeScalars[...]
      for (units, sequence, index) in try order.operations(making: run.units) {
        let text = scalars.prefix(Int(clamping: units.count))
        scalars = scalars.dropFirst(Int(clamping: units.count))
        let id = TransactionID(
          replica: try cell.rows.replicaID(units.first.replica), epoch: units.first.epoch, sequence: sequence)
        runs.append(TextRun(operation: OperationID(transaction: id, index: index), text: String(text)))
      }
    }
    return runs
  }

  // MARK: Explaining

  static func effect(of change: FieldChange) -> CellEffect? { nil }

  static var explainedHeads: ExplainedHeads { .ofTextRuns }

  static func edit(by change: FieldChange) -> UnitEdit? {
    if case .insertText(let text, _) = change { return .inserted(text: text) }
    if case .removeText(let runs) = change { return .removed(units: runs.reduce(0) { $0 &+ $1.count }) }
    return nil
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? { nil }

  // MARK: Units

  static func insertedUnits(by change: FieldChange) -> UInt64 {
    if case .insertText(let text, _) = change { return UInt64(text.unicodeScalars.count) }
    return 0
  }

  static func namedUnits(in change: FieldChange) -> [UnitReference] {
    if case .insertText(_, let origin) = change { return origin.map { [$0] } ?? [] }
    if case .removeText(let runs) = change { return runs.map(\.first) }
    return []
  }

  static func change(_ change: FieldChange, renamed names: some UnitNames) -> FieldChange {
    if case .insertText(let text, let origin) = change {
      return .insertText(text, after: origin.map { names.renamed($0) })
    }
    if case .removeText(let runs) = change { return .removeText(runs.flatMap { names.renamed($0) }) }
    return change
  }
}
