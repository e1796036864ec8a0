internal import Foundation
public import OperationFormat
public import RemoteIndex
internal import Replicator

/// Rows in tables of PostgreSQL, within a transaction.
public final class PostgresRows: IndexRows {
  /// Of the entries behind an offset, so many are looked for at one time, and so many bytes of them read.
  private static let (entriesMax, bytesMax): (Int64, Int64) = (256, 4 << 20)

  private let connection: PostgresConnection
  /// Whether what is read is to be changed: others wait then.
  private let writes: Bool
  /// The logs whose entries or ends were changed, and their last offsets.
  private(set) var changedLogs: [IncarnationID: UInt64] = [:]
  private(set) var hasChangedList = false

  init(_ connection: PostgresConnection, writes: Bool) {
    (self.connection, self.writes) = (connection, writes)
  }

  /// Puts back the notes of what was changed, after `rollback to savepoint`.
  func forget(_ before: (logs: [IncarnationID: UInt64], list: Bool)) {
    (changedLogs, hasChangedList) = (before.logs, before.list)
  }

  // MARK: The place of the objects

  public func place() throws -> PlaceRow? {
    let found = try connection.query("select remote, made from tributary.place")
    if found.count == 0 { return nil }
    return PlaceRow(identity: RemoteID(rawValue: try found.bits(0, 0)), isMade: found.number(0, 1) == 1)
  }

  public func set(_ row: PlaceRow) throws {
    try connection.query("delete from tributary.place")
    try connection.query(
      "insert into tributary.place values ($1::bytea, $2::bigint)",
      [.bits(row.identity.rawValue), .number(row.isMade ? 1 : 0)])
  }

  // MARK: Logs

  private static let logColumns =
    "account, owner, name, head, chain, fate, seal, floor, floor_hash, floor_chain, floor_maker, floor_has_entry"

  public func log(_ log: IncarnationID) throws -> LogRow? {
    let lock = writes ? " for no key update" : ""
    let found = try connection.query(
      "select \(Self.logColumns), log from tributary.log where log = $1::bytea\(lock)", [.bits(log.rawValue)])
    return found.count == 0 ? nil : try Self.log(found, 0, log)
  }

  public func logs(_ logs: [IncarnationID]) throws -> [IncarnationID: LogRow] {
    let found = try connection.query(
      "select \(Self.logColumns), log from tributary.log where log = any($1::bytea[])",
      [.list(logs.map { log in withUnsafeBytes(of: log.rawValue.bigEndian) { Array($0) } })])
    var rows: [IncarnationID: LogRow] = [:]
    for row in 0..<found.count {
      let log = IncarnationID(rawValue: try found.bits(row, 12))
      rows[log] = try Self.log(found, row, log)
    }
    return rows
  }

  private static func log(_ found: PostgresResult, _ index: Int, _ log: IncarnationID) throws -> LogRow {
    let zone = ZoneID(owner: Name(try found.text(index, 1)), name: Name(try found.text(index, 2)))
    var row = LogRow(IndexedZone(zone, of: try found.text(index, 0), log))
    row.head = try found.offset(index, 3)
    row.chain = LogChain(hash: try found.hash(index, 4))
    if let code = found.number(index, 5) {
      guard let fate = Self.fates.first(where: { $0.code == code }) else {
        throw PostgresRows.damaged("fate")
      }
      row.fate = fate.fate
    }
    row.seal = try found.offset(index, 6)
    if let floor = found.number(index, 7) {
      row.floor = IndexedFloor(
        offset: UInt64(bitPattern: floor), hash: try found.hash(index, 8),
        chain: LogChain(hash: try found.hash(index, 9)),
        maker: ReplicaID(rawValue: try found.bits(index, 10)), hasEntry: found.number(index, 11) == 1)
    }
    return row
  }

  private static let fates: [(code: Int64, fate: ZoneFate)] = [
    (1, .deleted), (2, .purged), (3, .revoked), (4, .reset),
  ]

  public func set(_ row: LogRow, _ log: IncarnationID) throws {
    let fate = row.fate.flatMap { fate in Self.fates.first { $0.fate == fate }?.code }
    let values: [PostgresValue] = [
      .bits(log.rawValue), .number(Int64(bitPattern: row.head)), .bytes(row.chain.hash.bytes),
      fate.map { .number($0) } ?? .null, .number(Int64(bitPattern: row.seal)),
      row.floor.map { .number(Int64(bitPattern: $0.offset)) } ?? .null,
      row.floor.map { .bytes($0.hash.bytes) } ?? .null,
      row.floor.map { .bytes($0.chain.hash.bytes) } ?? .null,
      row.floor.map { .bits($0.maker.rawValue) } ?? .null,
      row.floor.map { .number($0.hasEntry ? 1 : 0) } ?? .null,
    ]
    let updated = try connection.query(
      """
      update tributary.log set head = $2::bigint, chain = $3::bytea, fate = $4::bigint, seal = $5::bigint,
        floor = $6::bigint, floor_hash = $7::bytea, floor_chain = $8::bytea, floor_maker = $9::bytea,
        floor_has_entry = $10::bigint where log = $1::bytea
      """, values)
    if updated.changed == 0 {
      try connection.query(
        """
        insert into tributary.log (log, head, chain, fate, seal, floor, floor_hash, floor_chain, floor_maker,
          floor_has_entry, account, owner, name)
        values ($1::bytea, $2::bigint, $3::bytea, $4::bigint, $5::bigint, $6::bigint, $7::bytea, $8::bytea, $9::bytea,
          $10::bigint, $11::bytea, $12::bytea, $13::bytea)
        """,
        values + [.text(row.account), .text(row.zone.owner.rawValue), .text(row.zone.name.rawValue)])
    }
    changedLogs[log] = row.fate == nil ? row.head : row.seal
  }

