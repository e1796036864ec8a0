import OperationFormat

/// Lists and texts: units in an order, whose root stands in the record's row.
extension Fold {
  /// The units of a list or a text of the record at hand.
  package mutating func sequence(of cell: CellNumber) throws -> UnitOrder<Storage> {
    let place = try place(of: cell)
    let root =
      try place.body.isEmpty ? UnitOrderRoot() : UnitOrderRoot(row.span.bytes.extracting(place.body))
    let record = try recordNumber
    return UnitOrder(
      storage, RunKeys(state: state, record: record, cell: cell), root: root, isText: cell.kind == .text,
      limits: orderLimits, nodes: nodes.nodes(of: UnitOrderCell(state: state, record: record, cell: cell)))
  }

  /// Writes the root of a list or a text into the record's row.
  mutating func write(_ root: UnitOrderRoot, of cell: CellNumber) throws {
    var writer = ByteWriter()
    if root.units > 0 { root.append(to: &writer) }
    splice(writer.span, as: cell, at: try place(of: cell))
  }

  /// Lets an insertion into a sequence know what is known of what its transaction has seen.
  mutating func lendView(to sequence: inout UnitOrder<Storage>, of cell: CellNumber) throws {
    sequence.view = views.take(of: cell, try recordNumber, state, context)
  }

  mutating func takeView(from sequence: inout UnitOrder<Storage>, of cell: CellNumber) throws {
    guard let view = sequence.view.take() else { return }
    let (storage, zone) = (storage, context.zone)
    try views.put(view, of: cell, try recordNumber, state) { base in
      try storage.placedThrough(zone, base.incarnation) ?? 0 >= base.offset
    }
  }

  /// Whether the transaction, at one of its operations, has seen another operation.
  package func hasSeen(_ operation: HeadID, at index: UInt32) throws -> Bool {
    try removes(.seen(at: index), operation)
  }

  /// The same of an operation that is met in the search for where an insertion belongs: it passes all that is there and was not
  /// seen.
  func hasSeenInSearch(_ operation: HeadID, at index: UInt32) throws -> Bool {
    try bound.count(looked: FoldBound.stepsOfUnit)
    return try hasSeen(operation, at: index)
  }

  /// A unit that an operation names, in this store's numbers; nil if nothing of its maker is here.
  func unit(_ reference: UnitReference) throws -> UnitID? {
    guard let maker = reference.maker else {
      return UnitID(replica: context.replica, epoch: context.epoch, number: reference.number)
    }
    return try storage.replicaNumber(of: maker.replica).map {
      UnitID(replica: $0, epoch: maker.epoch, number: reference.number)
    }
  }

  /// Reads the runs of units that an operation removes, each unit once: work is bounded by bytes, not by what runs say.
  func readRuns(_ reader: inout ByteReader) throws -> [UnitRange] {
    var units = UnitReader()
    var ranges = UnitRanges()
    for _ in 0..<(try FieldChange.readCount(&reader)) {
      let run = try units.readRun(&reader)
      if let first = try unit(run.first) { ranges.append(UnitRange(first: first, count: run.count)) }
    }
    return ranges.joined()
  }

  /// Those of some units that are there, and that the transaction has seen: the first ones of them.
  func seen(
    _ run: UnitRange, in sequence: borrowing UnitOrder<Storage>, at index: UInt32
  ) throws -> UnitRange? {
    let first = run.first
    func isSeen(_ number: UInt64) throws -> Bool {
      let unit = UnitID(first.inserter, number)
      guard let operation = try sequence.operation(making: unit) else { return false }
      return try hasSeen(operation, at: index)
    }
    let next = try sequence.nextNumber(of: first.replica, first.epoch)
    let end = min(next, UnitRange(first: first, count: run.count).end)
    guard first.number < end, try isSeen(first.number) else { return nil }
    var (seen, unseen) = (first.number, end)
    // Nearly always all of them are.
    if try isSeen(end - 1) { seen = end - 1 }
    while unseen - seen > 1 {
      let middle = seen + (unseen - seen) / 2
      if try isSeen(middle) { seen = middle } else { unseen = middle }
    }
    return UnitRange(first: first, count: seen - first.number + 1)
  }

