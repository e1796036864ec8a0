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
      let left = try units.readOrigin(&reader).flatMap { try fold.unit($0) }
      let text = operand.extracting(try FieldChange.readInsertedText(&reader))
      try fold.lendView(to: &order, of: cell)
      _ = try order.insert(text: text, by: fold.head(at: index).id, after: left) {
        try fold.hasSeenInSearch($0, at: index)
      }
      try fold.takeView(from: &order, of: cell)
      try fold.write(order.root, of: cell)
    case .removeText:
      let ranges = try fold.readRuns(&reader)
      try remove(ranges, from: &order, of: cell, index: index, in: &fold)
    }
  }

  /// Hides those of some units that the transaction has seen.
  private static func remove<Storage>(
    _ ranges: [UnitRange], from order: inout UnitOrder<Storage>, of cell: CellNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    var paused = try fold.pausedUnit(of: cell)
    for range in ranges {
      guard var seen = try fold.seen(range, in: order, at: index) else { continue }
      if let unit = paused {
        // Those before it are hidden.
        guard seen.contains(unit) else { continue }
        seen = UnitRange(first: unit, count: seen.end - unit.number)
        paused = nil
      }
      let rest = try order.setVisible(false, seen) { isChanged in
        // Where nothing changes, the next number's leaf is done already.
        try fold.countVisit(isChanged, looked: isChanged ? FoldBound.stepsOfLeaf : 1)
      }
      guard let rest else { continue }
      try fold.write(order.root, of: cell)
      try fold.bound.pauseIfSpent(at: fold.itemKey(rest, of: cell))
    }
    try fold.write(order.root, of: cell)
  }

  /// Hides what the transaction has seen.
  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    var order = try fold.unitOrder(of: cell)
    // Who has made which units does not change.
    let makers = order
    // Up to which number each inserter's units are seen.
    var ends: [Inserter: UInt64] = [:]
    func end(of inserter: Inserter) throws -> UInt64 {
      if let known = ends[inserter] { return known }
      let all = UnitRange(first: UnitID(inserter, 0), count: .max)
      let end = try fold.seen(all, in: makers, at: index)?.end ?? 0
      ends[inserter] = end
      try fold.bound.count(looked: FoldBound.stepsOfInserter)
      return end
    }
    let rest = try order.hide(from: fold.pausedUnit(of: cell), below: end) { isChanged in
      try fold.countVisit(isChanged)
    }
    try fold.write(order.root, of: cell)
    if let rest { try fold.bound.pauseIfSpent(at: fold.itemKey(rest, of: cell)) }
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

  static func edit(by change: FieldChange) -> UnitEdit? {
    if case .insertText = change { return .inserted }
    if case .removeText(let runs) = change { return .removed(units: runs.reduce(0) { $0 &+ $1.count }) }
    return nil
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? { nil }
}
