import LMDB
import OperationFormat

/// The part of a zone's remote log before an offset. What a segment at that offset may say depends only on
/// it.
struct LogPrefix {
  var zone: ZoneNumber
  var incarnation: IncarnationNumber
  /// The first offset that is not in it.
  var end: UInt64
}

/// The writer of a segment, in numbers, and the first of its sequences.
struct SegmentLane {
  var id: StoreIdentity
  var number: ReplicaNumber
  var first: UInt64

  var epoch: UInt32 { id.epoch }
}

/// The rules that every segment of a log must keep. Every replica rejects a segment that breaks one, so each
/// check looks only at the log before the segment.
struct SegmentRules {
  let storage: TableStorage

  init(_ storage: TableStorage) { self.storage = storage }

  /// Throws unless a segment's offset is known, or the next one.
  func checkFollows(_ segment: RemoteSegment, _ row: ZoneRow) throws {
    let last = row.token?.offset ?? 0
    guard segment.offset > 0, segment.offset - 1 <= last else {
      throw StoreError(
        .outOfOrder, "offset \(segment.offset) of zone “\(segment.zone)” does not follow \(last)",
        hint: "fetch the segments in between first")
    }
  }

  /// The writer of a segment, as its first transaction says.
  func lane(of segment: RemoteSegment) throws -> SegmentLane {
    guard let first = segment.transactions.first else {
      throw segment.invalid(.content, .mismatch, "it is empty")
    }
    let header = try segment.parsing {
      var reader = ByteReader(first.span.bytes)
      return try TransactionHeader.read(from: &reader)
    }
    let number = try storage.replicas.makeNumber(for: header.replica)
    return SegmentLane(
      id: StoreIdentity(replica: header.replica, epoch: header.epoch), number: number, first: header.sequence)
  }

  /// Whether a part of the log has a lane up to a sequence, 0 for its beginning.
  func has(_ sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ log: LogPrefix) throws -> Bool {
    if sequence == 0 { return true }
    let place = try storage.placements.placement(of: replica, epoch, sequence, in: log.zone, log.incarnation)
    return place.map { $0.offset < log.end } ?? false
  }

  /// The floor that counts in a part of the log: nothing at or below it is checked entry by entry, since a store that began
  /// with a snapshot does not have it. Each check that goes by it says what counts instead.
  private func floor(_ log: LogPrefix) throws -> UInt64 {
    try storage.lanes.countedFloor(of: log.zone, log.incarnation, before: log.end)
  }

  /// Whether a transaction has its place at or below the floor of a part of the log.
  func isBelowFloor(
    _ sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ log: LogPrefix
  ) throws -> Bool {
    let floor = try floor(log)
    guard floor > 0 else { return false }
    let place = try storage.placements.placement(of: replica, epoch, sequence, in: log.zone, log.incarnation)
    return place.map { $0.offset <= floor } ?? false
  }

  /// The last sequence of a lane in a part of the log.
  ///
  /// - Complexity: linear in the segments of the lane behind that part. ``has(_:of:_:_:)`` needs one look.
  private func placed(_ replica: ReplicaNumber, _ epoch: UInt32, _ log: LogPrefix) throws -> UInt64 {
    try storage.placements.lastPlaced(replica, epoch, in: log.zone, log.incarnation, before: log.end)
  }

  /// Throws unless the header of a segment fits the log before it.
  func checkFit(of segment: RemoteSegment, _ lane: SegmentLane, _ log: LogPrefix) throws {
    try checkIsOpen(lane, log, segment)
    try checkBase(of: segment, log)
    try checkFollowsWriter(lane, log, segment)
    if let previous = segment.previousHash { try check(previous, before: lane, log, in: segment) }
  }

  private func checkIsOpen(_ lane: SegmentLane, _ log: LogPrefix, _ segment: RemoteSegment) throws {
    let closure = try storage.lanes.closure(of: lane.number, lane.epoch, in: log.zone, log.incarnation)
    guard let closure, closure < segment.offset else { return }
    throw segment.invalid(.laneClosed, .mismatch, "its writer's lane was closed at offset \(closure)")
  }

  /// The log that it says it has seen must be the one that is there.
  private func checkBase(of segment: RemoteSegment, _ log: LogPrefix) throws {
    guard segment.base > 0, let expected = segment.baseProof else { return }
    // At or below the floor any log counts as the one that was seen.
    if segment.base < segment.offset, try segment.base <= floor(log) { return }
    let found = try storage.segments.row(at: segment.base, in: log.zone, log.incarnation)
    // A writer that had seen what was given up since names that.
    if let found, found.isQuarantined, segment.base < segment.offset { return }
    let proof =
      segment.version == 1
      ? found?.hash : try storage.segments.chain(at: segment.base, in: log.zone, log.incarnation)?.hash
    // One that had seen what was given up since may have another chain, as long as no entry states it.
    guard segment.base < segment.offset, found != nil,
      try proof ?? expected == expected || followsTombstone(segment.base + 1, log)
    else {
      throw segment.invalid(
        .base, .mismatch,
        "its writer had seen another log up to offset \(segment.base): its header is false, or the remote "
          + "shows each store another log")
    }
  }