  // MARK: Text

  /// Folds `insert text` and `remove text`.
  mutating func changeText(
    _ kind: OperationKind, _ cell: CellNumber, _ operand: RawSpan, index: UInt32
  ) throws {
    var sequence = try sequence(of: cell)
    var reader = ByteReader(operand)
    if kind == .insertText {
      var units = UnitReader()
      let left = try units.readOrigin(&reader).flatMap { try unit($0) }
      let text = operand.extracting(try FieldChange.readInsertedText(&reader))
      try lendView(to: &sequence, of: cell)
      _ = try sequence.insert(text: text, by: head(at: index).id, after: left) {
        try hasSeenInSearch($0, at: index)
      }
      try takeView(from: &sequence, of: cell)
    } else {
      let ranges = try readRuns(&reader)
      return try removeText(ranges, from: &sequence, of: cell, index: index)
    }
    try write(sequence.root, of: cell)
  }

  /// Hides what the transaction has seen of some units.
  private mutating func removeText(
    _ ranges: [UnitRange], from sequence: inout UnitOrder<Storage>, of cell: CellNumber, index: UInt32
  ) throws {
    var paused = try pausedUnit(of: cell)
    for range in ranges {
      guard var seen = try seen(range, in: sequence, at: index) else { continue }
      if let unit = paused {
        // Those before it are hidden.
        guard seen.contains(unit) else { continue }
        seen = UnitRange(first: unit, count: seen.end - unit.number)
        paused = nil
      }
      let rest = try sequence.setVisible(false, seen) { isChanged in
        // Where nothing changes, the next number's leaf is done already.
        try countVisit(isChanged, looked: isChanged ? FoldBound.stepsOfLeaf : 1)
      }
      guard let rest else { continue }
      try write(sequence.root, of: cell)
      try bound.pauseIfSpent(at: itemKey(rest, of: cell))
    }
    try write(sequence.root, of: cell)
  }

  /// The unit of a cell at which the operation was paused.
  private mutating func pausedUnit(of cell: CellNumber) throws -> UnitID? {
    let prefix = ElementKey.items(of: state, record: try recordNumber, cell: cell)
    return try bound.next.flatMap { try $0.bytes.starts(with: prefix.bytes) ? $0.item : nil }
  }

  /// Counts a leaf that was looked at, and gives whether to continue.
  private func countVisit(_ isChanged: Bool, looked: Int = FoldBound.stepsOfLeaf) throws -> Bool {
    try bound.count(looked: looked, removed: isChanged ? FoldBound.removalsOfLeaf : 0)
    return !bound.isSpent
  }

  /// Hides what the transaction has seen of a text.
  mutating func clearText(_ cell: CellNumber, index: UInt32) throws {
    var sequence = try sequence(of: cell)
    // Who has made which units does not change.
    let makers = sequence
    // Up to which number each inserter's units are seen.
    var ends: [Inserter: UInt64] = [:]
    func end(of inserter: Inserter) throws -> UInt64 {
      if let known = ends[inserter] { return known }
      let all = UnitRange(first: UnitID(inserter, 0), count: .max)
      let end = try seen(all, in: makers, at: index)?.end ?? 0
      ends[inserter] = end
      try bound.count(looked: FoldBound.stepsOfInserter)
      return end
    }
    let rest = try sequence.hide(from: pausedUnit(of: cell), below: end) { isChanged in
      try countVisit(isChanged)
    }
    try write(sequence.root, of: cell)
    if let rest { try bound.pauseIfSpent(at: itemKey(rest, of: cell)) }
  }
}
