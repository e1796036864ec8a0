import EventStore
import OperationFormat

extension ReadTransaction {
  /// The targets of references in an explained cell that read as missing.
  func nullifiedTargets(_ explanation: Explanation) throws -> [RecordID] {
    let shown = zip(explanation.heads, explanation.losses).filter { $1 == nil }
    return try nullifiedTargets(shown.map { $0.0.head.content }, in: explanation.record.zone)
  }

  /// The targets of references in these contents that read as missing: each once, in the order in which they
  /// occur.
  ///
  /// - Parameter zone: the record's zone. The absence of a target in another zone means nothing.
  func nullifiedTargets(_ contents: [CellHead.Content], in zone: ZoneID) throws -> [RecordID] {
    var references: [Reference] = []
    for content in contents { content.value?.appendReferences(to: &references) }
    var seen: Set<RecordID> = []
    var targets: [RecordID] = []
    for reference in references where reference.rule == .nullify && reference.zone ?? zone == zone {
      let target = RecordID(zone: zone, name: reference.record)
      guard seen.insert(target).inserted, case .nowhere = try place(of: target) else { continue }
      targets.append(target)
    }
    return targets
  }
}