  public func openLog(of zone: ZoneID, of account: String) throws -> IncarnationID? {
    let found = try connection.query(
      """
      select log from tributary.log where account = $1::bytea and owner = $2::bytea and name = $3::bytea
        and fate is null
      """, [.text(account), .text(zone.owner.rawValue), .text(zone.name.rawValue)])
    return found.count == 0 ? nil : IncarnationID(rawValue: try found.bits(0, 0))
  }

  /// Does nothing: a log is the open one of its zone if it has no fate.
  public func setOpenLog(_ log: IncarnationID?, of zone: ZoneID, of account: String) throws {}

  // MARK: Lists

  public func list(of account: String) throws -> ListRow? {
    let found = try connection.query(
      "select remote, events, hash from tributary.list where account = $1::bytea", [.text(account)])
    guard found.count == 1 else { return nil }
    return ListRow(
      remote: RemoteID(rawValue: try found.bits(0, 0)), events: try found.offset(0, 1),
      hash: try found.hash(0, 2))
  }

  public func set(_ row: ListRow, of account: String) throws {
    try connection.query(
      """
      insert into tributary.list values ($1::bytea, $2::bytea, $3::bigint, $4::bytea)
        on conflict (account) do update set remote = excluded.remote, events = excluded.events, hash = excluded.hash
      """,
      [
        .text(account), .bits(row.remote.rawValue), .number(Int64(bitPattern: row.events)),
        .bytes(row.hash.bytes),
      ])
    hasChangedList = true
  }

  public func events(of account: String, after offset: UInt64, count: Int) throws -> [[UInt8]] {
    guard offset < Limits.placeMax else { return [] }
    let found = try connection.query(
      """
      select event from tributary.event where account = $1::bytea and "offset" > $2::bigint
        order by "offset" limit $3::bigint
      """, [.text(account), .number(Int64(offset)), .number(Int64(count))])
    return (0..<found.count).compactMap { found.bytes($0, 0) }
  }

  public func put(_ event: [UInt8], at offset: UInt64, of account: String) throws {
    try connection.query(
      "insert into tributary.event values ($1::bytea, $2::bigint, $3::bytea)",
      [.text(account), .number(Int64(bitPattern: offset)), .bytes(event)])
  }

  // MARK: Entries

  public func entry(_ offset: UInt64, of log: IncarnationID) throws -> EntryRow? {
    guard offset <= Limits.placeMax else { return nil }
    let found = try connection.query(
      #"select received, chain, bytes from tributary.entry where log = $1::bytea and "offset" = $2::bigint"#,
      [.bits(log.rawValue), .number(Int64(bitPattern: offset))])
    return found.count == 0 ? nil : try Self.entry(found, 0, 0)
  }

  private static func entry(_ found: PostgresResult, _ row: Int, _ first: Int) throws -> EntryRow {
    guard let bytes = found.bytes(row, first + 2) else { throw damaged("bytes") }
    return EntryRow(
      receivedMilliseconds: found.number(row, first).map { UInt64(bitPattern: $0) },
      chain: found.bytes(row, first + 1) == nil ? nil : LogChain(hash: try found.hash(row, first + 1)),
      bytes: bytes)
  }

  public func forEachEntry(
    of log: IncarnationID, from offset: UInt64, _ body: (UInt64, _ read: () throws -> EntryRow) throws -> Bool
  ) throws {
    guard offset <= Limits.placeMax else { return }
    var next = Int64(bitPattern: offset)
    while true {
      let found = try connection.query(
        """
        select "offset", octet_length(bytes) from tributary.entry
          where log = $1::bytea and "offset" >= $2::bigint order by "offset" limit $3::bigint
        """, [.bits(log.rawValue), .number(next), .number(Self.entriesMax)])
      var read: [UInt64: EntryRow] = [:]
      for row in 0..<found.count {
        let offset = try found.offset(row, 0)
        let isWanted = try body(offset) {
          if read[offset] == nil { read = try entries(of: log, found, from: row) }
          guard let entry = read[offset] else { throw PostgresRows.damaged("offset") }
          return entry
        }
        if !isWanted || offset >= Limits.placeMax { return }
        next = Int64(bitPattern: offset) + 1
      }
      if found.count < Int(Self.entriesMax) { return }
    }
  }

