import OperationFormat

/// What was on a cell before what it has now.
struct CellPast {
  /// The operations that are no heads any more, each with the first one that had seen it.
  var replaced: [Explanation.Replaced] = []
  var edits: [Explanation.Edit] = []
  /// Where the record was before it was moved here.
  var origin: RecordID?
}

extension ReadTransaction {
  /// Reads the past of a cell from the log.
  ///
  /// - Parameters:
  ///   - element: only this element; nil for all.
  ///   - heads: what the cell has now.
  /// - Complexity: O(n log n) in the operations on the record, and linear in the zone's transactions.
  func past(
    of record: RecordID, _ field: Name?, _ kind: FieldKind, _ element: Value?, _ heads: [CellHead]
  ) throws -> CellPast {
    struct Found {
      var operation: OperationID
      var entry: LogEntry
      var content: CellHead.Content
      var replacedBy: (operation: OperationID, position: Position)?
    }
    var past = CellPast()
    var found: [Found] = []
    let zone = try tables.zoneNumber(of: record.zone, interned, transaction)
    var standing = StandingOperations(SnapshotSight(snapshot, zone: zone))
    var hasUnits = false
    try history(record: record) { entry in
      var viewpoint: Viewpoint?
      for (index, operation) in entry.transaction.operations.enumerated() {
        guard operation.record == record.name else { continue }
        let id = OperationID(transaction: entry.transaction.id, index: UInt32(index))
        switch operation {
        case .moveHere(_, _, let place): past.origin = place
        case .create: past.origin = nil
        default: break
        }
        if let field, kind.isSequence,
          let edit = operation.edit(of: field, kind, hasUnits: &hasUnits)
        {
          past.edits.append(Explanation.Edit(operation: id, entry: entry, kind: edit))
        }
        guard let effect = Effect(of: operation, on: field, kind),
          element == nil || effect.element == nil || effect.element == element
        else { continue }
        let own = try viewpoint ?? self.viewpoint(of: entry.transaction, in: zone)
        viewpoint = own
        // What is added to a counter replaces nothing, and what is contributed neither.
        if effect.replaces {
          for earlier in try standing.takeSeen(by: own, at: id.index, element: effect.element) {
            found[earlier].replacedBy = (id, entry.position)
          }
        }
        guard let content = effect.content else { continue }
        standing.add(
          HeadID(replica: own.replica, epoch: own.epoch, sequence: own.sequence, index: id.index),
          element: content.element)
        found.append(Found(operation: id, entry: entry, content: content))
      }
      return true
    }
    let alive = Set(heads.map(\.operation))
    past.replaced = found.compactMap { one in
      guard let by = one.replacedBy, !alive.contains(one.operation) else { return nil }
      return Explanation.Replaced(
        operation: one.operation, entry: one.entry, content: one.content, replacedBy: by.operation,
        replacedAt: by.position)
    }
    return past
  }

  /// What a transaction had seen, without its lineage.
  private func viewpoint(of made: LogTransaction, in zone: ZoneNumber) throws -> Viewpoint {
    var base: (incarnation: IncarnationNumber, offset: UInt64)?
    if let found = made.base {
      let incarnation = try interned.incarnations.number(
        of: found.incarnation, in: tables.incarnations, transaction)
      base = incarnation.map { ($0, found.offset) }
    }
    let replica = try interned.replicas.number(of: made.replica, in: tables.replicas, transaction)
    return Viewpoint(
      zone: zone, replica: replica ?? .none, epoch: made.epoch, sequence: made.sequence, base: base)
  }
}

/// What an operation does to a cell.
private struct Effect {
  /// What its head says; nil if it only removes heads.
  var content: CellHead.Content?
  /// The element that it works on; nil for all.
  var element: Value?
  var replaces = true

  /// Nil if the operation does not work on the cell.
  ///
  /// - Parameters:
  ///   - field: the cell's field, nil for the record's existence.
  ///   - kind: which of the field's cells.
  init?(of operation: LogOperation, on field: Name?, _ kind: FieldKind) {
    switch (operation, field) {
    case (.create(_, let type), nil), (.moveHere(_, let type, _), nil), (.update(_, let type, _, _), nil):
      content = .alive(type: type)
    case (.delete, nil): content = .dead
    case (.moveAway(_, let place), nil): content = .moved(to: place)
    case (.create, .some), (.moveHere, .some): break
    case (.update(_, _, let name, let change), let field?) where name == field:
      if !take(change, on: kind) { return nil }
    default: return nil
    }
  }

  private mutating func take(_ change: FieldChange, on kind: FieldKind) -> Bool {
    switch (kind, change) {
    case (.register, .set(let value)): content = .value(value)
    case (.counter, .add(let value)):
      content = .contribution(value)
      replaces = false
    case (.contributions, .contribute(let value)):
      content = .contribution(value)
      replaces = false
    case (.set, .insert(let value)):
      content = .element(value)
      element = value
    case (.set, .remove(let value)): element = value
    case (.map, .put(let key, let value)):
      content = .entry(key: key, value)
      element = .string(key.rawValue)
    case (.map, .removeKey(let key)): element = .string(key.rawValue)
    default: return false
    }
    return true
  }
}
