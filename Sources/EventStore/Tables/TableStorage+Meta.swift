import LMDB
package import OperationFormat

extension TableStorage {
  /// The last timestamp given out or seen.
  package func clock() throws -> Timestamp {
    try transaction.withValue(of: TableKey.meta(.clock).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return Timestamp(rawValue: try reader.readLittleEndian("clock", as: UInt64.self))
    } ?? Timestamp(rawValue: 0)
  }

  package func setClock(_ timestamp: Timestamp) throws {
    try put(.meta(.clock), in: tables.meta) { $0.append(littleEndian: timestamp.rawValue) }
  }

  /// The number of a zone; a new zone with an empty state if there is none yet.
  package func makeZone(_ zone: ZoneID) throws -> (number: ZoneNumber, isNew: Bool) {
    let number = try interned.zones.makeNumber(for: zone, in: tables.zones, transaction)
    if try zoneRowIfThere(number) != nil { return (number, false) }
    setZoneRow(ZoneRow(state: try makeState(for: number, .live)), number)
    try flush()
    return (number, true)
  }

  package func name(_ number: NameNumber) throws -> Name {
    try interned.names.identity(of: number, in: tables.names, transaction)
  }
}
