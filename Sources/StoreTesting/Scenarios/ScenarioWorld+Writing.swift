import EventStore
import OperationFormat

extension ScenarioWorld {
  /// The type of every record.
  private static let type: Name = "record"

  /// Does writes in one transaction of the store.
  func write(_ writes: [ScenarioWrite], on device: ScenarioDevice) async throws {
    var targets: [RecordID] = []
    var created: [Name: Name] = [:]
    for write in writes {
      let (record, isNew) = write.target
      let zone = record.zone ?? created[record.name] ?? zone(of: record)
      if isNew { created[record.name] = record.zone ?? ScenarioStepParser.mainZone }
      if case .move(_, let target) = write { created[record.name] = target }
      targets.append(
        RecordID(
          zone: ZoneID(name: isNew ? record.zone ?? ScenarioStepParser.mainZone : zone), name: record.name))
    }
    let work = Array(zip(writes, targets))
    try await device.store.write { tx in
      for (write, target) in work { try Self.perform(write, on: target, &tx) }
    }
    for (name, zone) in created { zones[name] = zone }
  }

  private static func perform(
    _ write: ScenarioWrite, on record: RecordID, _ tx: inout WriteTransaction
  ) throws {
    switch write {
    case .create(_, let fields):
      if try tx.createZone(record.zone) { try tx.attachZone(record.zone) }
      // A field that is created as null has no value; it is not cleared.
      try tx.create(record, type: type, fields: fields.filter { $0.value != .null })
    case .save(_, let fields):
      for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
        try tx.set(field, of: record, to: value)
      }
    case .delete: try tx.delete(record)
    case .setParent(_, let parent, let rule):
      let field = ScenarioRecord.parentField
      guard let parent else { return try tx.clear(field, of: record) }
      var present: ReferenceRule?
      if case .reference(let reference)? = try tx.value(of: field, in: record) { present = reference.rule }
      let reference = Reference(record: parent, rule: rule ?? present ?? .none)
      try tx.set(field, of: record, to: .reference(reference))
    case .move(_, let name):
      let zone = ZoneID(name: name)
      if try tx.createZone(zone) { try tx.attachZone(zone) }
      try tx.move(record, to: zone)
    case .edit(_, let field, let edit): try tx.perform(edit, on: field, of: record)
    }
  }

  func createZone(_ name: Name, on device: ScenarioDevice) async throws {
    try await device.store.write { tx in
      let zone = ZoneID(name: name)
      if try tx.createZone(zone) { try tx.attachZone(zone) }
    }
  }

  /// Where a record lives: where the scenario says, else where it was created last.
  func zone(of record: ScenarioRecord) -> Name {
    record.zone ?? zones[record.name] ?? ScenarioStepParser.mainZone
  }

  func id(of record: ScenarioRecord) -> RecordID {
    RecordID(zone: ZoneID(name: zone(of: record)), name: record.name)
  }
}
