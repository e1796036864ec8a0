import EventStore
import OperationFormat

/// What references do, found from all heads in the naive way, which follows every reference each time.
extension ZoneModel {
  /// A record as it must read; nil if it is not alive, or a cascade hides it.
  func record(_ heads: RecordHeads, _ view: ZoneView) -> Record? {
    guard let type = heads.visibleType(view.policies), !isHidden(heads, view) else { return nil }
    return Record(
      id: RecordID(zone: zone, name: heads.name), type: type,
      fields: heads.values { shown($0, view, isInside: false) })
  }

  /// Whether a record that is not alive can be reached by cascades.
  private func isHidden(_ heads: RecordHeads, _ view: ZoneView) -> Bool {
    var reached: Set<Name> = []
    var rest = cascades(heads)
    while let name = rest.popLast() {
      guard reached.insert(name).inserted else { continue }
      let target = self.heads(of: name, view)
      if target.visibleType(view.policies) == nil { return true }
      rest += cascades(target)
    }
    return false
  }

  /// The records of the zone that the values of a record name by cascades.
  private func cascades(_ heads: RecordHeads) -> [Name] {
    var references: [Reference] = []
    for value in heads.shownValues { value.appendReferences(to: &references) }
    return references.filter { $0.rule == .cascade && isLocal($0) }.map(\.record)
  }

  private func isLocal(_ reference: Reference) -> Bool { reference.target(from: zone).zone == zone }

  /// What a value reads, nil for a reference that is nullified.
  private func shown(_ value: Value, _ view: ZoneView, isInside: Bool) -> Value? {
    switch value {
    case .reference(let reference) where reference.rule == .nullify && isLocal(reference):
      let target = heads(of: reference.record, view)
      if target.visibleType(view.policies) != nil && !isHidden(target, view) { return value }
      return isInside ? .null : nil
    case .array(let elements): return .array(elements.compactMap { shown($0, view, isInside: true) })
    case .map(let entries): return .map(entries.compactMapValues { shown($0, view, isInside: true) })
    default: return value
    }
  }
}

extension RecordHeads {
  /// The values that the record shows in cells where references count.
  fileprivate var shownValues: [Value] {
    fields.flatMap { $0.kind.model.referringValues(of: $0) }
  }
}
