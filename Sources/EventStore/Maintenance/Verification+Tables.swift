import LMDB
import OperationFormat

/// The steps of a verification that look at what the others rely on: keys, identities, places.
extension Verification {
  /// Every key is as long as those of its table are.
  mutating func checkKeys(_ source: borrowing ReadTransaction) throws {
    for (name, table) in source.tables.all {
      var cursor = try source.transaction.openCursor(table)
      var isThere = try cursor.first()
      while isThere {
        let (isValid, byteCount) = cursor.withEntry { key, _ in
          (Self.isKey(key, ofTable: name), key.byteCount)
        }
        if !isValid { report.add(.table, name, "a key of \(byteCount) bytes has another form") }
        isThere = try cursor.next()
      }
    }
  }

  private static func isKey(_ key: RawSpan, ofTable name: String) -> Bool {
    let count = key.byteCount
    switch name {
    case "log": return count == 8
    case "sequences": return count == 20
    case "segments": return count == 16
    case "placements": return count == 24
    case "records": return 5...(4 + Limits.recordNameBytesMax) ~= count
    case "elements": return ElementKey.isKey(key)
    case "runs":
      let kind = count > 12 ? key.unsafeLoad(fromByteOffset: 12, as: UInt8.self) : 0
      return kind == RunKeys.nodeKind
        ? count == RunKeys.nodeKeyBytes
        : (kind == RunKeys.placeKind || kind == RunKeys.makerKind) && count == RunKeys.numberKeyBytes
    case "references": return ReferenceKey.isKey(key)
    case "states": return count == 4
    case "assets": return TableKey.isOfAssets(key)
    case "zones", "replicas", "incarnations", "names":
      guard count > 1 else { return false }
      switch (key.unsafeLoad(fromByteOffset: 0, as: UInt8.self), name) {
      case (0, _): return count == 5
      case (1, "names"): return count <= 1 + Limits.nameBytesMax
      case (1, "zones"): return count <= 2 + 2 * Limits.nameBytesMax
      case (1, _): return count == 17
      case (2, "zones"), (3, "zones"): return count == 5
      case (2, "replicas"), (4, "replicas"), (6, "replicas"), (8, "replicas"), (10, "replicas"):
        return count == 13
      case (3, "replicas"), (5, "replicas"), (7, "replicas"): return count == 17
      case (9, "replicas"): return count == 21
      case (2, "incarnations"), (3, "incarnations"): return count == 5
      default: return false
      }
    default: return true
    }
  }

  /// Every number names an identity that names the number, and the other way round.
  mutating func checkIdentities(_ source: borrowing ReadTransaction) throws {
    let tables = source.tables
    for (name, table) in [
      ("zones", tables.zones), ("replicas", tables.replicas), ("incarnations", tables.incarnations),
      ("names", tables.names),
    ] {
      var last: UInt32 = 0
      var cursor = try source.transaction.openCursor(table)
      var isThere = try cursor.first()
      while isThere {
        let (key, row) = cursor.withEntry { key, row in
          (key.bytes, (try? CheckedRow.content(of: row, under: key))?.bytes)
        }
        guard let row else {
          report.add(.table, name, "a row of \(key.count) bytes of key has another checksum")
          isThere = try cursor.next()
          continue
        }
        if key[0] == 0 {
          let number = try key.span.bytes.bigEndian32(at: 1)
          if number != last + 1 { report.add(.table, name, "number \(number) follows \(last)") }
          last = number
          let named = try Self.number(of: [1] + row, in: table, source)
          // A zone that was deleted has given up its name.
          let isGone = try name == "zones" && Self.isGone(ZoneNumber(rawValue: number), source)
          if (named == number) == isGone {
            report.add(
              .table, name, "the identity of number \(number) has \(isGone ? "it still" : "another")")
          }
        } else if key[0] == 1 {
          let identity = Array(key.dropFirst())
          let number = try Self.number(of: key, in: table, source)
          let named = try number.flatMap { try Self.identity(of: $0, in: table, source) }
          if named != identity { report.add(.table, name, "an identity's number belongs to another") }
        } else if key[0] == 2, name == "incarnations" {
          let number = try key.span.bytes.bigEndian32(at: 1)
          let isKnown = try Self.identity(of: number, in: table, source) != nil
          if !isKnown || (try? GoneLog(row.span.bytes)) == nil {
            report.add(.table, name, "a deleted log's number \(number) is nobody's, or has another row")
          }
        } else if key[0] == 3, name == "incarnations" {
          let zone = ZoneNumber(rawValue: try key.span.bytes.bigEndian32(at: 1))
          if try source.proposedIncarnation(of: zone) == nil {
            report.add(.table, name, "a zone's proposal is nobody's")
          }
        }
        isThere = try cursor.next()
      }
    }
  }