  /// The hash of a segment's statement. A segment that does not say it counts as one of an earlier program.
  private func statement(of segment: RemoteSegment) throws -> ContentHash {
    if let said = segment.statement { return said }
    let writer = try segment.writer ?? lane(of: segment).id
    var sequences = segment.sequences
    if segment.saidSequences == nil, case let first = try lane(of: segment).first {
      let (last, overflow) = first.addingReportingOverflow(UInt64(max(segment.transactions.count, 1) - 1))
      sequences = first...(overflow ? .max : last)
    }
    return SegmentStatement(
      firstVersion: segment.incarnation, writer.replica, writer.epoch, sequences, segment.hash
    ).hash
  }

  /// The log's chain at a segment, and whether the segment continues the log.
  func link(of segment: RemoteSegment, _ log: LogPrefix) throws -> ChainLink {
    let before = try storage.segments.completeChain(upTo: segment.offset - 1, in: log.zone, log.incarnation)
    var link = ChainLink(
      try statement(of: segment), at: segment.offset, stated: segment.statedChain, after: before)
    if !link.continues, try followsTombstone(segment.offset, log) { link.adopt(segment.statedChain) }
    return link
  }

  /// Whether an entry was given up since the remote last stated a chain before an offset.
  private func followsTombstone(_ offset: UInt64, _ log: LogPrefix) throws -> Bool {
    let last = offset - 1
    var (first, found) = (last, false)
    // At or below the floor none counts as given up.
    let floor = try floor(log)
    while first > floor {
      // Segments that are rejected together may all ask for the same long part of a log.
      if let known = storage.state.lookBack, known.floor == floor,
        known.contains(first, of: log.zone, log.incarnation)
      {
        (first, found) = (known.offsets.lowerBound, known.found)
        break
      }
      guard let row = try storage.segments.row(at: first, in: log.zone, log.incarnation) else { break }
      storage.note(touchedRows: 1)
      found = row.isQuarantined
      if found || row.isChainStated { break }
      first -= 1
    }
    if last > first {
      storage.state.lookBack = LookBack(
        zone: log.zone, incarnation: log.incarnation, offsets: max(first, floor + 1)...last, floor: floor,
        found: found)
    }
    return found
  }

  /// The log's chain at a segment; nil if that cannot be known.
  func chain(of segment: RemoteSegment, _ log: LogPrefix) throws -> LogChain? {
    let link = try link(of: segment, log)
    guard link.continues else {
      throw segment.invalid(
        .chain, .mismatch,
        "it does not continue the log that is before it: the remote was changed by hand, was "
          + "put together from two copies, or shows each store another log")
    }
    return link.chain
  }

  /// The log may lack transactions that this store has: a pending one that the log passes over would count as
  /// shipped.
  private func checkFollowsWriter(_ lane: SegmentLane, _ log: LogPrefix, _ segment: RemoteSegment) throws {
    guard try has(lane.first - 1, of: lane.number, lane.epoch, log) else {
      let placed = try placed(lane.number, lane.epoch, log)
      throw segment.invalid(
        .hole, .outOfOrder,
        "sequence \(lane.first) of replica \(lane.id.replica) does not follow \(placed)")
    }
  }

  /// Up to where of the log a transaction in it had seen the log. A base of another incarnation is none here.
  private func seen(
    by sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ log: LogPrefix
  ) throws -> UInt64 {
    guard sequence > 0 else { return 0 }
    guard let base = try storage.base(of: replica, epoch, sequence, in: log.zone) else { return 0 }
    return base.incarnation == log.incarnation ? base.offset : 0
  }

  /// The same for a parent. One at or below the floor counts as having seen nothing.
  private func seen(by parent: TransactionID, _ log: LogPrefix) throws -> UInt64 {
    guard let replica = try storage.replicaNumber(of: parent.replica),
      try has(parent.sequence, of: replica, parent.epoch, log),
      try !isBelowFloor(parent.sequence, of: replica, parent.epoch, log)
    else { return 0 }
    return try seen(by: parent.sequence, of: replica, parent.epoch, log)
  }

  /// Up to where of the log the transaction before a segment had seen the log.
  func seenBefore(_ lane: SegmentLane, _ log: LogPrefix) throws -> UInt64 {
    try seen(by: lane.first - 1, of: lane.number, lane.epoch, log)
  }

