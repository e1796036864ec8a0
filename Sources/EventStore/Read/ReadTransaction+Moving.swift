public import OperationFormat

/// A record that is there although it was moved: elsewhere it was changed, or moved to another zone, at the same time.
public struct SurvivingSource: Hashable, Sendable {
  public let record: RecordID
  /// Where it was moved to, in the order of the moves, the latest first.
  public let copies: [RecordID]
}

extension ReadTransaction {
  /// The records of a zone that are there although they were moved, in the order of their names: each is a conflict of its
  /// existence. The next write of the record settles it; deleting the record leaves the copy alone.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func survivingSources(in zone: ZoneID) throws -> [SurvivingSource] {
    var found: [SurvivingSource] = []
    try readView.forEachRow(in: zone) { name, row, state in
      // The commonest answer: one head says that it is there.
      guard RecordLayout.plainType(in: row) == nil, try readView.visible(row, state) != nil else {
        return true
      }
      let copies: [RecordID] = try readView.existences(in: row, state).compactMap {
        if case .moved(let place) = $0 { place } else { nil }
      }
      if !copies.isEmpty {
        found.append(SurvivingSource(record: RecordID(zone: zone, name: name), copies: copies))
      }
      return true
    }
    return found
  }
}
