internal import LMDB
public import OperationFormat
internal import Replicator

/// The tables of an index.
///
/// | table | key | value |
/// |---|---|---|
/// | `meta` | `version` | 1 |
/// | `meta` | `place` | identity of the place of the objects (16), 1 if it was made |
/// | `logs` | incarnation (16) | ``LMDBRows/encode(_:)-(LogRow)`` |
/// | `open` | account, the zone's owner, its name | incarnation (16) |
/// | `lists` | account | remote (16), events (8), hash of the last one (32) |
/// | `events` | account, offset (8) | the event's bytes |
/// | `entries` | incarnation (16), offset (8) | a tombstone's bytes, or a segment in its envelope |
/// | `lanes` | incarnation (16), replica (16), epoch (4), last sequence (8) | offset (8) |
///
/// Numbers are big-endian. Before a text stands its count of bytes, as a varint.
struct IndexTables: Sendable {
  private static let version: UInt8 = 1

  let meta: Table
  let logs: Table
  let open: Table
  let lists: Table
  let events: Table
  let entries: Table
  let lanes: Table

  /// Opens the tables, and makes them.
  init(_ transaction: borrowing Transaction) throws {
    meta = try transaction.openTable("meta", create: true)
    let key = Array("version".utf8)
    let known = try transaction.withValue(of: key.span.bytes, in: meta) { $0.bytes }
    if let known {
      guard known == [Self.version] else {
        throw RemoteError(
          .newerFormat, "the index has version \(known.first ?? 0), and this program knows \(Self.version)",
          hint: "use a newer version of the server")
      }
    } else {
      try transaction.put([Self.version].span.bytes, for: key.span.bytes, in: meta)
    }
    logs = try transaction.openTable("logs", create: true)
    open = try transaction.openTable("open", create: true)
    lists = try transaction.openTable("lists", create: true)
    events = try transaction.openTable("events", create: true)
    entries = try transaction.openTable("entries", create: true)
    lanes = try transaction.openTable("lanes", create: true)
  }
}

/// Rows in tables of LMDB, within a transaction.
public final class LMDBRows: IndexRows {
  private let transaction: Transaction
  private let tables: IndexTables

  /// - Parameter transaction: it lives longer than the rows.
  init(_ transaction: consuming Transaction, _ tables: IndexTables) {
    self.transaction = transaction
    self.tables = tables
  }

  private func get(_ key: [UInt8], _ table: Table) throws -> [UInt8]? {
    try transaction.withValue(of: key.span.bytes, in: table) { $0.bytes }
  }

  private func put(_ value: [UInt8], _ key: [UInt8], _ table: Table) throws {
    try transaction.put(value.span.bytes, for: key.span.bytes, in: table)
  }

  private func delete(_ key: [UInt8], _ table: Table) throws {
    _ = try transaction.delete(key.span.bytes, in: table)
  }

  // MARK: The place of the objects

  private static let placeKey = Array("place".utf8)

  public func place() throws -> PlaceRow? {
    guard let bytes = try get(Self.placeKey, tables.meta) else { return nil }
    var reader = ByteReader(bytes.span.bytes)
    let identity = RemoteID(rawValue: try reader.readBigEndian("index.place"))
    let row = PlaceRow(identity: identity, isMade: try reader.readUInt8("index.place") == 1)
    try reader.finish("index.place")
    return row
  }

  public func set(_ row: PlaceRow) throws {
    try put(bigEndian(row.identity.rawValue) + [row.isMade ? 1 : 0], Self.placeKey, tables.meta)
  }

  // MARK: Logs

  public func log(_ log: IncarnationID) throws -> LogRow? {
    guard let bytes = try get(key(log), tables.logs) else { return nil }
    var reader = ByteReader(bytes.span.bytes)
    let account = try reader.text("index.account")
    let owner = Name(try reader.text("index.owner"))
    let zone = ZoneID(owner: owner, name: Name(try reader.text("index.name")))
    var row = LogRow(IndexedZone(zone, of: account, log))
    row.head = try reader.readBigEndian("index.head")
    row.chain = LogChain(hash: try ContentHash.read(from: &reader, "index.chain"))
    let fate = try reader.readUInt8("index.fate")
    row.fate = ZoneEvent.Kind(rawValue: fate) == .created ? nil : ZoneFate(ZoneEvent.Kind(rawValue: fate))
    row.seal = try reader.readBigEndian("index.seal")
    if try reader.readUInt8("index.hasFloor") == 1 {
      let offset: UInt64 = try reader.readBigEndian("index.floor")
      let hash = try ContentHash.read(from: &reader, "index.floor")
      let chain = LogChain(hash: try ContentHash.read(from: &reader, "index.floor"))
      let maker = ReplicaID(rawValue: try reader.readBigEndian("index.floor"))
      row.floor = IndexedFloor(
        offset: offset, hash: hash, chain: chain, maker: maker,
        hasEntry: try reader.readUInt8("index.floor") == 1)
    }
    try reader.finish("index.log")
    return row
  }

  public func set(_ row: LogRow, _ log: IncarnationID) throws {
    var writer = ByteWriter()
    writer.append(text: row.account)
    writer.append(text: row.zone.owner.rawValue)
    writer.append(text: row.zone.name.rawValue)
    writer.append(bigEndian: row.head)
    row.chain.hash.write(to: &writer)
    writer.append((row.fate?.event ?? .created).rawValue)
    writer.append(bigEndian: row.seal)
    writer.append(row.floor == nil ? 0 : 1)
    if let floor = row.floor {
      writer.append(bigEndian: floor.offset)
      floor.hash.write(to: &writer)
      floor.chain.hash.write(to: &writer)
      writer.append(bigEndian: floor.maker.rawValue)
      writer.append(floor.hasEntry ? 1 : 0)
    }
    try put(writer.bytes, key(log), tables.logs)
  }

