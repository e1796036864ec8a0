public import OperationFormat
public import Replicator

/// What the calls of a ``LogIndex`` do, over rows: the rules are the same wherever the rows are. A call is one transaction.
public struct IndexRules<Rows: IndexRows> {
  public private(set) var rows: Rows
  /// The server's clock, in milliseconds since 1970.
  private let milliseconds: UInt64
  private let random: () -> UInt64
  private let index: String

  /// - Parameters:
  ///   - rows: those of the transaction.
  ///   - random: random bits, for the identity of a list.
  ///   - index: the index's name, for messages.
  public init(_ rows: Rows, milliseconds: UInt64, random: @escaping () -> UInt64, index: String) {
    (self.rows, self.milliseconds, self.random, self.index) = (rows, milliseconds, random, index)
  }

  // MARK: The place of the objects

  /// The place that the index belongs to, made or to be made.
  func place() throws -> PlaceRow {
    try rows.place() ?? PlaceRow(identity: .random(random), isMade: false)
  }

  /// Notes which place is to be made; of several that do, the first counts.
  mutating func propose(_ place: PlaceRow) throws -> PlaceRow {
    if let known = try rows.place() { return known }
    try rows.set(place)
    return place
  }

  mutating func noteMade(_ place: PlaceRow) throws {
    try rows.set(PlaceRow(identity: place.identity, isMade: true))
  }

  // MARK: Zones

  public mutating func list(of account: String) throws -> ListRow {
    if let known = try rows.list(of: account) { return known }
    let row = ListRow(remote: .random(random))
    try rows.set(row, of: account)
    return row
  }

  public mutating func createZone(_ zone: IndexedZone) throws -> IncarnationID {
    guard zone.log.rawValue != 0 else { throw badProposal(zone, "is 0") }
    if let open = try rows.openLog(of: zone.zone, of: zone.account) { return open }
    if let known = try rows.log(zone.log) {
      guard known.account == zone.account, known.zone == zone.zone else {
        throw badProposal(zone, "is another zone's")
      }
      return zone.log
    }
    // Throws for a name that no zone can have, before anything is set.
    try note(.created, zone)
    try rows.set(LogRow(zone), zone.log)
    try rows.setOpenLog(zone.log, of: zone.zone, of: zone.account)
    return zone.log
  }

  public func row(of zone: IndexedZone) throws -> LogRow {
    guard let row = try rows.log(zone.log), row.account == zone.account, row.zone == zone.zone else {
      throw RemoteError(
        .zoneUnknown, "\(index) has no log \(zone.log) of zone “\(zone.zone)”",
        hint: "look at the list of zones")
    }
    return row
  }

  public mutating func close(_ zone: IndexedZone, _ fate: ZoneFate) throws {
    var row = try row(of: zone)
    if row.fate == fate { return }
    guard row.fate == nil else {
      throw RemoteError(
        .zoneUnknown, "zone “\(zone.zone)” has no open log",
        hint: "look at the list of zones for what has become of it")
    }
    row.fate = fate
    row.seal = row.head + 1
    // The entries go afterwards, in steps.
    if fate.discardsLog { (row.head, row.chain, row.floor) = (0, .start(of: zone.log), nil) }
    try rows.set(row, zone.log)
    try rows.setOpenLog(nil, of: zone.zone, of: zone.account)
    try note(fate.event, zone)
  }

  public mutating func reopen(_ zone: IndexedZone) throws {
    var row = try row(of: zone)
    guard row.fate != nil else { return }
    if try rows.openLog(of: zone.zone, of: zone.account) != nil {
      throw RemoteError(
        .nameTaken, "\(index) has another zone “\(zone.zone)”, which was made since",
        hint: "keep this one as a local zone, or move its records to a zone of another name")
    }
    if row.fate?.discardsLog ?? false, try hasEntries(zone.log) {
      throw RemoteError(
        .later, "zone “\(zone.zone)” is still being discarded", hint: "it is tried again by itself")
    }
    // All readers take the end that the log had as an empty entry. A log that was discarded gets there again later.
    let tombstone = LogTombstone(passingSealOf: zone.log, at: row.seal)
    try rows.put(
      EntryRow(receivedMilliseconds: nil, chain: nil, bytes: try tombstone.encode()), at: row.seal,
      of: zone.log)
    row.fate = nil
    try passTombstones(&row, zone.log)
    try rows.set(row, zone.log)
    try rows.setOpenLog(zone.log, of: zone.zone, of: zone.account)
    try note(.reopened, zone)
  }

