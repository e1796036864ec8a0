import LMDB
package import OperationFormat

/// Under which incarnation a zone is made at the remote: stored before the first call, so that a deletion which comes while
/// the call is under way can tell the remote what to delete.
extension LocalStore {
  /// The incarnation to make a zone under: the one that an earlier try proposed, else this one, which is stored.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown` for a zone that is not synced.
  package func proposeIncarnation(
    _ incarnation: IncarnationID, of zone: ZoneID
  ) async throws -> IncarnationID {
    // A commit brings the next round: a call that fails again and again must make none.
    let known = try read { transaction in
      let (number, _) = try transaction.readView.zones.visible(zone)
      return try transaction.readView.zones.openProposal(of: number).map {
        try transaction.readView.incarnations.identity(of: $0)
      }
    }
    if let known { return known }
    return try await perform { store in
      let storage = store.storage
      let (number, row) = try storage.zones.visible(zone)
      guard row.status == .attached else { throw StoreError.unknown(zone) }
      if let found = try storage.zones.openProposal(of: number) {
        return try storage.incarnations.identity(of: found)
      }
      let made = try storage.incarnations.makeNumber(for: incarnation)
      try storage.zones.setProposal(made, of: number)
      return incarnation
    }
  }
}

extension ReadTransaction {
  func proposedIncarnation(of zone: ZoneNumber) throws -> IncarnationID? {
    guard let number = try readView.zones.proposedIncarnation(of: zone) else { return nil }
    return try readView.incarnations.identity(of: number)
  }
}
