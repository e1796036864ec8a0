import EventStore
import OperationFormat

extension ReadTransaction {
  /// The records to which references lead that an explained cell shows, and that read as missing.
  func nullifiedTargets(_ explanation: Explanation) throws -> [RecordID] {
    let shown = zip(explanation.heads, explanation.losses).filter { $1 == nil }
    return try nullifiedTargets(shown.map { $0.0.head.content }, in: explanation.record.zone)
  }

  /// The records to which references in what a record shows lead, and that read as missing: each once, as they are met.
  ///
  /// - Parameter zone: the record's; in another one a target's absence says nothing.
  func nullifiedTargets(_ contents: [CellHead.Content], in zone: ZoneID) throws -> [RecordID] {
    var references: [Reference] = []
    for content in contents { content.value?.appendReferences(to: &references) }
    var seen: Set<RecordID> = []
    var targets: [RecordID] = []
    for reference in references where reference.rule == .nullify && reference.zone ?? zone == zone {
      let target = RecordID(zone: zone, name: reference.record)
      guard seen.insert(target).inserted, try !contains(target) else { continue }
      targets.append(target)
    }
    return targets
  }
}
