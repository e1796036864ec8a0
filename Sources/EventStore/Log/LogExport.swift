import LMDB
package import OperationFormat

/// One line of an exported log: all that a store needs to be made anew from it, in the order in which it is
/// exported.
package enum ExportedLine: Hashable, Sendable {
  /// Which store it was.
  case header(StoreIdentity)
  case policy(type: Name, ExistencePolicy)
  case zone(ZoneID, ZoneAttachment, token: ExportedToken?, base: Base?)
  case segment(ExportedSegment)
  case contested(ExportedContest)
  case transaction(LogEntry)
}

/// A zone's token with the hash of the segment it lies on.
package struct ExportedToken: Hashable, Sendable {
  package var base: Base
  package var hash: ContentHash

  package init(base: Base, hash: ContentHash) {
    self.base = base
    self.hash = hash
  }
}

/// A segment of a remote log that a store has folded or shipped. One whose sequences are 0 to 0 stands for an entry that
/// was given up, and the hash is its tombstone's.
package struct ExportedSegment: Hashable, Sendable {
  package var zone: ZoneID
  package var place: Base
  package var replica: ReplicaID
  package var epoch: UInt32
  package var sequences: ClosedRange<UInt64>
  package var hash: ContentHash
  package var receivedMilliseconds: UInt64?
  /// Why every replica rejects it; nil for one that was folded.
  package var rejection: SegmentRejection?

  package init(
    zone: ZoneID, place: Base, replica: ReplicaID, epoch: UInt32, sequences: ClosedRange<UInt64>,
    hash: ContentHash, receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil
  ) {
    self.zone = zone
    self.place = place
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.rejection = rejection
  }
}

/// A lane that a store was to ship for another one, and that had seen what the zone's log has lost since.
package struct ExportedContest: Hashable, Sendable {
  package var zone: ZoneID
  package var lane: StoreIdentity
  /// Its first transaction that cannot be shipped.
  package var first: UInt64
  /// The last offset that those from there on had seen and that the log still has; 0 for none.
  package var baseMax: UInt64

  package init(zone: ZoneID, lane: StoreIdentity, first: UInt64, baseMax: UInt64) {
    self.zone = zone
    self.lane = lane
    self.first = first
    self.baseMax = baseMax
  }
}

extension ReadTransaction {
  /// Calls a closure with the lines of the store's log, until it returns false: identity, policies, zones,
  /// segments, lanes that had seen what a log has lost, then the transactions in the log's order.
  ///
  /// - Throws: ``StoreError`` `rereading` while a zone's remote log is being read again: whose the transactions without a place
  ///   are, and what takes their place, shows at its end. `damaged`, and what the closure throws.
  package func forEachExportedLine(_ body: (ExportedLine) throws -> Bool) throws {
    let zones = try tables.zones(transaction)
    for (number, id) in zones where try tables.rereading(of: number, transaction) != nil {
      throw StoreError(
        .rereading,
        "the log of zone “\(id)” is being read again: what is pending is not known before that ends",
        hint: "run `replay sync` until the zone is in sync, and export then")
    }
    guard try body(.header(identity)) else { return }
    for (type, policy) in try tables.policies(transaction).sorted(by: { $0.key < $1.key }) {
      guard try body(.policy(type: try snapshot.name(type), policy)) else { return }
    }
    for (number, id) in zones {
      guard let row = try tables.zoneRow(number, transaction) else { continue }
      let base = try row.base.map { try self.base($0.incarnation, $0.offset) }
      let token = try row.token.map {
        ExportedToken(base: try self.base($0.incarnation, $0.offset), hash: $0.hash)
      }
      let attachment: ZoneAttachment = row.status == .attached ? .attached : .local
      guard try body(.zone(id, attachment, token: token, base: base)) else { return }
    }
    guard try forEachSegment(zones, body), try forEachContest(zones, body) else { return }
    try history { try body(.transaction($0)) }
  }

  private func base(_ incarnation: IncarnationNumber, _ offset: UInt64) throws -> Base {
    Base(
      incarnation: try interned.incarnations.identity(of: incarnation, in: tables.incarnations, transaction),
      offset: offset)
  }

