import OperationFormat

/// What folding lists and texts has in common: units in an order, whose root is in the record's row.
enum UnitCell {
  /// Writes the root of a list or a text into the record's row.
  static func write<Storage>(
    _ root: UnitOrderRoot, of cell: CellNumber, in fold: inout Fold<Storage>
  ) throws {
    var writer = ByteWriter()
    if root.made > 0 { root.append(to: &writer) }
    fold.loaded.splice(writer.span, as: cell, at: try fold.loaded.place(of: cell))
  }

  /// Gives an insertion what is cached of what its transaction has seen.
  static func lendView<Storage>(
    to order: inout UnitOrder<Storage>, of cell: CellNumber, in fold: inout Fold<Storage>
  ) throws {
    let record = try fold.recordNumber
    order.view = fold.views.take(of: cell, record, fold.state, fold.context)
  }

  static func takeView<Storage>(
    from order: inout UnitOrder<Storage>, of cell: CellNumber, in fold: inout Fold<Storage>
  ) throws {
    guard let view = order.view.take() else { return }
    let (storage, zone, record, state) = (fold.storage, fold.context.zone, try fold.recordNumber, fold.state)
    try fold.views.put(view, of: cell, record, state) { base in
      try storage.placedThrough(zone, base.incarnation) ?? 0 >= base.offset
    }
  }

  /// Whether the transaction has seen an operation that is met in the search for where an insertion belongs.
  /// The search passes all that is there and was not seen, so it counts.
  static func hasSeenInSearch<Storage>(
    _ operation: HeadID, at index: UInt32, in fold: borrowing Fold<Storage>
  ) throws -> Bool {
    try fold.bound.count(looked: FoldBound.stepsOfUnit)
    return try hasSeen(operation, at: index, in: fold)
  }

  /// Whether the transaction has seen an operation that made units. Who names units has seen what is compacted: only
  /// a `create` may not have.
  static func hasSeen<Storage>(
    _ operation: HeadID, at index: UInt32, in fold: borrowing Fold<Storage>
  ) throws -> Bool {
    try operation.isCompacted || fold.hasSeen(operation, at: index)
  }

  /// A unit that an operation names, in this store's numbers; nil if nothing of its maker is here.
  static func unit<Storage>(_ reference: UnitReference, in fold: borrowing Fold<Storage>) throws -> UnitID? {
    guard let maker = reference.maker else {
      return UnitID(
        replica: fold.context.replica, epoch: fold.context.epoch, number: reference.number)
    }
    return try fold.storage.replicaNumber(of: maker.replica).map {
      UnitID(replica: $0, epoch: maker.epoch, number: reference.number)
    }
  }

  /// Reads the runs of units that an operation removes, each unit once: work is bounded by bytes, not by what
  /// runs say.
  static func readRuns<Storage>(
    _ reader: inout ByteReader, in fold: borrowing Fold<Storage>
  ) throws -> [UnitRange] {
    var units = UnitReader()
    var ranges = UnitRanges()
    for _ in 0..<(try FieldChange.readCount(&reader)) {
      let run = try units.readRun(&reader)
      if let first = try unit(run.first, in: fold) {
        ranges.append(UnitRange(first: first, count: run.count))
      }
    }
    return ranges.joined()
  }

  /// Those of some units that are there, and that the transaction has seen: the first ones of them.
  static func seen<Storage>(
    _ run: UnitRange, in order: borrowing UnitOrder<Storage>, at index: UInt32,
    by fold: borrowing Fold<Storage>
  ) throws -> UnitRange? {
    let first = run.first
    func isSeen(_ number: UInt64) throws -> Bool {
      let unit = UnitID(first.inserter, number)
      guard let operation = try order.operation(making: unit) else { return false }
      return try hasSeen(operation, at: index, in: fold)
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
  static func pausedUnit<Storage>(of cell: CellNumber, in fold: borrowing Fold<Storage>) throws -> UnitID? {
    let prefix = ElementKey.items(of: fold.state, record: try fold.recordNumber, cell: cell)
    return try fold.bound.next.flatMap { try $0.bytes.starts(with: prefix.bytes) ? $0.item : nil }
  }

  /// Leaves the visible units alone, as if one operation had inserted them, or none.
  static func compact<Storage>(
    _ cell: CellNumber, keepsVisible: Bool, in fold: inout Fold<Storage>
  ) throws {
    var order = try fold.unitOrder(of: cell)
    try fold.bound.count(removed: Int(clamping: order.root.lastNode))
    try order.compact(keepsVisible: keepsVisible)
    try write(order.root, of: cell, in: &fold)
    fold.views.removeAll()
    fold.nodes.removeAll()
  }
}

extension Fold {
  /// The units of a list or a text of the loaded record.
  package mutating func unitOrder(of cell: CellNumber) throws -> UnitOrder<Storage> {
    let place = try loaded.place(of: cell)
    let root =
      try place.body.isEmpty ? UnitOrderRoot() : UnitOrderRoot(loaded.bytes.span.bytes.extracting(place.body))
    let record = try recordNumber
    return UnitOrder(
      storage, RunKeys(state: state, record: record, cell: cell), root: root, isText: cell.hasScalars,
      limits: orderLimits, nodes: nodes.nodes(of: UnitOrderCell(state: state, record: record, cell: cell)))
  }

  /// Whether the transaction, at one of its operations, has seen another operation.
  package func hasSeen(_ operation: HeadID, at index: UInt32) throws -> Bool {
    try step.removes(.seen(at: index), operation)
  }
}
