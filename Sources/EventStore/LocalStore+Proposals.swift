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
      let tables = transaction.tables
      let (number, _) = try tables.zone(zone, transaction.interned, transaction.transaction)
      return try tables.openProposal(of: number, transaction.transaction).map {
        try transaction.interned.incarnations.identity(
          of: $0, in: tables.incarnations, transaction.transaction)
      }
    }
    if let known { return known }
    return try await perform { store in
      let storage = store.storage
      let (number, row) = try storage.zone(zone)
      guard row.status == .attached else { throw StoreError.unknown(zone) }
      if let found = try storage.tables.openProposal(of: number, storage.transaction) {
        return try storage.incarnationID(found)
      }
      let made = try storage.makeIncarnationNumber(for: incarnation)
      try storage.setProposal(made, of: number)
      return incarnation
    }
  }
}

extension ReadTransaction {
  func proposedIncarnation(of zone: ZoneNumber) throws -> IncarnationID? {
    guard let number = try tables.proposedIncarnation(of: zone, transaction) else { return nil }
    return try interned.incarnations.identity(of: number, in: tables.incarnations, transaction)
  }
}

extension TableStorage {
  /// Remembers under which incarnation the remote is asked to make a zone.
  func setProposal(_ incarnation: IncarnationNumber, of zone: ZoneNumber) throws {
    try putChecked(.proposedIncarnation(zone), in: tables.incarnations) { writer in
      writer.append(varint: UInt64(incarnation.rawValue))
    }
  }

  /// Forgets what was proposed for a zone: it is tied to a log, or the remote knows that it was deleted.
  func removeProposal(of zone: ZoneNumber) throws {
    _ = try transaction.delete(TableKey.proposedIncarnation(zone).span, in: tables.incarnations)
  }
}

extension Tables {
  /// The incarnation that the remote was asked to make a zone under, while no log is known of it; nil if it was not asked.
  func proposedIncarnation(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> IncarnationNumber? {
    try transaction.withCheckedValue(of: TableKey.proposedIncarnation(zone), in: incarnations) { row in
      var reader = ByteReader(row)
      let number = IncarnationNumber(rawValue: try reader.readUInt32Varint("proposal"))
      try reader.finish("proposal")
      return number
    }
  }

  /// The same, unless the log that it names was deleted since: then the zone is to be made under another one.
  fileprivate func openProposal(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> IncarnationNumber? {
    guard let found = try proposedIncarnation(of: zone, transaction) else { return nil }
    return try isGone(found, transaction) ? nil : found
  }
}
