import LMDB
import OperationFormat

/// The rows of zones, of deleted logs, of proposed incarnations, and of the cut that each zone ships.
///
/// A deleted zone gives up its number, and a zone that is made later under its name gets another one. So a
/// cached number is only a hint: it counts if the number's row, in the same transaction, is not gone.
struct ZoneTable<Source: TableReading>: TableView {
  let source: Source

  /// A zone's row as it was last written; nil if it has none. ``TableReading/zoneRowIfThere(_:)`` also sees
  /// changes that are not written yet.
  func storedRow(of zone: ZoneNumber) throws -> ZoneRow? {
    try transaction.withCheckedValue(of: TableKey.zoneRow(zone), in: tables.zones) { try ZoneRow($0) }
  }

  /// The number and row of a zone; nil if it has none, or was deleted. All lookups of zones by name go
  /// through here.
  func find(_ zone: ZoneID) throws -> (number: ZoneNumber, row: ZoneRow)? {
    if let number = interned.zones.number(of: zone), let row = try source.zoneRowIfThere(number),
      !row.status.isGone
    {
      return (number, row)
    }
    guard let number = try zoneNumbers.storedNumber(of: zone), let row = try source.zoneRowIfThere(number),
      !row.status.isGone
    else { return nil }
    return (number, row)
  }

  /// A zone that shows in queries.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  func visible(_ zone: ZoneID) throws -> (number: ZoneNumber, row: ZoneRow) {
    guard let found = try find(zone), found.row.status.isVisible else { throw StoreError.unknown(zone) }
    return found
  }

  /// The number of a zone that shows in queries.
  func number(of zone: ZoneID) throws -> ZoneNumber {
    try visible(zone).number
  }

  /// The number of a zone whose remote log is of an incarnation; nil for any other zone.
  func number(of zone: ZoneID, attachedTo incarnation: IncarnationID) throws -> ZoneNumber? {
    guard let (number, row) = try find(zone), let token = row.token,
      try incarnations.number(of: incarnation) == token.incarnation
    else { return nil }
    return number
  }

  /// The zones that show in queries, by number.
  ///
  /// - Parameter only: lists only the zone of this identity; does not read the rows of others.
  func allVisible(of only: ZoneID? = nil) throws -> [(number: ZoneNumber, id: ZoneID)] {
    var found: [(number: ZoneNumber, id: ZoneID)] = []
    for (number, row) in try rows(of: only) where row.status.isVisible {
      guard let id = try self.id(of: number) else { continue }
      found.append((number, id))
    }
    return found
  }

  /// The rows of all zones by number, including those that are gone.
  ///
  /// - Parameter only: reads only the rows of zones of this identity.
  func rows(of only: ZoneID? = nil) throws -> [(number: ZoneNumber, row: ZoneRow)] {
    var found: [(number: ZoneNumber, row: ZoneRow)] = []
    try forEachRow { number, read in
      guard try only == nil || id(of: number) == only else { return }
      found.append((number, try read()))
    }
    return found
  }

  /// Calls a closure with the number of each zone that has a row, in ascending order, and a function that
  /// reads the row.
  func forEachRow(_ body: (ZoneNumber, _ read: () throws -> ZoneRow) throws -> Void) throws {
    try transaction.forEachEntry(in: tables.zones, under: [2]) { key, row in
      try body(ZoneNumber(rawValue: try key.bigEndian32(at: 1))) {
        try ZoneRow(CheckedRow.content(of: row, under: key))
      }
      return true
    }
  }

  /// The identity of a zone's number, even if the zone is gone; nil if nothing has the number.
  func id(of number: ZoneNumber) throws -> ZoneID? {
    var key = TableKey()
    key.append(UInt8(0))
    key.append(number)
    return try transaction.withCheckedValue(of: key, in: tables.zones) { try ZoneID(interned: $0) }
  }

  /// Whether a zone's log was deleted, here or at the remote. No zone is tied to it again, even if a segment
  /// arrives late.
  func isGone(_ incarnation: IncarnationNumber) throws -> Bool {
    try goneLog(incarnation) != nil
  }

  /// What is known of a deleted log; nil for a log that was not deleted.
  func goneLog(_ incarnation: IncarnationNumber) throws -> GoneLog? {
    try transaction.withCheckedValue(of: .goneIncarnation(incarnation), in: tables.incarnations) { row in
      try GoneLog(row)
    }
  }

  /// The cut that a zone is shipping; nil if it ships none.
  func cut(of zone: ZoneNumber) throws -> CutRow? {
    try transaction.withCheckedValue(of: TableKey.cut(zone), in: tables.zones) { try CutRow($0) }
  }

  /// The incarnation that the remote was asked to make a zone under, while its log is not known; nil if it
  /// was not asked.
  func proposedIncarnation(of zone: ZoneNumber) throws -> IncarnationNumber? {
    try transaction.withCheckedValue(of: TableKey.proposedIncarnation(zone), in: tables.incarnations) { row in
      var reader = ByteReader(row)
      let number = IncarnationNumber(rawValue: try reader.readUInt32Varint("proposal"))
      try reader.finish("proposal")
      return number
    }
  }

  /// The same; nil also if that log was deleted since. Then the zone needs another incarnation.
  func openProposal(of zone: ZoneNumber) throws -> IncarnationNumber? {
    guard let found = try proposedIncarnation(of: zone) else { return nil }
    return try isGone(found) ? nil : found
  }
}