  /// Whether a zone was deleted; its row may be gone with it.
  private static func isGone(_ zone: ZoneNumber, _ source: borrowing ReadTransaction) throws -> Bool {
    do {
      return try source.readView.zoneRowIfThere(zone)?.status.isGone ?? true
    } catch is FormatError {
      return false
    }
  }

  private static func number(
    of key: [UInt8], in table: Table, _ source: borrowing ReadTransaction
  ) throws -> UInt32? {
    guard key.count <= TableKey.bytesMax else { return nil }
    return try source.transaction.withValue(of: key.span.bytes, in: table) { row in
      do {
        var reader = ByteReader(try CheckedRow.content(of: row, under: key.span.bytes))
        let number = try reader.readUInt32Varint("number")
        try reader.finish("number")
        return number
      } catch {
        return nil
      }
    } ?? nil
  }

  private static func identity(
    of number: UInt32, in table: Table, _ source: borrowing ReadTransaction
  ) throws -> [UInt8]? {
    var key = TableKey()
    key.append(UInt8(0))
    key.append(number)
    return try source.transaction.withValue(of: key.span, in: table) { row in
      (try? CheckedRow.content(of: row, under: key.span))?.bytes
    } ?? nil
  }

  /// Every zone's token and base lie on segments it has, every segment has its place, and every place names a
  /// segment that holds it.
  mutating func checkPlacements(_ source: borrowing ReadTransaction) throws {
    let last = try Interner<ZoneID>.lastNumber(in: source.tables.zones, source.transaction)
    var gone: Set<UInt32> = []
    for raw in 1...max(1, last) {
      let number = ZoneNumber(rawValue: raw)
      let id = try source.readView.zones.id(of: number).map { "\($0)" } ?? "\(raw)"
      do {
        guard let row = try source.readView.zoneRowIfThere(number) else { continue }
        if row.status.isGone { gone.insert(raw) }
        try checkZone(number, row, id, source)
      } catch {
        report.add(.placement, id, Self.text(error))
      }
    }
    try checkSegments(source, except: gone)
    var before: [UInt8] = []
    var cursor = try source.transaction.openCursor(source.tables.placements)
    var isThere = try cursor.first()
    while isThere {
      let (key, row) = cursor.withEntry { ($0.bytes, $1.bytes) }
      guard try !gone.contains(key.span.bytes.bigEndian32(at: 0)) else {
        isThere = try cursor.next()
        continue
      }
      let lane = Array(key.prefix(16))
      let previous = before.starts(with: lane) ? try before.span.bytes.bigEndian64(at: 16) : 0
      do {
        let problem = try Self.problem(ofPlacement: key.span.bytes, row.span.bytes, after: previous, source)
        if let problem {
          report.add(.placement, Self.location(key), problem)
        }
      } catch {
        report.add(.placement, Self.location(key), Self.text(error))
      }
      before = key
      isThere = try cursor.next()
    }
  }