  private mutating func note(_ kind: ZoneEvent.Kind, _ zone: IndexedZone) throws {
    var list = try list(of: zone.account)
    let event = ZoneEvent(kind: kind, zone: zone.zone, incarnation: zone.log)
    let bytes = try event.encode(at: list.events + 1, after: list.hash)
    list.events += 1
    list.hash = ContentHash(of: bytes.span.bytes)
    try rows.put(bytes, at: list.events, of: zone.account)
    try rows.set(list, of: zone.account)
  }

  private func badProposal(_ zone: IndexedZone, _ why: String) -> RemoteError {
    RemoteError(
      .mismatch, "the incarnation \(zone.log) that was proposed \(why)",
      hint: "propose random bits that were never used")
  }

  // MARK: Entries

  public mutating func append(
    _ segments: [PackedSegment], to zone: IndexedZone, after offset: UInt64
  ) throws -> [AppendOutcome] {
    var row = try row(of: zone)
    if let fate = row.fate, fate.discardsLog { return [.gone(fate)] }
    guard offset <= row.head else { throw wentBack(zone, offset) }
    // What stands for the entries before need not have this one.
    if let floor = row.floor, offset + 1 < floor.offset || offset < floor.offset && !floor.hasEntry {
      throw expired(zone, floor)
    }
    var outcomes: [AppendOutcome] = []
    for segment in segments {
      outcomes.append(try append(segment, to: zone.log, &row))
      switch outcomes.last {
      case .appended?, .alreadyThere?: break
      default: return outcomes
      }
    }
    return outcomes
  }

  private mutating func append(
    _ segment: PackedSegment, to log: IncarnationID, _ row: inout LogRow
  ) throws -> AppendOutcome {
    let (header, lane) = (segment.header, LaneName(segment.header))
    if let offset = try rows.offset(of: lane, endingAtOrAfter: header.sequences.lowerBound, in: log),
      let found = try rows.entry(offset, of: log)
    {
      let place = SegmentPlace(
        offset: offset, receivedMilliseconds: found.receivedMilliseconds, chain: found.chain)
      // One that cannot be read is another's: see RemoteLog.
      if let other = try? SegmentFrame.readHeader(found.bytes.span.bytes),
        let outcome = header.outcome(meeting: other, at: place)
      {
        return outcome
      }
    }
    if let fate = row.fate { return .gone(fate) }
    guard row.head < Limits.placeMax else {
      throw RemoteError(.overQuota, "the log has no offset left", hint: "make another zone")
    }
    let place = SegmentPlace(
      offset: row.head + 1, receivedMilliseconds: segment.stated(milliseconds),
      chain: LogChain(header.statement.hash, at: row.head + 1, after: row.chain))
    try put(
      EntryRow(receivedMilliseconds: place.receivedMilliseconds, chain: place.chain, bytes: segment.bytes),
      header,
      at: place.offset, of: log)
    (row.head, row.chain) = (place.offset, place.chain!)
    try passTombstones(&row, log)
    try rows.set(row, log)
    return .appended(place)
  }

  private mutating func put(
    _ entry: EntryRow, _ header: SegmentHeader, at offset: UInt64, of log: IncarnationID
  ) throws {
    try rows.put(entry, at: offset, of: log)
    try rows.put(offset, of: LaneName(header), endingAt: header.sequences.upperBound, in: log)
  }

  private mutating func removeEntry(_ offset: UInt64, of log: IncarnationID) throws {
    if let entry = try rows.entry(offset, of: log),
      let header = try? SegmentFrame.readHeader(entry.bytes.span.bytes)
    {
      try rows.remove(LaneName(header), endingAt: header.sequences.upperBound, in: log)
    }
    try rows.removeEntry(offset, of: log)
  }

  /// Passes the ends that a log had before, where it gets there again.
  private mutating func passTombstones(_ row: inout LogRow, _ log: IncarnationID) throws {
    while let next = try rows.entry(row.head + 1, of: log), FrameKind(of: next.bytes.span.bytes) == .tombstone
    {
      row.chain = LogChain(ContentHash(of: next.bytes.span.bytes), at: row.head + 1, after: row.chain)
      row.head += 1
    }
  }

