import LMDB
import OperationFormat

/// The snapshot that the records of a zone begin with: what it has, the log need not have.
struct ZoneOrigin: Hashable, Sendable {
  var content: ContentHash
  var incarnation: IncarnationNumber
  /// The offset of the zone's remote log up to which it goes.
  var offset: UInt64
  /// The last position of what it has, or of the log when it came: what the zone was before, nobody knows any more.
  var position: Position
  /// When that arrived, in milliseconds since 1970; nil if a former version wrote the row.
  var arrivedMilliseconds: Int64?

  // | bytes | what |
  // |---|---|
  // | 1 | version, 2 |
  // | 32 | hash of the content |
  // | varint ×3 | incarnation's number, offset, position |
  // | 8 | time of arrival, little-endian; absent in version 1 |

  func append(to writer: inout ByteWriter) {
    writer.append(arrivedMilliseconds == nil ? 1 : 2)
    writer.append(content)
    writer.append(varint: UInt64(incarnation.rawValue))
    writer.append(varint: offset)
    writer.append(varint: position.rawValue)
    if let arrivedMilliseconds { writer.append(littleEndian: UInt64(bitPattern: arrivedMilliseconds)) }
  }

  init(
    content: ContentHash, incarnation: IncarnationNumber, offset: UInt64, position: Position,
    arrivedMilliseconds: Int64?
  ) {
    (self.content, self.incarnation, self.offset, self.position) = (content, incarnation, offset, position)
    self.arrivedMilliseconds = arrivedMilliseconds
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    let version = try reader.readVersion(upTo: 2, "origin")
    content = try ContentHash.read(from: &reader, "origin.content")
    incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("origin.incarnation"))
    offset = try reader.readVarint("origin.offset")
    position = Position(rawValue: try reader.readVarint("origin.position"))
    if version > 1 {
      arrivedMilliseconds = Int64(bitPattern: try reader.readLittleEndian("origin.arrived", as: UInt64.self))
    }
    try reader.finish("origin")
  }
}

extension TableKey {
  static func origin(_ zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(UInt8(4))
    key.append(zone)
    return key
  }
}

extension ZoneTable {
  /// The snapshot that a zone's records begin with; nil if the log has all of the zone.
  func origin(of zone: ZoneNumber) throws -> ZoneOrigin? {
    try transaction.withCheckedValue(of: .origin(zone), in: tables.zones) { try ZoneOrigin($0) }
  }

  /// Of each zone whose records begin with a snapshot, which it is.
  func origins() throws -> [(zone: ZoneNumber, origin: ZoneOrigin)] {
    var found: [(zone: ZoneNumber, origin: ZoneOrigin)] = []
    try transaction.forEachEntry(in: tables.zones, under: [4]) { key, row in
      found.append(
        (
          ZoneNumber(rawValue: try key.bigEndian32(at: 1)),
          try ZoneOrigin(CheckedRow.content(of: row, under: key))
        ))
      return true
    }
    return found
  }
}

extension ZoneTable {
  /// The contents of the snapshots that zones begin with.
  func originContents() throws -> Set<ContentHash> { Set(try origins().map(\.origin.content)) }

  /// The first position at which all zones are known; `.start` if no history was retired.
  func historyBegin() throws -> Position { try lastOrigin()?.position ?? .start }

  /// The snapshot that begins last.
  func lastOrigin() throws -> ZoneOrigin? { try origins().map(\.origin).max { $0.position < $1.position } }
}

extension ZoneTable where Source == TableStorage {
  func setOrigin(_ origin: ZoneOrigin, of zone: ZoneNumber) throws {
    try source.putChecked(.origin(zone), in: tables.zones) { origin.append(to: &$0) }
  }

  func removeOrigin(of zone: ZoneNumber) throws {
    _ = try transaction.delete(TableKey.origin(zone).span, in: tables.zones)
  }
}
