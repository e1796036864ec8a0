import LMDB
import OperationFormat

/// Takes in what a zone's remote log has: segments of others, and the offsets of this store's own ones.
struct RemoteIngest {
  let store: StoreTransaction
  /// Whether transactions go into the log now and are folded later: see ``ingestOrAppend(of:isTooMuch:_:)``.
  var foldsLater = false
  /// A zone in which what transactions had seen is another than they were folded by: it is folded again.
  var zoneOfChangedLimits: ZoneNumber?

  init(_ store: StoreTransaction) { self.store = store }

  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }
  var rules: SegmentRules { SegmentRules(store.storage) }

  mutating func ingest(_ segment: RemoteSegment, _ report: inout IngestReport) throws {
    let (zone, incarnation) = try target(segment.zone, segment.incarnation)
    try rules.checkFollows(segment, try storage.zoneRow(zone))
    try store.checkNamesAreNew(of: zone)
    if segment.isQuarantined { return try recordQuarantined(segment, zone, incarnation, &report) }
    if let reason = segment.rejection { throw segment.invalid(reason, .mismatch, "\(reason)") }
    let lane = try rules.lane(of: segment)
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: segment.offset)
    try rules.checkFit(of: segment, lane, log)
    let chain = try rules.chain(of: segment, log)
    let conflictsBefore = store.fold.conflictCount
    var capped: [Known] = []
    let last = try forEachTransaction(of: segment, lane, log) { header, body, seen in
      if let known = try ingest(header, body, lane.number, log, segment, seen: seen, &report) {
        capped.append(known)
      }
    }
    var row = SegmentRow(
      replica: lane.number, epoch: lane.epoch, first: lane.first, last: last,
      hash: segment.hash, receivedMilliseconds: segment.receivedMilliseconds, chain: chain)
    (row.isChainStated, row.limit) = (segment.statedChain != nil, segment.limit)
    try recordSegment(
      row, zone, incarnation, at: segment.offset,
      byteCount: segment.transactions.reduce(0) { $0 + UInt64($1.count) })
    try retime(capped, zone, &report)
    report.conflicts += store.fold.conflictCount - conflictsBefore
    report.token = try token(of: zone, segment.zone, segment.incarnation)
  }

  /// Calls a closure with each transaction of a segment, once its header keeps the rules of the log, and with up to
  /// where it has seen the log.
  ///
  /// - Returns: the last one's sequence.
  func forEachTransaction(
    of segment: RemoteSegment, _ lane: SegmentLane, _ log: LogPrefix,
    _ body: (TransactionHeader, RawSpan, _ seen: UInt64) throws -> Void
  ) throws -> UInt64 {
    var next = lane.first
    var seen = try rules.seenBefore(lane, log)
    for bytes in segment.transactions {
      let (header, bodyStart) = try segment.parsing {
        var reader = ByteReader(bytes.span.bytes)
        return (try TransactionHeader.read(from: &reader, in: segment.zone), reader.position)
      }
      try rules.check(header, in: segment, lane, next, log, &seen)
      try body(header, bytes.span.bytes.extracting(bodyStart...), seen)
      next = header.sequence + 1
    }
    return next - 1
  }

  mutating func acknowledge(_ acknowledgement: Acknowledgement, _ report: inout IngestReport) throws {
    let (zone, incarnation) = try target(acknowledgement.zone, acknowledgement.incarnation)
    let own = StoreIdentity(
      replica: identity.replica, epoch: try storage.zoneRow(zone).ownEpoch(identity))
    let writer = acknowledgement.writer ?? own
    let replica = try storage.replicas.makeNumber(for: writer.replica)
    let epoch = writer.epoch
    let sequences = acknowledgement.sequences
    let last = try storage.lastSequence(of: replica, epoch, in: zone)
    let placed = try storage.placements.lastPlaced(replica, epoch, in: zone, incarnation)
    let closure = try storage.lanes.closure(of: replica, epoch, in: zone, incarnation)
    guard acknowledgement.offset > 0, sequences.lowerBound > 0, sequences.upperBound <= last,
      sequences.lowerBound <= placed + 1, closure.map({ acknowledgement.offset < $0 }) ?? true
    else {
      throw StoreError(
        .outOfOrder,
        "sequences \(sequences.lowerBound) to \(sequences.upperBound) of zone “\(acknowledgement.zone)” "
          + "were acknowledged at offset \(acknowledgement.offset), but \(last) are there and \(placed) were "
          + "acknowledged before",
        hint: "acknowledge segments in the order they were shipped")
    }
    if try isRejected(acknowledgement, writer, replica, zone, incarnation, &report) { return }
    var capped: [Known] = []
    for sequence in sequences {
      guard let entry = try store.entry(replica, epoch, sequence, zone) else { continue }
      let known = try known(entry, receivedMilliseconds: acknowledgement.receivedMilliseconds)
      if let known { capped.append(known) }
    }
    var row = SegmentRow(
      replica: replica, epoch: epoch, first: sequences.lowerBound, last: sequences.upperBound,
      hash: acknowledgement.hash, receivedMilliseconds: acknowledgement.receivedMilliseconds)
    let link = try link(of: acknowledgement, writer, zone, incarnation)
    (row.chain, row.isChainStated) = (link?.chain, acknowledgement.statedChain != nil)
    row.limit = acknowledgement.header?.limit
    try recordSegment(
      row, zone, incarnation, at: acknowledgement.offset,
      byteCount: acknowledgement.header?.unpackedBytes ?? 0, isRead: link != nil)
    try retime(capped, zone, &report)
    report.token = try token(of: zone, acknowledgement.zone, acknowledgement.incarnation)
    try foldChangedLimits()
  }

  /// The log's chain at a shipped segment that is the token's next one; nil for any other, and if the remote
  /// states another chain: it may have the segment with the header of an earlier try, so the segment is read
  /// before the token passes it.
  private func link(
    of acknowledgement: Acknowledgement, _ writer: StoreIdentity, _ zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> ChainLink? {
    guard acknowledgement.offset == (try storage.zoneRow(zone).token?.offset ?? 0) + 1 else { return nil }
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: acknowledgement.offset)
    let link = try rules.link(of: RemoteSegment(acknowledgement, writer), log)
    return link.continues ? link : nil
  }

  /// Rejects a shipped segment that breaks a rule of the log, if it is the token's next one: it is not
  /// fetched again. One that is further behind is checked when it is fetched.
  ///
  /// - Returns: whether it was rejected.
  private mutating func isRejected(
    _ acknowledgement: Acknowledgement, _ writer: StoreIdentity, _ replica: ReplicaNumber, _ zone: ZoneNumber,
    _ incarnation: IncarnationNumber, _ report: inout IngestReport
  ) throws -> Bool {
    guard acknowledgement.offset == (try storage.zoneRow(zone).token?.offset ?? 0) + 1 else { return false }
    let segment = RemoteSegment(acknowledgement, writer)
    let lane = SegmentLane(id: writer, number: replica, first: acknowledgement.sequences.lowerBound)
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: acknowledgement.offset)
    do {
      try rules.checkFit(of: segment, lane, log)
      var seen = try rules.seenBefore(lane, log)
      for sequence in acknowledgement.sequences {
        let position = try storage.log.position(of: replica, writer.epoch, sequence, in: zone)
        guard let position else { continue }
        let header = try storage.log.withEntry(at: position) { header, _ in header }
        try rules.check(
          try storage.log.transactionHeader(of: header), in: segment, lane, sequence, log, &seen)
        try takeLimit(of: header, log, segment, seen: seen)
      }
      return false
    } catch let error as StoreError {
      guard let reason = error.rejection else { throw error }
      try reject(segment, reason, &report)
      return true
    }
  }

  /// A zone's token, which is of the incarnation that was folded.
  func token(
    of number: ZoneNumber, _ zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> ChangeToken? {
    guard let token = try storage.zoneRow(number).token else { return nil }
    return ChangeToken(
      zone: zone, incarnation: incarnation, offset: token.offset, hash: token.hash,
      chain: try storage.segments.tokenChain(at: token.offset, in: number, token.incarnation))
  }

  /// The numbers of a zone and of its remote log's incarnation, which the zone takes on if it has none.
  func target(_ zone: ZoneID, _ incarnation: IncarnationID) throws -> (ZoneNumber, IncarnationNumber) {
    let (number, known) = try storage.zones.visible(zone)
    var row = known
    let found = try storage.incarnations.makeNumber(for: incarnation)
    // What was fetched for a zone that was deleted since does not belong to the next one of its name.
    if row.token == nil, try ZoneCatalog(store).tie(number, &row, to: found) {
      storage.setZoneRow(row, number)
    }
    guard row.token?.incarnation == found else {
      throw StoreError.incarnationChanged(zone, incarnation)
    }
    return (number, found)
  }

  /// Folds one transaction of a segment, or compares it with the stored one.
  ///
  /// - Returns: the stored one, if a receive time limits its timestamp.
  private mutating func ingest(
    _ header: TransactionHeader, _ body: RawSpan, _ replica: ReplicaNumber, _ log: LogPrefix,
    _ segment: RemoteSegment, seen: UInt64, _ report: inout IngestReport
  ) throws -> Known? {
    let zone = log.zone
    let lane = Lane(zone: zone, replica: replica, epoch: header.epoch)
    let last = try storage.lastSequence(of: replica, header.epoch, in: zone)
    guard header.sequence > last else {
      report.known += 1
      guard let entry = try compared(header, body, replica, log, segment) else { return nil }
      try takeLimit(of: entry.header, log, segment, seen: seen)
      let placed = try storage.placements.lastPlaced(replica, header.epoch, in: zone, log.incarnation)
      // Another store may have shipped what was pending here, without the assets that it names.
      if placed < header.sequence { try store.noteUnsentAssets(in: entry.body.span.bytes, zone) }
      return try known(entry, receivedMilliseconds: segment.receivedMilliseconds)
    }
    guard header.sequence == last + 1 else { throw StoreError.missing(last + 1, segment.zone) }
    let timestamp = try segment.parsing {
      try store.timestamp(ofArrived: body, in: ZoneID(name: header.zone.name))
    }
    let wall = store.wallMilliseconds()
    let numbered = try store.entryHeader(
      for: header, replica, zone, arrivalDelay: wall &- Int64(timestamp.milliseconds))
    if let limit = limit(of: numbered, log, segment, seen: seen) {
      try storage.baseLimits.set(limit, of: lane, header.sequence...header.sequence)
    }
    try append(numbered, body: body, receivedMilliseconds: segment.receivedMilliseconds)
    store.clock.observe(timestamp, wallMilliseconds: wall)
    report.folded += 1
    return nil
  }

  /// The limit of one of a segment's transactions, which has seen the log up to an offset; nil for none.
  private func limit(
    of header: LogEntryHeader, _ log: LogPrefix, _ segment: RemoteSegment, seen: UInt64
  ) -> BaseNumbers? {
    guard segment.limit != nil, header.baseIncarnation == log.incarnation, header.baseOffset > seen
    else { return nil }
    return (log.incarnation, seen)
  }

  /// Gives a known transaction the limit that the first segment which has it says: this store, or a log that was lost,
  /// may have given it another.
  private mutating func takeLimit(
    of header: LogEntryHeader, _ log: LogPrefix, _ segment: RemoteSegment, seen: UInt64
  ) throws {
    guard try segment.limit != nil || storage.hasLimits(log.zone) else { return }
    let place = try storage.placements.placement(
      of: header.replica, header.epoch, header.sequence, in: log.zone, log.incarnation)
    if let place, place.offset < segment.offset { return }
    let (said, known) = (
      limit(of: header, log, segment, seen: seen),
      try storage.baseLimits.limit(of: header.lane, header.sequence)
    )
    guard said?.incarnation != known?.incarnation || said?.offset != known?.offset else { return }
    try storage.baseLimits.set(said, of: header.lane, header.sequence...header.sequence)
    // What comes after it in its lane has seen no less.
    try storage.baseLimits.raise(to: (log.incarnation, seen), of: header.lane, after: header.sequence)
    try storage.meta.countRewrite()
    zoneOfChangedLimits = log.zone
  }

  /// Throws unless the store has the same bytes for a transaction. Where the log has others before, the
  /// segment is rejected; where they are pending here, this store's branch is the one that must give way.
  func compare(
    _ header: TransactionHeader, _ body: RawSpan, with entry: (header: LogEntryHeader, body: [UInt8]),
    _ log: LogPrefix, _ segment: RemoteSegment
  ) throws {
    if try store.isSame(header, body, as: entry) { return }
    let message = "the remote has other bytes for transaction \(header.id) than this store"
    let lane = (replica: entry.header.replica, epoch: entry.header.epoch)
    if try rules.has(header.sequence, of: lane.replica, lane.epoch, log) {
      throw segment.invalid(.fork, .fork, message)
    }
    throw StoreError(
      .fork, message,
      hint: "two stores wrote under one identity: one is a copy or an old backup of the other")
  }

  /// The same for a transaction that the store knows by a snapshot alone, which has the hash of the entry that has it first.
  ///
  /// - Throws: ``StoreError`` with a ``StoreError/neededOffset`` if that entry is to be read again; `retired` if the segment
  ///   repeats a part of it alone, and the remote does not have it any more.
  func compareRetired(
    _ header: TransactionHeader, _ body: RawSpan, _ replica: ReplicaNumber, _ log: LogPrefix,
    _ segment: RemoteSegment
  ) throws {
    let place = try storage.placements.placement(
      of: replica, header.epoch, header.sequence, in: log.zone, log.incarnation)
    guard let place, place.offset < segment.offset else { return }
    func fork() -> StoreError {
      segment.invalid(
        .fork, .fork, "the remote has other bytes for transaction \(header.id) than at offset \(place.offset)"
      )
    }
    if let bytes = segment.earlier[header.sequence] {
      var reader = ByteReader(bytes.span.bytes)
      let known = try TransactionHeader.read(from: &reader, in: segment.zone)
      if known == header, equalBytes(bytes.span.bytes.extracting(reader.position...), body) { return }
      throw fork()
    }
    let whole = try wholeEntry(at: place.offset, in: segment, log)
    if let whole {
      // The others of the entry were compared with its first one here.
      if header.sequence > place.first { return }
      let isSame = try [false, true].contains { statesOwner in
        let transactions = try segment.transactions(whole.indices, statingOwner: statesOwner)
        return SegmentHeader.contentHash(of: transactions) == whole.hash
      }
      if isSame { return }
    }
    guard segment.goneEntries.contains(place.offset) else {
      throw StoreError.needed(place.offset, segment.zone)
    }
    if let whole, try !rules.isBelowFloor(whole.first, of: replica, header.epoch, log) { throw fork() }
    throw StoreError(
      .retired,
      "a segment of zone “\(segment.zone)” repeats a part of the entry at offset \(place.offset), which the remote does not "
        + "have any more: whether it is the same, this store cannot tell",
      hint:
        "a store that has the whole history can. Sync one, and sync again here once it has made a snapshot")
  }

  /// The transactions of a segment that an earlier entry has too: the first one's sequence and their indices; and that
  /// entry's hash. Nil if the segment does not repeat all of it.
  private func wholeEntry(
    at offset: UInt64, in segment: RemoteSegment, _ log: LogPrefix
  ) throws -> (first: UInt64, indices: ClosedRange<Int>, hash: ContentHash)? {
    let first = try rules.lane(of: segment).first
    guard let row = try storage.segments.row(at: offset, in: log.zone, log.incarnation), row.first >= first,
      row.last - first < segment.transactions.count
    else { return nil }
    return (row.first, Int(row.first - first)...Int(row.last - first), row.hash)
  }

  /// A stored transaction, and its effective timestamp before a segment with it was placed.
  struct Known {
    var header: LogEntryHeader
    var body: [UInt8]
    var timestamp: Timestamp
    var effective: Timestamp
  }

  /// A stored transaction with its effective timestamp so far; nil if neither the known receive times nor the
  /// new one limit its timestamp.
  func known(
    _ entry: (header: LogEntryHeader, body: [UInt8]), receivedMilliseconds: UInt64?
  ) throws -> Known? {
    let (header, body) = entry
    let timestamp = try store.timestamp(ofBody: body.span.bytes)
    let received = try storage.placements.leastReceived(
      of: header.replica, header.epoch, header.sequence, in: header.zone)
    let effective = StoreTransaction.effective(timestamp, received)
    guard effective < timestamp || StoreTransaction.effective(timestamp, receivedMilliseconds) < timestamp
    else {
      return nil
    }
    return Known(header: header, body: body, timestamp: timestamp, effective: effective)
  }

  /// Gives the heads of transactions their new effective timestamp after segments were placed. Of a
  /// transaction's placements in one incarnation the first counts, and of those of all incarnations the least
  /// receive time.
  func retime(_ transactions: [Known], _ zone: ZoneNumber, _ report: inout IngestReport) throws {
    for known in transactions {
      let header = known.header
      let received = try storage.placements.leastReceived(
        of: header.replica, header.epoch, header.sequence, in: zone)
      let effective = StoreTransaction.effective(known.timestamp, received)
      guard effective != known.effective else { continue }
      try store.fold.flush()
      let row = try storage.zoneRow(zone)
      let body = known.body.span.bytes
      if try store.retime(header, body: body, effective: effective, in: row.state) { report.retimed += 1 }
      if row.building != .none {
        _ = try store.retime(header, body: body, effective: effective, in: row.building)
      }
    }
  }

  /// Writes a segment's rows, and moves token and base if it is the next one and was read.
  private func recordSegment(
    _ segment: SegmentRow, _ zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64,
    byteCount: UInt64, isRead: Bool = true
  ) throws {
    let before = try storage.segments.row(at: offset, in: zone, incarnation)
    if let before { try Self.checkIsSame(segment, as: before, at: offset) }
    if var known = before {
      known.add(segment)
      if known != before { try storage.segments.put(known, in: zone, incarnation, at: offset) }
    } else {
      try storage.segments.place(segment, in: zone, incarnation, at: offset)
    }
    try ZoneCatalog(store).removeShippedCut(zone, incarnation)
    try storage.lanes.dropIfShipped(segment.replica, segment.epoch, of: zone, incarnation)
    if isRead { try moveToken(of: zone, incarnation, to: offset, segment.hash, byteCount: byteCount) }
  }

  /// Throws unless a segment is the one that an offset is known for.
  static func checkIsSame(_ segment: SegmentRow, as known: SegmentRow, at offset: UInt64) throws {
    guard segment.isSame(as: known) else {
      throw StoreError(
        .mismatch, "the remote has another segment at offset \(offset) than before",
        hint:
          "the remote was changed behind its writers' backs: check it, or restore it. Where it is right, "
          + "this store reads it again with `replay sync STORE --remote REMOTE --reread ZONE@\(offset)`")
    }
  }

  /// Moves a zone's token and base to an offset, if it is the next one.
  func moveToken(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, to offset: UInt64, _ hash: ContentHash,
    byteCount: UInt64 = 0
  ) throws {
    var row = try storage.zoneRow(zone)
    guard row.moveToken(to: offset, hash, of: incarnation) else { return }
    row.logBytes &+= byteCount
    storage.setZoneRow(row, zone)
    try takeFloor(of: zone, row, incarnation, at: offset)
  }
}
