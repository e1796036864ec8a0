import LMDB
import OperationFormat

/// Verifies what all other checks rely on: keys and identities.
struct TableVerification {
  private(set) var report: VerificationReport

  init(_ report: VerificationReport) { self.report = report }

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
    case "indexes": return count >= IndexEntry.prefixBytes
    case "assets": return TableKey.isOfAssets(key)
    case "zones", "replicas", "incarnations", "names":
      guard count > 1 else { return false }
      switch (key.unsafeLoad(fromByteOffset: 0, as: UInt8.self), name) {
      case (0, _): return count == 5
      case (1, "names"): return count <= 1 + Limits.nameBytesMax
      case (1, "zones"): return count <= 2 + 2 * Limits.nameBytesMax
      case (1, _): return count == 17
      case (2, "zones"), (3, "zones"), (4, "zones"): return count == 5
      case (2, "replicas"), (4, "replicas"), (6, "replicas"), (8, "replicas"), (10, "replicas"),
        (11, "replicas"), (15, "replicas"):
        return count == 13
      case (18, "replicas"), (19, "replicas"): return count == 5
      case (3, "replicas"), (5, "replicas"), (7, "replicas"), (17, "replicas"): return count == 17
      case (9, "replicas"), (12, "replicas"), (13, "replicas"), (14, "replicas"), (16, "replicas"):
        return count == 21
      case (2, "incarnations"), (3, "incarnations"): return count == 5
      case (4, "incarnations"): return count == 9
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
            report.add(.table, name, "a deleted log's number \(number) is unknown, or has another row")
          }
        } else if key[0] == 3, name == "incarnations" {
          let zone = ZoneNumber(rawValue: try key.span.bytes.bigEndian32(at: 1))
          let proposed = try source.readView.zones.proposedIncarnation(of: zone)
          if try proposed.map({ try source.readView.incarnations.identity(of: $0) }) == nil {
            report.add(.table, name, "a zone's proposed incarnation is unknown")
          }
        }
        isThere = try cursor.next()
      }
    }
  }

  /// The declared fields can be read.
  mutating func checkDeclaredFields(_ source: borrowing ReadTransaction) {
    do {
      _ = try source.declaredFields()
    } catch {
      report.add(.table, "meta", Verification.text(error))
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
}