  /// - Parameter seen: up to where of the log the transaction before it had seen the log, and then this one.
  func check(
    _ header: TransactionHeader, in segment: RemoteSegment, _ lane: SegmentLane, _ sequence: UInt64,
    _ log: LogPrefix, _ seen: inout UInt64
  ) throws {
    func mismatch(_ what: String, _ reason: SegmentRejection = .content) -> StoreError {
      segment.invalid(reason, .mismatch, "its transaction \(header.id) \(what)")
    }
    guard header.zone == segment.zone else { throw mismatch("is of zone “\(header.zone)”") }
    guard header.replica == lane.id.replica, header.epoch == lane.epoch else {
      throw mismatch("is not of its replica")
    }
    guard header.sequence == sequence else { throw mismatch("is not sequence \(sequence)") }
    guard sequence < .max else { throw mismatch("is the last there can be") }
    // What the log has before says what it had seen. Its bytes are compared.
    if try has(sequence, of: lane.number, lane.epoch, log) {
      seen = try max(seen, self.seen(by: sequence, of: lane.number, lane.epoch, log))
      return
    }
    let before = seen
    seen = header.base.map { $0.incarnation == segment.incarnation ? $0.offset : 0 } ?? 0
    if let limit = segment.limit {
      // What the lane, or its parent, had seen of the log as it is now, it has seen too.
      let inherited = try max(before, header.parent.map { try self.seen(by: $0, log) } ?? 0)
      seen = min(seen, max(limit, inherited))
    }
    guard seen < segment.offset else { throw mismatch("claims to have seen offset \(seen)", .base) }
    // A transaction that has seen another has seen all that the other had seen.
    guard seen >= before else {
      throw mismatch("has seen offset \(seen), and the one before it \(before)", .base)
    }
    guard let parent = header.parent else { return }
    guard header.sequence == 1 else { throw mismatch("names a parent, and is not its lane's first", .parent) }
    guard parent.replica != header.replica || parent.epoch != header.epoch else {
      throw mismatch("names its own lane as its parent", .parent)
    }
    let replica = try storage.replicaNumber(of: parent.replica)
    guard let replica, try has(parent.sequence, of: replica, parent.epoch, log) else {
      let placed = try replica.map { try self.placed($0, parent.epoch, log) } ?? 0
      throw mismatch(
        "names \(parent) as its parent, and the log before it has \(placed) of that lane", .parent)
    }
    guard try storage.lineage(of: replica, parent.epoch, in: log.zone).count < Limits.lineageMax else {
      throw mismatch("continues more than \(Limits.lineageMax) lanes", .parent)
    }
    let seenByParent = try self.seen(by: parent, log)
    guard seen >= seenByParent else {
      throw mismatch("has seen offset \(seen), and its parent \(seenByParent)", .base)
    }
  }

  /// Checks the hash that a segment gives for its writer's segment before it. It can be checked only where
  /// that is one whole segment, and above the floor.
  private func check(
    _ previous: ContentHash, before lane: SegmentLane, _ log: LogPrefix, in segment: RemoteSegment
  ) throws {
    guard lane.first > 1,
      let place = try storage.placements.placement(
        of: lane.number, lane.epoch, lane.first - 1, in: log.zone, log.incarnation),
      place.offset < log.end, try place.offset > floor(log),
      let row = try storage.segments.row(at: place.offset, in: log.zone, log.incarnation),
      row.first == place.first, row.last == place.last, place.last == lane.first - 1
    else { return }
    guard row.hash == previous else {
      throw segment.invalid(
        .previous, .mismatch, "its writer's segment before it is another than at offset \(place.offset)")
    }
  }
}

extension RemoteSegment {
  /// A segment that this store has shipped, for the rules: its transactions are in the log.
  init(_ acknowledgement: Acknowledgement, _ writer: StoreIdentity) {
    let header = acknowledgement.header
    self.init(
      zone: acknowledgement.zone, incarnation: acknowledgement.incarnation, offset: acknowledgement.offset,
      hash: acknowledgement.hash, receivedMilliseconds: acknowledgement.receivedMilliseconds,
      base: header?.base ?? 0, baseProof: header?.baseProof,
      version: header?.version ?? SegmentHeader.newestVersion, previousHash: header?.previousHash,
      transactions: [])
    self.writer = writer
    statement = header?.statement.hash
    statedChain = acknowledgement.statedChain
    saidSequences = acknowledgement.sequences
    limit = header?.limit
  }

  /// The sequences that it says it has.
  var sequences: ClosedRange<UInt64> {
    if let said = saidSequences { return said }
    return 1...max(1, UInt64(transactions.count))
  }

  func invalid(_ reason: SegmentRejection, _ code: StoreError.Code, _ what: String) -> StoreError {
    .rejected(reason, code, "the segment at offset \(offset) of zone “\(zone)” is invalid: \(what)")
  }

  /// Runs what parses its bytes. A malformed one is malformed for everyone; what a later version may
  /// understand is not.
  func parsing<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as FormatError where error.code != .newerFormat {
      throw invalid(.content, .damaged, "\(error)")
    }
  }
}