  public func entries(of zone: IndexedZone, after token: ChangeToken, bytesMax: Int) throws -> FetchOutcome {
    let row = try row(of: zone)
    if let fate = row.fate, fate.discardsLog { return .gone(fate) }
    do {
      try check(token, of: zone, row)
    } catch let error as RemoteError where error.code == .expired && row.fate == .deleted {
      // Nobody makes a snapshot of a deleted zone.
      return .gone(.deleted)
    }
    var page: [StoredSegment] = []
    var (bytes, hasMore) = (0, false)
    try rows.forEachEntry(of: zone.log, from: token.offset + 1) { offset, read in
      // A tombstone behind the end is not reached yet.
      guard offset <= row.head else { return false }
      let entry: EntryRow
      do {
        entry = try read()
      } catch let error as FormatError {
        // Those before it come first; the next call throws the error.
        hasMore = true
        if page.isEmpty { throw damaged(zone, offset, error) }
        return false
      }
      guard page.isEmpty || bytes + entry.bytes.count <= bytesMax else {
        hasMore = true
        return false
      }
      bytes += entry.bytes.count
      page.append(
        StoredSegment(
          offset: offset, receivedMilliseconds: entry.receivedMilliseconds, chain: entry.chain,
          bytes: entry.bytes))
      return true
    }
    if page.isEmpty, let fate = row.fate { return .gone(fate) }
    return .segments(page, hasMore: hasMore || row.fate != nil)
  }

  private func damaged(_ zone: IndexedZone, _ offset: UInt64, _ error: FormatError) -> RemoteError {
    RemoteError(
      .damagedSegment,
      "the entry at offset \(offset) of zone “\(zone.zone)” at \(index) cannot be read: \(error)",
      hint: "restore the server's database from a backup", underlying: error, offset: offset)
  }

  /// Throws unless a log has the place that a reader has read.
  private func check(_ token: ChangeToken, of zone: IndexedZone, _ row: LogRow) throws {
    if let floor = row.floor {
      // Entries below it are there until they are removed, the first ones first.
      if token.offset < floor.offset, floor.offset > 1 || !floor.hasEntry {
        let isThere = try token.offset == 0 || rows.entry(token.offset, of: zone.log) != nil
        guard isThere, try rows.entry(token.offset + 1, of: zone.log) != nil else {
          throw expired(zone, floor)
        }
      }
      if token.offset == floor.offset, !floor.hasEntry {
        guard token.hash == floor.hash, token.chain ?? floor.chain == floor.chain else {
          throw wentBack(zone, token.offset)
        }
        return
      }
    }
    if token.offset == 0 { return }
    guard token.offset <= row.head, let entry = try rows.entry(token.offset, of: zone.log) else {
      throw wentBack(zone, token.offset)
    }
    let isSame =
      try Self.hash(of: entry) == token.hash
      && (token.chain == nil || entry.chain == nil || entry.chain == token.chain)
    if !isSame { throw wentBack(zone, token.offset) }
  }

  private static func hash(of entry: EntryRow) throws -> ContentHash {
    let bytes = entry.bytes.span.bytes
    return FrameKind(of: bytes) == .tombstone
      ? ContentHash(of: bytes) : try SegmentFrame.readHeader(bytes).contentHash
  }

  public mutating func putBack(
    _ entry: StoredSegment, to zone: IndexedZone, after token: ChangeToken
  ) throws -> Bool {
    var row = try row(of: zone)
    guard row.fate == nil, entry.offset == token.offset + 1 else { return false }
    try entry.checkMayBePutBack(after: token)
    try check(token, of: zone, row)
    let bytes = entry.bytes.span.bytes
    let isTombstone = FrameKind(of: bytes) == .tombstone
    let header = isTombstone ? nil : try SegmentFrame.readHeader(bytes)
    if let found = try rows.entry(entry.offset, of: zone.log) {
      guard let header else { return found.bytes == entry.bytes }
      guard FrameKind(of: found.bytes.span.bytes) != .tombstone else { return false }
      return try SegmentFrame.readHeader(found.bytes.span.bytes).statement == header.statement
    }
    guard row.head == token.offset else { return false }
    let statement = header?.statement.hash ?? ContentHash(of: bytes)
    let chain = LogChain(statement, at: entry.offset, after: row.chain)
    guard entry.chain ?? chain == chain else { return false }
    let restored = EntryRow(
      receivedMilliseconds: entry.receivedMilliseconds, chain: isTombstone ? nil : chain, bytes: entry.bytes)
    if let header {
      try put(restored, header, at: entry.offset, of: zone.log)
    } else {
      try rows.put(restored, at: entry.offset, of: zone.log)
    }
    (row.head, row.chain) = (entry.offset, chain)
    try passTombstones(&row, zone.log)
    try rows.set(row, zone.log)
    return true
  }

