import LMDB
package import OperationFormat

extension ReadTransaction {
  package func syncState() throws -> StoreSyncState {
    try tables.checkLogTail(transaction)
    var zones: [ZoneSyncState] = []
    var hasRemovedZones = false
    for (number, row) in try tables.zoneRows(transaction) {
      guard let attachment = ZoneAttachment(rawValue: row.status.rawValue) else {
        hasRemovedZones = true
        continue
      }
      let zone = try interned.zones.identity(of: number, in: tables.zones, transaction)
      var state = ZoneSyncState(
        zone: zone, attachment: attachment, token: try changeToken(row.token, zone),
        pending: try tables.pendingCount(in: number, row, identity, interned, transaction),
        assetPolicy: try tables.assetPolicy(of: number, transaction))
      state.hasUnsentAssets = try tables.hasAssets(in: number, .unsent, transaction)
      zones.append(state)
    }
    // Of one name there may be a zone that is being deleted and one that was made since.
    zones.sort { ($0.zone, $0.attachment.rawValue) < ($1.zone, $1.attachment.rawValue) }
    var state = StoreSyncState(
      identity: identity, databaseToken: try tables.databaseToken(transaction), zones: zones)
    state.hasRemovedZones = hasRemovedZones
    return state
  }

  /// Up to where a zone's remote log was folded; nil before the remote has it, as far as the store knows.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func changeToken(of zone: ZoneID) throws -> ChangeToken? {
    try changeToken(tables.zone(zone, interned, transaction).row.token, zone)
  }

  /// What the next transaction of a zone has seen of its remote log: less than ``changeToken(of:)`` says
  /// while the records are behind it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func base(of zone: ZoneID) throws -> Base? {
    guard let base = try tables.zone(zone, interned, transaction).row.base else { return nil }
    return Base(
      incarnation: try interned.incarnations.identity(
        of: base.incarnation, in: tables.incarnations, transaction),
      offset: base.offset)
  }

  func changeToken(_ token: ZoneRow.Token?, _ zone: ZoneID) throws -> ChangeToken? {
    guard let token else { return nil }
    return ChangeToken(
      zone: zone,
      incarnation: try interned.incarnations.identity(
        of: token.incarnation, in: tables.incarnations, transaction),
      offset: token.offset, hash: token.hash)
  }
}

// The database token's row:
//
// | bytes | what |
// |---|---|
// | 16 | remote, big-endian |
// | varint | offset |
// | 32 | hash |

extension Tables {
  /// Up to where the remote's list of zones was read; nil for a store that was never synced.
  func databaseToken(_ transaction: borrowing LMDBTransaction) throws -> DatabaseToken? {
    try transaction.withValue(of: TableKey.meta(.remote).span, in: meta) { row in
      var reader = ByteReader(row)
      let remote = RemoteID(rawValue: try reader.readBigEndian("remote", as: UInt128.self))
      let offset = try reader.readVarint("remote.offset")
      let hash = try ContentHash.read(from: &reader, "remote.hash")
      try reader.finish("remote")
      return DatabaseToken(remote: remote, offset: offset, hash: hash)
    }
  }
}

extension TableStorage {
  func setDatabaseToken(_ token: DatabaseToken) throws {
    try put(.meta(.remote), in: tables.meta) { writer in
      writer.append(bigEndian: token.remote.rawValue)
      writer.append(varint: token.offset)
      writer.append(token.hash)
    }
  }
}
