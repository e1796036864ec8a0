package import LMDB
package import OperationFormat

/// Finding zones. A zone that is deleted gives up its number, and one that is made later under its name gets another:
/// what is cached is therefore a hint, which holds if the number's row, in the snapshot at hand, is not gone.
extension Tables {
  /// The number and row that a zone has in a snapshot; nil if it has none, or was deleted.
  ///
  /// All lookups of zones come through here.
  ///
  /// - Parameter row: reads the row of a number: a writer has rows that it has not written yet.
  package func findZone(
    _ zone: ZoneID, _ interned: Interned, _ transaction: borrowing Transaction,
    row: (ZoneNumber) throws -> ZoneRow?
  ) throws -> (number: ZoneNumber, row: ZoneRow)? {
    if let number = interned.zones.cachedNumber(of: zone), let found = try row(number), !found.status.isGone {
      return (number, found)
    }
    guard let number = try interned.zones.storedNumber(of: zone, in: zones, transaction),
      let found = try row(number), !found.status.isGone
    else { return nil }
    return (number, found)
  }

  /// A zone that shows in queries.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func zone(
    _ zone: ZoneID, _ interned: Interned, _ transaction: borrowing Transaction
  ) throws -> (number: ZoneNumber, row: ZoneRow) {
    let found = try findZone(zone, interned, transaction) { try zoneRow($0, transaction) }
    guard let found, found.row.status.isVisible else { throw StoreError.unknown(zone) }
    return found
  }

  /// The number of a zone that shows in queries.
  package func zoneNumber(
    of zone: ZoneID, _ interned: Interned, _ transaction: borrowing Transaction
  ) throws -> ZoneNumber {
    try self.zone(zone, interned, transaction).number
  }

  /// The zones that show in queries, by number.
  ///
  /// - Parameter only: the zone of this identity alone; the rows of others are not read.
  func zones(
    _ transaction: borrowing Transaction, of only: ZoneID? = nil
  ) throws -> [(number: ZoneNumber, id: ZoneID)] {
    var found: [(number: ZoneNumber, id: ZoneID)] = []
    for (number, row) in try zoneRows(transaction, of: only) where row.status.isVisible {
      guard let id = try zoneID(number, transaction) else { continue }
      found.append((number, id))
    }
    return found
  }

  /// The rows of all zones, those that are gone too, by number.
  ///
  /// - Parameter only: the rows of zones of this identity alone; those of others are not read.
  package func zoneRows(
    _ transaction: borrowing Transaction, of only: ZoneID? = nil
  ) throws -> [(number: ZoneNumber, row: ZoneRow)] {
    var found: [(number: ZoneNumber, row: ZoneRow)] = []
    try forEachZoneRow(transaction) { number, read in
      guard try only == nil || zoneID(number, transaction) == only else { return }
      found.append((number, try read()))
    }
    return found
  }

  /// Calls a closure with the number of each zone that has a row, in their order, and with what reads the row.
  func forEachZoneRow(
    _ transaction: borrowing Transaction, _ body: (ZoneNumber, _ read: () throws -> ZoneRow) throws -> Void
  ) throws {
    var cursor = try transaction.openCursor(zones)
    var isThere = try cursor.seek(atOrAfter: TableKey.zoneRow(.none).span)
    while isThere {
      let goesOn = try cursor.withEntry { key, row in
        guard key.hasPrefix([2]) else { return false }
        try body(ZoneNumber(rawValue: try key.bigEndian32(at: 1))) {
          try ZoneRow(CheckedRow.content(of: row, under: key))
        }
        return true
      }
      guard goesOn else { break }
      isThere = try cursor.next()
    }
  }

  /// The identity behind a zone's number, also of one that is gone.
  func zoneID(_ number: ZoneNumber, _ transaction: borrowing Transaction) throws -> ZoneID? {
    var key = TableKey()
    key.append(UInt8(0))
    key.append(number)
    return try transaction.withCheckedValue(of: key, in: zones) { try ZoneID(interned: $0) }
  }

  /// Whether a zone's log was deleted, here or at the remote: no zone is tied to it again, whatever arrives late.
  func isGone(_ incarnation: IncarnationNumber, _ transaction: borrowing Transaction) throws -> Bool {
    try goneLog(incarnation, transaction) != nil
  }

  /// What is known of a log that was deleted; nil of one that was not.
  func goneLog(_ incarnation: IncarnationNumber, _ transaction: borrowing Transaction) throws -> GoneLog? {
    try transaction.withCheckedValue(of: .goneIncarnation(incarnation), in: incarnations) { row in
      try GoneLog(row)
    }
  }

  /// Whether anything of a zone lies in an incarnation of its remote log, as far as the store knows.
  package func hasSegments(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, _ transaction: borrowing Transaction
  ) throws -> Bool {
    var cursor = try transaction.openCursor(segments)
    guard try cursor.seek(atOrAfter: TableKey.segment(zone, incarnation, 0).span) else { return false }
    return try cursor.withEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue && key.bigEndian32(at: 4) == incarnation.rawValue
    }
  }

  /// How many transactions of a zone this store is still to ship: its own, and those of lanes that it has adopted.
  package func pendingCount(
    in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity, _ interned: Interned,
    _ transaction: borrowing Transaction
  ) throws -> UInt64 {
    try pendingLanes(of: zone, row, identity, interned, transaction).reduce(0) { $0 + $1.count }
  }
}
