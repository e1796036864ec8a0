import EventStore
import OperationFormat

/// Checks that what a device has taken back is as if it had never been, unless its app was told that it was kept:
/// invariant 22.
struct UndoChecker {
  private let device: SimulatedDevice
  private let report: UndoReport
  private let store: LocalStore

  /// Checks the undo that the device made last, if it was not checked.
  static func check(_ device: SimulatedDevice, _ store: LocalStore) throws {
    guard let report = device.undoUnchecked else { return }
    device.undoUnchecked = nil
    try device.undone.check { try store.isThere($0) }
    if device.undone.isUncertain { return }
    let checker = UndoChecker(device: device, report: report, store: store)
    for root in report.undone where try store.isThere(root) { try checker.check(root) }
  }

  private func check(_ root: Position) throws {
    let made = try store.madeTransaction(at: root)
    guard let zone = device.view.zone(made.zone), !zone.isBehind else { return }
    let model = zone.facts.model
    func numbers(_ positions: some Sequence<Position>) throws -> Set<Int> {
      // Transactions of different zones have the same sequences.
      let all = try positions.map { try store.madeTransaction(at: $0) }
      return Set(all.filter { $0.zone == made.zone }.compactMap { model.number(of: $0.id) })
    }
    func view(without positions: Set<Position>) throws -> ZoneView {
      let without = try numbers(positions)
      var view = zone.view
      view.folded = TransactionSet(zone.view.folded.filter { !without.contains($0) })
      return view
    }
    let never = try view(without: device.undone.ineffective(for: report.undone))
    for operation in made.operations { try compare(operation, made, model, now: zone.view, never) }
    // What follows may name units of lists and texts that are gone.
    guard let later = try ineffective(after: root) else { return }
    let alone = try view(without: device.undone.isUndone(root) ? later.union([root]) : later)
    for record in Set(made.operations.compactMap(\.record)).sorted()
    where try !isLeft(RecordID(zone: made.zone, name: record), by: later) {
      try compareAll(record, made, model, now: zone.view, alone)
    }
  }

  /// Compares the place that an operation of the transaction works on.
  private func compare(
    _ operation: LogOperation, _ made: LogTransaction, _ model: ZoneModel, now: ZoneView, _ never: ZoneView
  ) throws {
    guard let record = operation.record else { return }
    let id = RecordID(zone: made.zone, name: record)
    func type(_ view: ZoneView) -> Name? {
      var heads = RecordHeads(name: record, existence: [], fields: [])
      heads.existence = model.heads(of: nil, in: record, view)
      return heads.visibleType([:])
    }
    let isAlive = (type(now) != nil, type(never) != nil)
    guard case .update(_, _, let field, let change) = operation else {
      if isAlive.0 == isAlive.1 || isKept(id, nil, nil) { return }
      throw failure("\(id) is \(isAlive.0 ? "" : "not ")there", made)
    }
    guard isAlive.0, isAlive.1, case .cell(let effect) = ModelChange(of: change),
      effect.kind != .contributions
    else { return }
    func heads(_ view: ZoneView) -> [CellHead] {
      model.heads(of: field, in: record, view, as: effect.kind).filter { head in
        effect.element == nil || element(of: head.content) == effect.element
      }
    }
    if isKept(id, field, effect.element) { return }
    let (found, expected) = (value(heads(now), effect.kind), value(heads(never), effect.kind))
    if found == expected { return }
    throw failure(
      "“\(field)” of \(id) is \(ModelText.text(found as Any)), and would be \(ModelText.text(expected as Any))",
      made)
  }

  private func value(_ heads: [CellHead], _ kind: FieldKind) -> Value? {
    if kind == .counter { return RecordHeads.sum(of: heads) }
    let value = heads.first?.content.value
    return kind == .register && value == .null ? nil : value
  }

  /// Compares all that a record reads, lists and texts too, with what it would read.
  private func compareAll(
    _ record: Name, _ made: LogTransaction, _ model: ZoneModel, now: ZoneView, _ never: ZoneView
  ) throws {
    let id = RecordID(zone: made.zone, name: record)
    if report.kept.contains(where: { $0.record == id }) { return }
    let (heads, expected) = (model.heads(of: record, now), model.heads(of: record, never))
    guard heads.visibleType([:]) != nil, expected.visibleType([:]) != nil else { return }
    // A field may have cells of several kinds, of which one hides the others.
    func values(_ heads: RecordHeads) -> [String: Value] {
      var values: [String: Value] = [:]
      for field in heads.fields where field.kind != .contributions {
        let value = field.kind.model.value(of: field) { $0 }
        let isEmpty = value == nil || [.array([]), .map([:]), .int(0)].contains(value!)
        if !isEmpty { values["\(field.kind) “\(field.name)”"] = value }
      }
      return values
    }
    if values(heads) == values(expected) { return }
    throw failure(
      "\(id) reads \(ModelText.text(values(heads))), and would read \(ModelText.text(values(expected)))", made
    )
  }

  private func isKept(_ record: RecordID, _ field: Name?, _ element: ModelElement?) -> Bool {
    report.kept.contains { kept in
      kept.record == record
        && (kept.field == nil
          || kept.field == field
            && (kept.element == nil || [ModelElement(kept.element!), key(kept.element!)].contains(element)))
    }
  }

  /// Whether one of some writes has moved a record away and was taken back but for that, because somebody had changed
  /// the copy. The app was told so then. What has changed the copy may be taken back since: that brings nothing back
  /// where the record came from.
  private func isLeft(_ record: RecordID, by later: Set<Position>) throws -> Bool {
    for (root, chain) in device.undone.chains where later.contains(root) && chain.left.contains(record) {
      let made = try store.madeTransaction(at: root)
      let isMoved = made.operations.contains { operation in
        if case .moveAway = operation { operation.record == record.name } else { false }
      }
      if made.zone == record.zone && isMoved { return true }
    }
    return false
  }

  private func element(of content: CellHead.Content) -> ModelElement? {
    switch content {
    case .element(let value): ModelElement(value)
    case .entry(let key, _): ModelElement(key)
    default: nil
    }
  }

  private func key(_ element: Value) -> ModelElement? {
    if case .string(let key) = element { ModelElement(Name(key)) } else { nil }
  }

  /// What follows a transaction, if all of it is taken back or takes others back, none of them earlier ones; else nil.
  private func ineffective(after root: Position) throws -> Set<Position>? {
    let ineffective = device.undone.ineffective(for: [root]).union(report.undone)
    if device.undone.chains.contains(where: { $0.key < root && $0.value.last >= root }) { return nil }
    var later: Set<Position>? = []
    try store.read { transaction in
      try transaction.history(after: root) { entry in
        if ineffective.contains(entry.position) { later?.insert(entry.position) } else { later = nil }
        return later != nil
      }
    }
    return later
  }

  private func failure(_ message: String, _ made: LogTransaction) -> SimulationFailure {
    SimulationFailure(
      .undoneIsGone,
      "d\(device.number), after an undo of \(made.id), which “\(report.undone)” names: \(message)")
  }
}

extension LocalStore {
  /// Whether its log has a transaction at a position.
  fileprivate func isThere(_ position: Position) throws -> Bool {
    try read { try $0.transactionIfThere(at: position) } != nil
  }

  fileprivate func madeTransaction(at position: Position) throws -> LogTransaction {
    try read { try $0.entry(at: position) }.transaction
  }
}