  private mutating func checkZone(
    _ number: ZoneNumber, _ row: ZoneRow, _ id: String, _ source: borrowing ReadTransaction
  ) throws {
    let tables = source.tables
    if row.status.isGone {
      // What is left of it is taken away in any order.
      if row.state != .none || row.building != .none {
        report.add(.table, id, "a zone that was deleted has a state")
      }
      return
    }
    _ = try source.readView.zones.cut(of: number)
    // What is being read again has no rows from the token on.
    let isRereading = try source.readView.lanes.rereading(of: number) != nil
    if let base = row.base, !isRereading,
      case .some(nil) = try Self.readSegment(at: base.offset, in: number, base.incarnation, source)
    {
      report.add(.placement, id, "the base is at offset \(base.offset), where no segment is")
    }
    for state in [row.state, row.building] where state != .none {
      let found = try source.transaction.withValue(of: TableKey.state(state).span, in: tables.states) {
        try StateRow($0)
      }
      let isLive = state == row.state && row.building != row.state
      if found?.zone != number || found?.status != (isLive ? .live : .building) {
        report.add(.table, id, "state \(state.rawValue) is not the zone's")
      }
    }
    guard let token = row.token, token.offset > 0 else { return }
    if let segment = try Self.readSegment(at: token.offset, in: number, token.incarnation, source),
      segment?.hash != token.hash
    {
      report.add(.placement, id, "the token at offset \(token.offset) does not match its segment")
    }
    if row.isBaseBehindToken, !isFoldingAgain {
      report.add(.placement, id, "the base is before the token")
    }
  }

  private mutating func checkSegments(
    _ source: borrowing ReadTransaction, except gone: Set<UInt32>
  ) throws {
    let tables = source.tables
    var cursor = try source.transaction.openCursor(tables.segments)
    var isThere = try cursor.first()
    while isThere {
      let (key, bytes) = cursor.withEntry { ($0.bytes, $1.bytes) }
      let zone = ZoneNumber(rawValue: try key.span.bytes.bigEndian32(at: 0))
      guard !gone.contains(zone.rawValue) else {
        isThere = try cursor.next()
        continue
      }
      do {
        let problem = try source.readView.segments.problem(ofSegment: key.span.bytes, bytes.span.bytes)
        if let problem { report.add(.placement, Self.location(key), problem) }
      } catch {
        report.add(.placement, Self.location(key), Self.text(error))
      }
      isThere = try cursor.next()
    }
  }

  /// The segment at an offset, `.some(nil)` if there is none. Nil if its row cannot be read: that is told once, where segments
  /// are checked.
  private static func readSegment(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ source: borrowing ReadTransaction
  ) throws -> SegmentRow?? {
    do {
      return .some(try source.readView.segments.row(at: offset, in: zone, incarnation))
    } catch is FormatError {
      return nil
    }
  }

  /// What is wrong with a place, whose run must follow the one before it.
  private static func problem(
    ofPlacement key: RawSpan, _ row: RawSpan, after previous: UInt64, _ source: borrowing ReadTransaction
  ) throws -> String? {
    var reader = ByteReader(try CheckedRow.content(of: row, under: key))
    let first = try reader.readVarint("placement.first")
    let offset = try reader.readVarint("placement.offset")
    try reader.finish("placement")
    let found = try readSegment(
      at: offset, in: ZoneNumber(rawValue: try key.bigEndian32(at: 0)),
      IncarnationNumber(rawValue: try key.bigEndian32(at: 4)), source)
    guard let segment = found else { return nil }
    let last = try key.bigEndian64(at: 16)
    guard let segment, segment.first <= first, first <= last, last <= segment.last,
      try segment.replica.rawValue == key.bigEndian32(at: 8), try segment.epoch == key.bigEndian32(at: 12)
    else { return "no segment at offset \(offset) holds it" }
    return first == (previous == 0 ? segment.first : previous &+ 1)
      ? nil : "it begins at \(first) after \(previous)"
  }

  private static func location(_ key: [UInt8]) -> String {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return "\(number(key[0..<4])).\(number(key[4..<8])).\(number(key.suffix(8)))"
  }
}
