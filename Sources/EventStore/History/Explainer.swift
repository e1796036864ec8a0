public import OperationFormat

extension ReadTransaction {
  /// Explains a field of a record, or its existence.
  ///
  /// - Parameters:
  ///   - record: the record, visible or not.
  ///   - field: nil for the record's existence.
  ///   - only: which of the field's cells; if nil, the first that is not empty, in the order of their kinds.
  ///   - element: only this element of a set, this key of a map or this unit of a list, as a text.
  /// - Returns: nil if no operation in the store changed the cell.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's transactions, to find the replaced operations.
  public func explain(
    _ record: RecordID, field: Name? = nil, as only: FieldKind? = nil, element: Value? = nil
  ) throws -> Explanation? {
    try Explainer(self).explain(record, field: field, as: only, element: element)
  }

  /// Explains a record's existence and each of its fields, empty ones too.
  ///
  /// - Parameter kinds: the kind of a field that is explained, if it has anything in it; nil for the first one
  ///   that has.
  /// - Returns: existence first, then the fields in order; none if no operation in the store changed the
  ///   record.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's transactions, however many fields there are.
  package func explainAll(
    _ record: RecordID, kinds: (Name) -> FieldKind? = { _ in nil }
  ) throws -> [Explanation] {
    try Explainer(self).explainAll(record, kinds)
  }

  /// The heads of a field's cell; of a text its runs, of contributions all of them, in their order.
  package func allHeads(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [CellHead] {
    try Explainer(self).allHeads(of: field, in: record, as: kind)
  }
}

/// Finds out why the cells of a record show what they show, from the record's heads and from the log.
struct Explainer: ~Copyable {
  let read: ReadTransaction

  init(_ read: borrowing ReadTransaction) { self.read = read.alias() }

  func explain(
    _ record: RecordID, field: Name?, as only: FieldKind?, element: Value?
  ) throws -> Explanation? {
    if var cell = try cell(of: record, field, as: only) {
      if let element { cell.heads = cell.heads.filter { $0.content.element == element } }
      let found = try explain(record, [cell], element).first
      return found.flatMap { $0.heads.isEmpty && element != nil && $0.replaced.isEmpty ? nil : $0 }
    }
    // An empty set or map has no row: only the log knows it.
    for kind in FieldKind.allCases where kind.layout == .elements && (only ?? kind) == kind {
      let cell = ExplainedCell(field: field, kind: kind, heads: [])
      let found = field == nil ? nil : try explain(record, [cell], element).first
      if let found, !found.replaced.isEmpty { return found }
    }
    guard element == nil, let dropped = try droppedCell(of: record, field, as: only) else { return nil }
    return try explain(record, [dropped], nil).first
  }

  func explainAll(_ record: RecordID, _ kinds: (Name) -> FieldKind?) throws -> [Explanation] {
    guard let existence = try cell(of: record, nil, as: nil) ?? droppedCell(of: record, nil, as: nil) else {
      return []
    }
    let fields = try read.fieldsWithEmptied(of: record).compactMap { field in
      let chosen = try kinds(field).flatMap { try cell(of: record, field, as: $0) }
      return try chosen ?? cell(of: record, field, as: nil)
    }
    return try explain(record, [existence] + fields, nil)
  }

  /// A field's first cell that is not empty, in the order of their kinds, or the record's existence; nil if
  /// there is none.
  private func cell(of record: RecordID, _ field: Name?, as only: FieldKind?) throws -> ExplainedCell? {
    guard let field else {
      let heads = try read.existence(of: record)
      return heads.isEmpty ? nil : ExplainedCell(field: nil, kind: .register, heads: heads)
    }
    for kind in FieldKind.allCases where (only ?? kind) == kind {
      let heads = try allHeads(of: field, in: record, as: kind)
      if !heads.isEmpty { return ExplainedCell(field: field, kind: kind, heads: heads) }
    }
    guard let emptied = try emptiedKind(of: field, in: record), (only ?? emptied) == emptied else {
      return nil
    }
    return ExplainedCell(field: field, kind: emptied, heads: [])
  }