  private func forEachSegment(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    let numbers = Set(zones.map(\.number))
    var cursor = try transaction.openCursor(tables.segments)
    var isThere = try cursor.first()
    while isThere {
      let goesOn = try cursor.withCheckedEntry { key, value in
        let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 0))
        guard numbers.contains(zone) else { return true }
        let row = try SegmentRow(value)
        return try body(
          .segment(
            ExportedSegment(
              zone: try interned.zones.identity(of: zone, in: tables.zones, transaction),
              place: try base(
                IncarnationNumber(rawValue: try key.bigEndian32(at: 4)), try key.bigEndian64(at: 8)),
              replica: row.isQuarantined
                ? ReplicaID(rawValue: 0)
                : try interned.replicas.identity(of: row.replica, in: tables.replicas, transaction),
              epoch: row.epoch, sequences: row.first...max(row.first, row.last), hash: row.hash,
              receivedMilliseconds: row.receivedMilliseconds, rejection: row.rejection)))
      }
      guard goesOn else { return false }
      isThere = try cursor.next()
    }
    return true
  }
}

extension ReadTransaction {
  /// Another branch of a lane is met again where the log is read on: only what had seen too much is told of.
  private func forEachContest(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      guard let token = try tables.zoneRow(number, transaction)?.token else { continue }
      for (replica, epoch) in try tables.adoptedLanes(of: number, transaction) {
        let contested = try tables.contest(of: replica, epoch, in: number, token, transaction)
        guard let contested, contested.isByBase else { continue }
        let lane = StoreIdentity(
          replica: try interned.replicas.identity(of: replica, in: tables.replicas, transaction), epoch: epoch
        )
        let line = ExportedContest(zone: id, lane: lane, first: contested.first, baseMax: contested.baseMax)
        guard try body(.contested(line)) else { return false }
      }
    }
    return true
  }
}

extension LocalStore {
  /// Makes the store's log from exported lines, in their order. May be called again with more lines: until the last of them are
  /// there, nobody else opens the store, and neither does this process once it has closed it.
  ///
  /// The store keeps its own identity; in each zone it continues the exported store's, so that what it writes has
  /// seen what the other had written. What the other had not shipped is pending here: this store ships it as it was, bytes
  /// and identity, before anything of its own. If the other one still does so too, both ship the same.
  ///
  /// - Parameter isMoreToCome: whether the log has more lines than these.
  /// - Throws: ``StoreError`` `importInvalid`, `outOfOrder`, `damaged`; then nothing of the lines is in the store.
  package func importLines(_ lines: [ExportedLine], isMoreToCome: Bool = false) async throws {
    try await perform(isRepeatable: true) { batch in
      for line in lines { try batch.importLine(line) }
      try batch.storage.setImporting(isMoreToCome)
    }
  }
}

