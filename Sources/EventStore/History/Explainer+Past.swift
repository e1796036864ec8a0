import OperationFormat

/// A cell to explain, with its present heads.
struct ExplainedCell {
  /// Nil for the record's existence.
  var field: Name?
  var kind: FieldKind
  var heads: [CellHead]
}

/// What a cell had before its present heads.
struct CellPast {
  /// The operations that are not heads any more, each with the first operation that had seen it.
  var replaced: [Explanation.Replaced] = []
  var edits: [Explanation.Edit] = []
}

extension Explainer {
  /// Reads the past of some cells of a record from the log.
  ///
  /// - Parameters:
  ///   - cells: at most one of each field, and of the record's existence.
  ///   - element: only this element; nil for all.
  /// - Returns: the past of each, and where the record was before it was moved here.
  /// - Complexity: O(n log n) in the operations on the record, and linear in the zone's transactions. Each
  ///   creation of the record also costs time linear in the cells.
  func past(
    of record: RecordID, _ cells: [ExplainedCell], _ element: Value?
  ) throws -> (cells: [CellPast], origin: RecordID?) {
    let zone = try read.readView.zones.number(of: record.zone)
    let sight = ReadViewSight(read.readView, zone: zone)
    var readers = cells.map { PastReader(cell: $0, element: element, standing: StandingOperations(sight)) }
    let places = Dictionary(cells.indices.map { (cells[$0].field, $0) }) { first, _ in first }
    var origin: RecordID?
    try read.history(record: record) { entry in
      var known: CausalContext?
      for (index, operation) in entry.transaction.operations.enumerated() {
        guard operation.record == record.name else { continue }
        let context = try known ?? self.context(of: entry.transaction, in: zone)
        known = context
        func take(_ place: Int?) throws {
          if let place { try readers[place].read(operation, UInt32(index), of: entry, context) }
        }
        if operation.makesRecord {
          origin = operation.origin
          for place in readers.indices { try take(place) }
        } else {
          try take(places[nil])
          if case .update(_, _, let field, _) = operation { try take(places[field]) }
        }
      }
      return true
    }
    return (readers.map(\.past), origin)
  }

  /// The causal context of a transaction, without its lineage.
  private func context(of made: LogTransaction, in zone: ZoneNumber) throws -> CausalContext {
    var base: BaseNumbers?
    if let found = made.base {
      let incarnation = try read.readView.incarnations.number(of: found.incarnation)
      base = incarnation.map { ($0, found.offset) }
    }
    let replica = try read.readView.replicas.number(of: made.replica)
    if let replica {
      let lane = Lane(zone: zone, replica: replica, epoch: made.epoch)
      base = try read.readView.baseLimits.limited(base, of: lane, made.sequence)
    }
    return CausalContext(
      zone: zone, replica: replica ?? .none, epoch: made.epoch, sequence: made.sequence, base: base)
  }
}

/// Reads the past of one cell, operation by operation.
private struct PastReader {
  private struct Found {
    var operation: OperationID
    var entry: LogEntry
    var content: CellHead.Content
    var replacedBy: (operation: OperationID, position: Position, isRemoval: Bool)?
  }

  let cell: ExplainedCell
  let element: Value?
  private var standing: StandingOperations<ReadViewSight>
  private var found: [Found] = []
  private var edits: [Explanation.Edit] = []
  private var hasUnits = false

  init(cell: ExplainedCell, element: Value?, standing: StandingOperations<ReadViewSight>) {
    self.cell = cell
    self.element = element
    self.standing = standing
  }

  /// Reads an operation on the record.
  ///
  /// - Parameter context: of its transaction.
  mutating func read(
    _ operation: LogOperation, _ index: UInt32, of entry: LogEntry, _ context: CausalContext
  ) throws {
    let id = OperationID(transaction: entry.transaction.id, index: index)
    if let field = cell.field,
      let edit = operation.edit(of: field, cell.kind, hasUnits: &hasUnits)
    {
      edits.append(Explanation.Edit(operation: id, entry: entry, kind: edit))
    }
    guard let effect = operation.effect(on: cell.field, cell.kind),
      element == nil || effect.element == nil || effect.element == element
    else { return }
    // Addends and contributions replace nothing.
    if effect.replaces {
      for earlier in try standing.takeSeen(by: context, at: index, element: effect.element) {
        found[earlier].replacedBy = (id, entry.position, effect.content == nil)
      }
    }
    guard let content = effect.content else { return }
    standing.add(
      HeadID(replica: context.replica, epoch: context.epoch, sequence: context.sequence, index: index),
      element: content.element)
    found.append(Found(operation: id, entry: entry, content: content))
  }

  var past: CellPast {
    let alive = Set(cell.heads.map(\.operation))
    let replaced = found.compactMap { one -> Explanation.Replaced? in
      guard let by = one.replacedBy, !alive.contains(one.operation) else { return nil }
      return Explanation.Replaced(
        operation: one.operation, entry: one.entry, content: one.content, replacedBy: by.operation,
        replacedAt: by.position, isRemoved: by.isRemoval)
    }
    return CellPast(replaced: replaced, edits: edits)
  }
}

extension LogOperation {
  /// What the operation does to the heads of a cell; nil if it does not change the cell.
  ///
  /// - Parameters:
  ///   - field: the cell's field, nil for the record's existence.
  ///   - kind: which of the field's cells.
  fileprivate func effect(on field: Name?, _ kind: FieldKind) -> CellEffect? {
    guard let field else { return effectOnExistence }
    if makesRecord { return CellEffect() }
    guard case .update(_, _, field, let change) = self else { return nil }
    return kind.with { $0.effect(of: change) }
  }
}
