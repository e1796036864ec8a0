import LMDB
import OperationFormat

/// Verifies what a store knows of remote logs: tokens, segments and placements.
struct PlacementVerification {
  private(set) var report: VerificationReport
  /// Whether records are behind the log.
  private let isFoldingAgain: Bool

  init(_ report: VerificationReport, isFoldingAgain: Bool) {
    self.report = report
    self.isFoldingAgain = isFoldingAgain
  }

  /// Every zone's token and base are at segments it has, every segment has its placement, and every placement
  /// names a segment that holds it.
  mutating func check(_ source: borrowing ReadTransaction) throws {
    let last = try source.readView.zoneNumbers.lastNumber()
    var gone: Set<UInt32> = []
    for raw in 1...max(1, last) {
      let number = ZoneNumber(rawValue: raw)
      let id = try source.readView.zones.id(of: number).map { "\($0)" } ?? "\(raw)"
      do {
        guard let row = try source.readView.zoneRowIfThere(number) else { continue }
        if row.status.isGone { gone.insert(raw) }
        try checkZone(number, row, id, source)
      } catch {
        report.add(.placement, id, Verification.text(error))
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
        report.add(.placement, Self.location(key), Verification.text(error))
      }
      before = key
      isThere = try cursor.next()
    }
  }

  private mutating func checkZone(
    _ number: ZoneNumber, _ row: ZoneRow, _ id: String, _ source: borrowing ReadTransaction
  ) throws {
    if row.status.isGone {
      // What is left of it is taken away in any order.
      if row.state != .none || row.building != .none {
        report.add(.table, id, "a zone that was deleted has a state")
      }
      return
    }
    _ = try source.readView.zones.cut(of: number)
    // What is being read again has no rows from the token on; and not every entry has one at or below a floor.
    let isRereading = try source.readView.lanes.rereading(of: number) != nil
    if let base = row.base, !isRereading,
      case .some(nil) = try Self.readSegment(at: base.offset, in: number, base.incarnation, source),
      try base.offset > source.readView.lanes.countedFloor(of: number, base.incarnation, before: .max)
    {
      report.add(.placement, id, "the base is at offset \(base.offset), where no segment is")
    }
    for state in [row.state, row.building] where state != .none {
      let found = try source.readView.states.storedRowIfThere(of: state)
      let isLive = state == row.state && row.building != row.state
      // One that waits for the zone's snapshot to be loaded is built too.
      let statuses: [StateRow.Status] = isLive ? [.live] : [.building, .awaiting]
      if found?.zone != number || !statuses.contains(where: { $0 == found?.status }) {
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

  private mutating func checkSegments(_ source: borrowing ReadTransaction, except gone: Set<UInt32>) throws {
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
        report.add(.placement, Self.location(key), Verification.text(error))
      }
      isThere = try cursor.next()
    }
  }

  /// The segment at an offset, `.some(nil)` if there is none. Nil if its row cannot be read: that is reported
  /// once, where segments are checked.
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
    let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 0))
    let incarnation = IncarnationNumber(rawValue: try key.bigEndian32(at: 4))
    guard let segment = try readSegment(at: offset, in: zone, incarnation, source) else { return nil }
    let last = try key.bigEndian64(at: 16)
    // What a snapshot does not have one by one at or below a floor is placed at the next entry that it has.
    let isFolded = try offset <= source.readView.lanes.countedFloor(of: zone, incarnation, before: .max)
    guard let segment, segment.first <= first || isFolded, first <= last, last <= segment.last,
      try segment.replica.rawValue == key.bigEndian32(at: 8), try segment.epoch == key.bigEndian32(at: 12)
    else { return "no segment at offset \(offset) holds it" }
    return first == previous &+ 1 || previous == 0 && first == segment.first
      ? nil : "it begins at \(first) after \(previous)"
  }

  private static func location(_ key: [UInt8]) -> String {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return "\(number(key[0..<4])).\(number(key[4..<8])).\(number(key.suffix(8)))"
  }
}