extension WriteBatch {
  fileprivate func importLine(_ line: ExportedLine) throws {
    let tables = storage.tables
    switch line {
    case .header(let exported):
      guard try storage.lastPosition() == .start else {
        throw StoreError(
          .importInvalid, "a log can only be imported into an empty store",
          hint: "import into a new directory")
      }
      try storage.setImportedIdentity(exported)
    case .policy(let type, let policy):
      try WriteTransaction.check(type, "a type's name", Limits.nameBytesMax)
      try storage.setPolicy(policy, of: try internName(type))
    case .zone(let id, let attachment, let token, let base):
      try WriteTransaction.check(id)
      let (number, _) = try storage.makeZone(id)
      var row = try storage.zoneRow(number)
      row.status = attachment == .attached ? .attached : .local
      row.token = try token.map {
        ZoneRow.Token(incarnation: try incarnation($0.base), offset: $0.base.offset, hash: $0.hash)
      }
      row.base = try base.map { (try incarnation($0), $0.offset) }
      // Where it was exported while its records were behind the token, they are not here.
      row.raiseBaseToToken()
      storage.setZoneRow(row, number)
      try storage.flush()
    case .segment(let segment) where segment.sequences.lowerBound == 0:
      try storage.place(
        .quarantined(segment.hash), in: try zoneNumber(segment.zone), try incarnation(segment.place),
        at: segment.place.offset)
    case .segment(let segment):
      let replica = try storage.interned.replicas.makeNumber(
        for: segment.replica, in: tables.replicas, storage.transaction)
      let row = SegmentRow(
        replica: replica, epoch: segment.epoch, first: segment.sequences.lowerBound,
        last: segment.sequences.upperBound, hash: segment.hash,
        receivedMilliseconds: segment.receivedMilliseconds, rejection: segment.rejection)
      let number = try zoneNumber(segment.zone)
      let incarnation = try incarnation(segment.place)
      let offset = segment.place.offset
      let closure = try tables.closure(
        of: replica, segment.epoch, in: number, incarnation, storage.transaction)
      if segment.rejection != nil {
        try storage.closeLane(replica, segment.epoch, of: number, incarnation, at: offset)
        try storage.reject(row, in: number, incarnation, at: offset)
      } else if let closure, closure < offset {
        // The exporter shipped it and has not read it yet: every replica rejects it, so what it holds is pending. What closed the
        // lane comes before it: segments are exported in the log's order.
        try storage.write(row, in: number, incarnation, at: offset)
      } else {
        try storage.place(row, in: number, incarnation, at: offset)
      }
    case .contested(let contested):
      let replica = try storage.interned.replicas.makeNumber(
        for: contested.lane.replica, in: tables.replicas, storage.transaction)
      try storage.contest(
        Lane(zone: try zoneNumber(contested.zone), replica: replica, epoch: contested.lane.epoch),
        .byBase(from: contested.first, baseMax: contested.baseMax))
    case .transaction(let entry):
      try importTransaction(entry)
    }
  }

  private func importTransaction(_ entry: LogEntry) throws {
    let bytes = try entry.transaction.encoded()
    var reader = ByteReader(bytes.span.bytes)
    let header = try TransactionHeader.read(from: &reader)
    let zone = try zoneNumber(header.zone)
    let replica = try storage.interned.replicas.makeNumber(
      for: header.replica, in: storage.tables.replicas, storage.transaction)
    guard header.replica != identity.replica else {
      throw StoreError(
        .importInvalid, "the log at position \(entry.position) is this store's own",
        hint: "import into a new directory")
    }
    guard try storage.lastSequence(of: replica, header.epoch, in: zone) + 1 == header.sequence else {
      throw StoreError(
        .outOfOrder,
        "sequence \(header.sequence) at position \(entry.position) does not follow the one before",
        hint: "the file is incomplete, or its lines are in another order")
    }
    let numbered = try number(
      header, replica, zone,
      arrivalDelay: entry.arrivedMilliseconds &- Int64(entry.transaction.timestamp.milliseconds))
    let received = try storage.tables.leastReceived(
      of: replica, header.epoch, header.sequence, in: zone, storage.transaction)
    try checkParent(of: header, zone, at: entry.position)
    try checkBase(of: numbered, at: entry.position)
    let body = bytes.span.bytes.extracting(reader.position...)
    try layout.parse(body)
    var work = FoldWork()
    work.add(layout, body)
    guard work.steps <= Limits.foldStepsMax else {
      throw StoreError.tooMuchWork("the transaction at position \(entry.position)", work.steps)
    }
    try appendParsed(numbered, body: body, receivedMilliseconds: received)
    clock.observe(entry.transaction.timestamp, wallMilliseconds: wallMilliseconds())
    let isShipped = try isPlaced(header, zone, replica)
    if !isShipped {
      try storage.adoptLane(replica, header.epoch, of: zone)
      try contestIfAhead(numbered)
    }
    guard try !isShipped || storage.importedIdentity()?.replica == header.replica else { return }
    // The store continues the exporter's lane, or the one that the exporter continued without having written since: what
    // lies in no remote log is of these alone.
    let own = try storage.interned.replicas.makeNumber(
      for: identity.replica, in: storage.tables.replicas, storage.transaction)
    try continueImported((replica, header.epoch, header.sequence), as: own, isShipped: isShipped, zone)
  }