  private func explain(
    _ record: RecordID, _ cells: [ExplainedCell], _ element: Value?
  ) throws -> [Explanation] {
    let (isVisible, missingTarget) = try (read.contains(record), read.missingTarget(of: record))
    let place = try read.place(of: record)
    let (pasts, origin) = try past(of: record, cells, element)
    let retired = try read.retiredThrough(of: record.zone)
    let state = try read.readView.zones.visible(record.zone).row.state
    let floor = try read.readView.states.storedRow(of: state).floor
    let dropped = try droppedAt(record)
    // One transaction may have made very many heads: they share its entry.
    var entries: [TransactionID: LogEntry?] = [:]
    return try zip(cells, pasts).map { cell, past in
      let (field, heads) = (cell.field, cell.heads)
      let explained = try heads.map { head in
        let id = head.operation.transaction
        let entry = try entry(of: id, in: record.zone, &entries)
        return Explanation.ExplainedHead(
          head: head, entry: entry,
          base: try entry.map { $0.transaction.base } ?? retiredBase(of: id, in: record.zone),
          placement: id.sequence == 0 ? nil : try read.placement(of: id, in: record.zone),
          formerly: try read.formerTransaction(of: id, in: record.zone))
      }
      // Whether only one of the heads shows.
      let isContested =
        cell.kind.with { $0.showsGreatest }
        && (cell.kind.layout == .heads ? field != nil || !Explanation.agree(heads) : element != nil)
      return Explanation(
        record: record, field: field, kind: cell.kind, element: element,
        counter: try field.flatMap { try counter(of: cell, $0, in: record) },
        policy: try field == nil ? policy(of: heads) : nil, isVisible: isVisible,
        missingTarget: missingTarget, heads: explained,
        reasons: isContested ? heads.dropFirst().map { Explanation.reason(heads[0], $0) } : [],
        replaced: past.replaced, edits: element == nil ? past.edits : [],
        movedTo: place.record == record ? nil : place, movedFrom: origin, retiredThrough: retired,
        compactedThrough: floor?.offset, droppedAt: dropped)
    }
  }

  /// The sum of a counter, also of a record that is not visible; nil for other cells, and if nothing was
  /// added.
  private func counter(of cell: ExplainedCell, _ field: Name, in record: RecordID) throws -> Counter? {
    guard cell.kind.with({ $0.sumsHeads }) else { return nil }
    return try read.reader.withAnyCell(cell.kind, of: field, in: record) { cell in
      let sum = try CounterKind.sum(of: cell)
      return sum.isEmpty ? nil : sum.counter
    }
  }

  /// How a record whose existence has these heads decides between concurrent deletions and updates.
  private func policy(of existence: [CellHead]) throws -> ExistencePolicy {
    for head in existence {
      if case .alive(let type) = head.content { return try read.existencePolicy(of: type) }
    }
    return .latest
  }

  private func entry(
    of id: TransactionID, in zone: ZoneID, _ known: inout [TransactionID: LogEntry?]
  ) throws -> LogEntry? {
    if id.sequence == 0 { return nil }
    if let entry = known[id] { return entry }
    let position = try read.position(of: id, in: zone)
    guard try position != nil || isRetired(id, in: zone) else {
      throw StoreError(
        .damaged, "the transaction \(id) made something, and is not in the log", hint: StoreError.damageHint)
    }
    let entry = try position.map { try read.entry(at: $0) }
    known.updateValue(entry, forKey: id)
    return entry
  }

  /// Whether the zone begins with a snapshot that has a transaction.
  private func isRetired(_ id: TransactionID, in zone: ZoneID) throws -> Bool {
    guard let lane = try lane(of: id, in: zone) else { return false }
    return try read.readView.lanes.retired(lane) >= id.sequence
  }

  private func lane(of id: TransactionID, in zone: ZoneID) throws -> Lane? {
    let view = read.readView
    let number = try view.zones.number(of: zone)
    return try view.replicas.number(of: id.replica).map { Lane(zone: number, replica: $0, epoch: id.epoch) }
  }

  /// What a transaction had seen that the log does not have any more.
  private func retiredBase(of id: TransactionID, in zone: ZoneID) throws -> Base? {
    let view = read.readView
    guard let lane = try lane(of: id, in: zone), let base = try view.lanes.retiredBase(of: lane, id.sequence)
    else { return nil }
    return Base(incarnation: try view.incarnations.identity(of: base.incarnation), offset: base.offset)
  }

  // MARK: Heads

  func allHeads(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [CellHead] {
    switch kind.with({ $0.explainedHeads }) {
    case .ofCell: try read.heads(of: field, in: record, as: kind)
    case .ofTextRuns: try textHeads(of: field, in: record)
    case .ofContributions: try contributionHeads(of: field, in: record)
    }
  }

  /// The runs of a text in its order, each with the operation that inserted it.
  private func textHeads(of field: Name, in record: RecordID) throws -> [CellHead] {
    var timestamps: [TransactionID: Timestamp] = [:]
    return try read.textRuns(of: field, in: record).map { run in
      let id = run.operation.transaction
      if timestamps[id] == nil, let position = try read.position(of: id, in: record.zone) {
        timestamps[id] = try read.entry(at: position).transaction.timestamp
      }
      let timestamp = timestamps[id]
      return CellHead(
        operation: run.operation, timestamp: timestamp ?? Timestamp(rawValue: 0), content: .text(run.text))
    }
  }

  /// The contributions in their order.
  private func contributionHeads(of field: Name, in record: RecordID) throws -> [CellHead] {
    try read.reader.contributions(of: field, inAny: record).map {
      CellHead(operation: $0.operation, timestamp: $0.timestamp, content: .contribution($0.payload))
    }
  }
}