  // MARK: Floors

  public mutating func begin(_ zone: IndexedZone, with floor: IndexedFloor) throws -> Bool {
    var row = try row(of: zone)
    guard row.fate == nil else { return false }
    if row.floor == floor { return true }
    // No log is that long: behind it, offsets would end.
    guard row.head == 0, row.floor == nil, floor.offset <= SnapshotManifest.offsetMax else { return false }
    (row.floor, row.head, row.chain) = (floor, floor.offset, floor.chain)
    try passTombstones(&row, zone.log)
    try rows.set(row, zone.log)
    return true
  }

  public mutating func raise(_ zone: IndexedZone, to floor: IndexedFloor) throws -> UInt64 {
    var row = try row(of: zone)
    guard row.fate == nil else {
      throw RemoteError(
        .zoneUnknown, "zone “\(zone.zone)” was deleted", hint: "sync it: the deletion comes here too")
    }
    if let known = row.floor, known.offset >= floor.offset { return known.offset }
    guard let entry = try rows.entry(floor.offset, of: zone.log), floor.offset <= row.head,
      try Self.hash(of: entry) == floor.hash, entry.chain ?? floor.chain == floor.chain
    else {
      throw RemoteError(
        .mismatch,
        "the log of zone “\(zone.zone)” has another entry at offset \(floor.offset) than the snapshot says",
        hint: "read the log again, and make a snapshot of it")
    }
    row.floor = floor
    try rows.set(row, zone.log)
    return floor.offset
  }

  /// Removes some entries that nobody needs: of a log that was discarded, or before its floor. The first ones go first.
  ///
  /// - Returns: whether there may be more.
  public mutating func removeStep(of zone: IndexedZone) throws -> Bool {
    let row = try row(of: zone)
    let end: UInt64 = row.fate?.discardsLog ?? false ? .max : row.floor?.offset ?? 0
    var offsets: [UInt64] = []
    try rows.forEachEntry(of: zone.log, from: 1) { offset, _ in
      guard offset < end, offsets.count < Self.removedMax else { return false }
      offsets.append(offset)
      return true
    }
    for offset in offsets { try removeEntry(offset, of: zone.log) }
    return offsets.count == Self.removedMax
  }

  /// The most entries of a step.
  private static var removedMax: Int { 256 }

  private func hasEntries(_ log: IncarnationID) throws -> Bool {
    var isThere = false
    try rows.forEachEntry(of: log, from: 1) { _, _ in
      isThere = true
      return false
    }
    return isThere
  }

  // MARK: Heads

  public func heads(of logs: [IncarnationID], for account: String) throws -> [ZoneHead] {
    let found = try rows.logs(logs)
    return logs.compactMap { log in
      guard let row = found[log], row.account == account else { return nil }
      return ZoneHead(log, offset: row.head, isClosed: row.fate != nil)
    }
  }

  private func wentBack(_ zone: IndexedZone, _ offset: UInt64) -> RemoteError {
    RemoteError(
      .wentBack,
      "the log of zone “\(zone.zone)” at \(index) does not have the entry at offset \(offset) that was read before",
      hint:
        "it may have been restored from an older copy: stores that have read further put back what is missing",
      offset: offset)
  }

  private func expired(_ zone: IndexedZone, _ floor: IndexedFloor) -> RemoteError {
    RemoteError(
      .expired, "the log of zone “\(zone.zone)” at \(index) begins at offset \(floor.offset)",
      hint: "sync again: the store begins with a snapshot, and keeps what it has not sent",
      offset: floor.offset)
  }
}