  /// Some entries at once, from a row of a list of offsets and sizes on.
  private func entries(
    of log: IncarnationID, _ listed: PostgresResult, from first: Int
  ) throws -> [UInt64: EntryRow] {
    var (last, bytes) = (first, listed.number(first, 1) ?? 0)
    while last + 1 < listed.count, bytes + (listed.number(last + 1, 1) ?? 0) <= Self.bytesMax {
      last += 1
      bytes += listed.number(last, 1) ?? 0
    }
    let found = try connection.query(
      """
      select "offset", received, chain, bytes from tributary.entry
        where log = $1::bytea and "offset" between $2::bigint and $3::bigint
      """,
      [.bits(log.rawValue), .number(listed.number(first, 0) ?? 0), .number(listed.number(last, 0) ?? 0)])
    var entries: [UInt64: EntryRow] = [:]
    for row in 0..<found.count { entries[try found.offset(row, 0)] = try Self.entry(found, row, 1) }
    return entries
  }

  public func put(_ entry: EntryRow, at offset: UInt64, of log: IncarnationID) throws {
    try connection.query(
      "insert into tributary.entry values ($1::bytea, $2::bigint, $3::bigint, $4::bytea, $5::bytea)",
      [
        .bits(log.rawValue), .number(Int64(bitPattern: offset)),
        entry.receivedMilliseconds.map { .number(Int64(bitPattern: $0)) } ?? .null,
        entry.chain.map { .bytes($0.hash.bytes) } ?? .null, .bytes(entry.bytes),
      ])
  }

  public func removeEntry(_ offset: UInt64, of log: IncarnationID) throws {
    try connection.query(
      #"delete from tributary.entry where log = $1::bytea and "offset" = $2::bigint"#,
      [.bits(log.rawValue), .number(Int64(bitPattern: offset))])
  }

  public func offset(
    of lane: LaneName, endingAtOrAfter sequence: UInt64, in log: IncarnationID
  ) throws -> UInt64? {
    let found = try connection.query(
      """
      select "offset" from tributary.lane where log = $1::bytea and replica = $2::bytea and epoch = $3::bigint
        and last >= $4::bigint order by last limit 1
      """, Self.key(lane, log) + [.number(Int64(bitPattern: sequence))])
    return found.count == 0 ? nil : try found.offset(0, 0)
  }

  public func put(_ offset: UInt64, of lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID)
    throws
  {
    try connection.query(
      """
      insert into tributary.lane values ($1::bytea, $2::bytea, $3::bigint, $4::bigint, $5::bigint)
        on conflict (log, replica, epoch, last) do update set "offset" = excluded."offset"
      """,
      Self.key(lane, log) + [.number(Int64(bitPattern: sequence)), .number(Int64(bitPattern: offset))])
  }

  public func remove(_ lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) throws {
    try connection.query(
      """
      delete from tributary.lane where log = $1::bytea and replica = $2::bytea and epoch = $3::bigint
        and last = $4::bigint
      """, Self.key(lane, log) + [.number(Int64(bitPattern: sequence))])
  }

  private static func key(_ lane: LaneName, _ log: IncarnationID) -> [PostgresValue] {
    [.bits(log.rawValue), .bits(lane.replica.rawValue), .number(Int64(lane.epoch))]
  }

  fileprivate static func damaged(_ column: String) -> PostgresError {
    PostgresError(state: "XX001", message: "the column \(column) of a row has no such value")
  }
}

extension PostgresValue {
  fileprivate static func bits(_ number: UInt128) -> PostgresValue {
    .bytes(withUnsafeBytes(of: number.bigEndian) { Array($0) })
  }

  fileprivate static func text(_ text: String) -> PostgresValue { .bytes(Array(text.utf8)) }
}

extension PostgresResult {
  fileprivate func bits(_ row: Int, _ column: Int) throws -> UInt128 {
    guard let bytes = bytes(row, column), bytes.count == 16 else { throw PostgresRows.damaged("\(column)") }
    return bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }

  fileprivate func hash(_ row: Int, _ column: Int) throws -> ContentHash {
    guard let hash = bytes(row, column).flatMap({ ContentHash(bytes: $0.span.bytes) }) else {
      throw PostgresRows.damaged("\(column)")
    }
    return hash
  }

  fileprivate func text(_ row: Int, _ column: Int) throws -> String {
    guard let text = bytes(row, column).flatMap({ String(validating: $0, as: UTF8.self) }) else {
      throw PostgresRows.damaged("\(column)")
    }
    return text
  }

  /// A number that is not negative.
  fileprivate func offset(_ row: Int, _ column: Int) throws -> UInt64 {
    guard let number = number(row, column), number >= 0 else { throw PostgresRows.damaged("\(column)") }
    return UInt64(number)
  }
}
