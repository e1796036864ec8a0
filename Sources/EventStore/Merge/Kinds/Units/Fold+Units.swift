import OperationFormat

/// What lists and texts share: units in an order, whose root stands in the record's row.
extension Fold {
  /// The units of a list or a text of the loaded record.
  package mutating func unitOrder(of cell: CellNumber) throws -> UnitOrder<Storage> {
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

  /// Gives an insertion what is cached of what its transaction has seen.
  mutating func lendView(to order: inout UnitOrder<Storage>, of cell: CellNumber) throws {
    order.view = views.take(of: cell, try recordNumber, state, context)
  }

  mutating func takeView(from order: inout UnitOrder<Storage>, of cell: CellNumber) throws {
    guard let view = order.view.take() else { return }
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
    _ run: UnitRange, in order: borrowing UnitOrder<Storage>, at index: UInt32
  ) throws -> UnitRange? {
    let first = run.first
    func isSeen(_ number: UInt64) throws -> Bool {
      let unit = UnitID(first.inserter, number)
      guard let operation = try order.operation(making: unit) else { return false }
      return try hasSeen(operation, at: index)
    }
    let next = try order.nextNumber(of: first.replica, first.epoch)
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

  /// The unit of a cell at which the operation was paused.
  mutating func pausedUnit(of cell: CellNumber) throws -> UnitID? {
    let prefix = ElementKey.items(of: state, record: try recordNumber, cell: cell)
    return try bound.next.flatMap { try $0.bytes.starts(with: prefix.bytes) ? $0.item : nil }
  }

  /// Counts a leaf that was looked at, and gives whether to continue.
  func countVisit(_ isChanged: Bool, looked: Int = FoldBound.stepsOfLeaf) throws -> Bool {
    try bound.count(looked: looked, removed: isChanged ? FoldBound.removalsOfLeaf : 0)
    return !bound.isSpent
  }
}
