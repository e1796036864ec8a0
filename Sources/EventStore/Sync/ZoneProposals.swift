import LMDB
import OperationFormat

// Under which incarnation a zone is made at the remote. It is stored before the first call, so that a
// deletion which comes while the call is under way can tell the remote what to delete.

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
  /// The incarnation that the remote was asked to make a zone under, while no log is known of it; nil if it
  /// was not asked.
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
  func openProposal(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> IncarnationNumber? {
    guard let found = try proposedIncarnation(of: zone, transaction) else { return nil }
    return try isGone(found, transaction) ? nil : found
  }
}
