public import OperationFormat

/// A record that exists although it was moved: elsewhere it was changed, or moved to another zone, at the
/// same time.
public struct SurvivingSource: Hashable, Sendable {
  /// The record, where it was before the move.
  public let record: RecordID
  /// Where it was moved to, in the order of the moves, the latest first.
  public let copies: [RecordID]
}

extension RecordReading where Self: ~Copyable {
  /// The records of a zone that exist although they were moved, in the order of their names. Each has a
  /// conflict of its existence. The next write of the record settles it; to delete the record leaves the copy
  /// as it is.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func survivingSources(in zone: ZoneID) throws -> [SurvivingSource] {
    let view = try reader.view
    var found: [SurvivingSource] = []
    try view.forEachRow(in: zone) { name, row, state in
      // The commonest case: one head says that the record exists.
      guard row.plainType == nil, try view.visible(row, state) != nil else { return true }
      let copies: [RecordID] = try view.existences(in: row, state).compactMap {
        if case .moved(let place) = $0 { place.seen(inLogOf: zone) } else { nil }
      }
      if !copies.isEmpty {
        found.append(SurvivingSource(record: RecordID(zone: zone, name: name), copies: copies))
      }
      return true
    }
    return found
  }
}