  public func openLog(of zone: ZoneID, of account: String) throws -> IncarnationID? {
    guard let bytes = try get(key(account, zone), tables.open) else { return nil }
    var reader = ByteReader(bytes.span.bytes)
    return IncarnationID(rawValue: try reader.readBigEndian("index.open"))
  }

  public func setOpenLog(_ log: IncarnationID?, of zone: ZoneID, of account: String) throws {
    let key = key(account, zone)
    if let log { try put(self.key(log), key, tables.open) } else { try delete(key, tables.open) }
  }

  // MARK: Lists

  public func list(of account: String) throws -> ListRow? {
    guard let bytes = try get(key(account), tables.lists) else { return nil }
    var reader = ByteReader(bytes.span.bytes)
    var row = ListRow(remote: RemoteID(rawValue: try reader.readBigEndian("index.list")))
    row.events = try reader.readBigEndian("index.list")
    row.hash = try ContentHash.read(from: &reader, "index.list")
    return row
  }

  public func set(_ row: ListRow, of account: String) throws {
    var writer = ByteWriter()
    writer.append(bigEndian: row.remote.rawValue)
    writer.append(bigEndian: row.events)
    row.hash.write(to: &writer)
    try put(writer.bytes, key(account), tables.lists)
  }

  public func events(of account: String, after offset: UInt64, count: Int) throws -> [[UInt8]] {
    let prefix = key(account)
    var found: [[UInt8]] = []
    try transaction.forEachEntry(in: tables.events, from: (prefix + bigEndian(offset + 1)).span.bytes) {
      key, value in
      guard key.bytes.starts(with: prefix), found.count < count else { return false }
      found.append(value.bytes)
      return true
    }
    return found
  }

  public func put(_ event: [UInt8], at offset: UInt64, of account: String) throws {
    try put(event, key(account) + bigEndian(offset), tables.events)
  }

  // MARK: Entries

  public func entry(_ offset: UInt64, of log: IncarnationID) throws -> EntryRow? {
    try transaction.withValue(of: key(log, offset).span.bytes, in: tables.entries) { try Self.entry($0) }
  }

  public func forEachEntry(
    of log: IncarnationID, from offset: UInt64, _ body: (UInt64, _ read: () throws -> EntryRow) throws -> Bool
  ) throws {
    let prefix = key(log)
    try transaction.forEachEntry(in: tables.entries, from: key(log, offset).span.bytes) { key, value in
      guard key.bytes.starts(with: prefix) else { return false }
      var reader = ByteReader(key, at: prefix.count)
      let offset: UInt64 = try reader.readBigEndian("index.offset")
      return try body(offset) { try Self.entry(value) }
    }
  }

  private static func entry(_ bytes: RawSpan) throws -> EntryRow {
    if FrameKind(of: bytes) == .tombstone {
      return EntryRow(receivedMilliseconds: nil, chain: nil, bytes: bytes.bytes)
    }
    let (envelope, segment) = try SegmentEnvelope.read(bytes)
    return EntryRow(
      receivedMilliseconds: envelope.receivedMilliseconds, chain: envelope.chain,
      bytes: bytes.extracting(segment).bytes)
  }

  public func put(_ entry: EntryRow, at offset: UInt64, of log: IncarnationID) throws {
    let bytes = entry.bytes.span.bytes
    let value =
      FrameKind(of: bytes) == .tombstone
      ? entry.bytes
      : SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: entry.receivedMilliseconds, chain: entry.chain, segment: bytes)
    try put(value, key(log, offset), tables.entries)
  }

  public func removeEntry(_ offset: UInt64, of log: IncarnationID) throws {
    try delete(key(log, offset), tables.entries)
  }

  public func offset(of lane: LaneName, endingAtOrAfter sequence: UInt64, in log: IncarnationID) throws
    -> UInt64?
  {
    let prefix = key(lane, log)
    var cursor = try transaction.openCursor(tables.lanes)
    guard try cursor.seek(atOrAfter: (prefix + bigEndian(sequence)).span.bytes) else { return nil }
    return try cursor.withEntry { key, value in
      guard key.bytes.starts(with: prefix) else { return nil }
      var reader = ByteReader(value)
      return try reader.readBigEndian("index.lane", as: UInt64.self)
    }
  }

  public func put(_ offset: UInt64, of lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID)
    throws
  {
    try put(bigEndian(offset), key(lane, log) + bigEndian(sequence), tables.lanes)
  }

  public func remove(_ lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) throws {
    try delete(key(lane, log) + bigEndian(sequence), tables.lanes)
  }

  // MARK: Keys

  private func key(_ log: IncarnationID) -> [UInt8] { bigEndian(log.rawValue) }
  private func key(_ log: IncarnationID, _ offset: UInt64) -> [UInt8] { key(log) + bigEndian(offset) }

  private func key(_ lane: LaneName, _ log: IncarnationID) -> [UInt8] {
    key(log) + bigEndian(lane.replica.rawValue) + bigEndian(lane.epoch)
  }

  private func key(_ account: String, _ zone: ZoneID) -> [UInt8] {
    key(account) + key(zone.owner.rawValue) + key(zone.name.rawValue)
  }

  /// A text with its count of bytes before it: no two series of texts have the same bytes.
  private func key(_ text: String) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(text: text)
    return writer.bytes
  }

  private func bigEndian(_ number: some FixedWidthInteger & BitwiseCopyable) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(bigEndian: number)
    return writer.bytes
  }
}

extension ByteReader {
  fileprivate mutating func text(_ subject: StaticString) throws(FormatError) -> String {
    let range = try readBytes(try readCount(subject), subject)
    return string(in: range)
  }
}