  /// Remembers that the log does not have what a pending transaction had seen: a remote that went back, of which the file says nothing.
  /// How much of that the log has, nobody knows any more.
  private func contestIfAhead(_ header: LogEntryHeader) throws {
    guard let token = try storage.zoneRow(header.zone).token, let base = header.base,
      base.incarnation == token.incarnation, base.offset > token.offset
    else { return }
    let known = try storage.tables.contest(
      of: header.replica, header.epoch, in: header.zone, token, storage.transaction)
    guard known == nil else { return }
    try storage.contest(
      Lane(zone: header.zone, replica: header.replica, epoch: header.epoch),
      .byBase(from: header.sequence, baseMax: 0))
  }

  /// Lets this store's own lane continue an imported one. A lineage is bounded: where it would be longer, what the base says
  /// must be enough.
  private func continueImported(
    _ parent: LaneParent, as own: ReplicaNumber, isShipped: Bool, _ zone: ZoneNumber
  ) throws {
    let before = try storage.lineage(of: parent.replica, parent.epoch, in: zone).count
    if before < Limits.lineageMax {
      return try storage.setParent(parent, of: own, identity.epoch, in: zone)
    }
    let base = try storage.zoneRow(zone).base
    let place = try base.flatMap {
      try storage.tables.placement(
        of: parent.replica, parent.epoch, parent.sequence, in: zone, $0.incarnation, storage.transaction)
    }
    guard isShipped, let base, let place, place.offset <= base.offset else {
      throw StoreError(
        .importInvalid,
        "the log continues \(before) others whose transactions were never shipped, and a store continues at most "
          + "\(Limits.lineageMax)",
        hint: "sync the store that the log is of, then export its log again")
    }
    try storage.removeParent(of: own, identity.epoch, in: zone)
  }

  /// Whether a transaction lies in the remote log of its zone, as far as the exporter knew.
  private func isPlaced(
    _ header: TransactionHeader, _ zone: ZoneNumber, _ replica: ReplicaNumber
  ) throws -> Bool {
    guard let incarnation = try storage.zoneRow(zone).token?.incarnation else { return false }
    return try storage.tables.lastPlaced(replica, header.epoch, in: zone, incarnation, storage.transaction)
      >= header.sequence
  }

  /// Throws unless a transaction's parent is one that the log may have: see ``SegmentRejection/parent``.
  private func checkParent(of header: TransactionHeader, _ zone: ZoneNumber, at position: Position) throws {
    guard let parent = header.parent else { return }
    let replica = try storage.interned.replicas.number(
      of: parent.replica, in: storage.tables.replicas, storage.transaction)
    let last = try replica.map { try storage.lastSequence(of: $0, parent.epoch, in: zone) } ?? 0
    let isAnother = parent.replica != header.replica || parent.epoch != header.epoch
    guard header.sequence == 1, isAnother, parent.sequence <= last else {
      throw StoreError(
        .importInvalid,
        "the transaction at position \(position) names \(parent) as its parent, which it cannot",
        hint: "the file was changed: export the log again")
    }
  }

  /// Throws unless a transaction has seen what the one before it in its lane had seen, and its parent: see
  /// ``SegmentRejection/base``.
  private func checkBase(of header: LogEntryHeader, at position: Position) throws {
    let (zone, incarnation) = (header.zone, try storage.zoneRow(header.zone).token?.incarnation)
    func seen(_ base: (incarnation: IncarnationNumber, offset: UInt64)?) -> UInt64 {
      base.flatMap { $0.incarnation == incarnation ? $0.offset : nil } ?? 0
    }
    var least: UInt64 = 0
    if header.sequence > 1 {
      least = seen(try storage.base(of: header.replica, header.epoch, header.sequence - 1, in: zone))
    } else if let parent = header.parent, parent.sequence > 0 {
      least = seen(try storage.base(of: parent.replica, parent.epoch, parent.sequence, in: zone))
    }
    guard seen(header.base) >= least else {
      throw StoreError(
        .importInvalid,
        "the transaction at position \(position) has seen offset \(seen(header.base)), and the one before it \(least)",
        hint: "the file was changed: export the log again")
    }
  }

  private func incarnation(_ base: Base) throws -> IncarnationNumber {
    try storage.interned.incarnations.makeNumber(
      for: base.incarnation, in: storage.tables.incarnations, storage.transaction)
  }

  private func zoneNumber(_ zone: ZoneID) throws -> ZoneNumber {
    try storage.zone(zone).number
  }
}
