package import OperationFormat

extension ReadTransaction {
  /// The zones that are paused: attached zones whose logs at the remote have ended, and of which nobody has decided what
  /// becomes of them here.
  ///
  /// It is what the store has read in the remote's list of zones. The status of a round knows more.
  ///
  /// - Returns: for each of them, what ended its log: `deleted`, `purged`, `revoked` or `reset`.
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: linear in the zones, and in the events of the list.
  package func pausedZones() throws -> [ZoneID: ZoneEvent.Kind] {
    var zones: [IncarnationID: ZoneID] = [:]
    var paused: [ZoneID: ZoneEvent.Kind] = [:]
    for (number, row) in try view.zones.rows() where row.status == .attached && !row.restoresLog {
      guard let token = row.token else { continue }
      let zone = try view.zoneNumbers.identity(of: number)
      zones[try view.incarnations.identity(of: token.incarnation)] = zone
      if try view.zones.isGone(token.incarnation) { paused[zone] = .deleted }
    }
    guard !zones.isEmpty else { return [:] }
    let deleted = Set(paused.keys)
    try view.zoneEvents.forEachEvent { event in
      guard let zone = zones[event.incarnation] else { return }
      switch event.kind {
      // An account that got its rights back reads the log's beginning once more.
      case .created: if paused[zone] == .revoked { paused[zone] = nil }
      case .reopened: paused[zone] = nil
      // The store knows at once that a deleted log is open again, also before it has read that in the list.
      case .deleted: paused[zone] = deleted.contains(zone) ? .deleted : nil
      case .purged, .revoked, .reset: paused[zone] = event.kind
      default: break
      }
    }
    return paused
  }
}
