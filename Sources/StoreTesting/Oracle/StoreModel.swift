import EventStore
import OperationFormat

/// The models of the zones that one store has: references follow records that moved between them.
struct StoreModel: Sendable {
  private var zones: [ZoneID: Zone] = [:]

  private struct Zone {
    var model: ZoneModel
    var view: ZoneView
  }

  /// Adds a zone, or replaces it.
  ///
  /// - Parameter view: what the store has of it.
  mutating func add(_ model: ZoneModel, _ view: ZoneView) {
    zones[model.zone] = Zone(model: model, view: view)
  }

  /// All heads of each record of the store that has any.
  func allHeads() -> [(zone: ZoneID, heads: RecordHeads)] {
    zones.keys.sorted().flatMap { zone in allHeads(in: zone).map { (zone, $0) } }
  }

  /// As ``heads(of:)``, of the record's existence alone.
  func existence(of record: RecordID) -> RecordHeads? {
    zones[record.zone].map {
      let existence = $0.model.heads(of: nil, in: record.name, $0.view)
      return RecordHeads(name: record.name, existence: existence, fields: [])
    }
  }

  /// All heads of a record, whether there are any or not; nil if the store does not have the zone.
  func heads(of record: RecordID) -> RecordHeads? {
    zones[record.zone].map { $0.model.heads(of: record.name, $0.view) }
  }

  /// All heads of each record of a zone that has any, in the order of their names.
  func allHeads(in zone: ZoneID) -> [RecordHeads] {
    guard let found = zones[zone] else { return [] }
    return found.model.recordNames.map { found.model.heads(of: $0, found.view) }.filter {
      !$0.existence.isEmpty
    }
  }

  /// The type of a record if it is alive, else nil: a cascade may still hide it.
  func aliveType(_ heads: RecordHeads, in zone: ZoneID) -> Name? {
    heads.visibleType(zones[zone]?.view.policies ?? [:])
  }
}
