import OperationFormat

/// Makes a store's log from the lines of another one's export.
///
/// The store keeps its own identity; in each zone it continues the exported store's, so that what it writes
/// has seen what the other had written. What the other had not shipped is pending here: this store ships it
/// as it was, bytes and identity, before its own transactions. If the other one still does so too, both ship
/// the same.
struct LogImport {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  init(_ store: StoreTransaction) { self.store = store }

  /// Imports lines in their order, all in one commit or none.
  ///
  /// - Parameter isMoreToCome: whether the log has more lines than these.
  static func run(_ lines: [ExportedLine], isMoreToCome: Bool, _ core: StoreCore) async throws {
    try await core.perform { store in
      let log = LogImport(store)
      for line in lines { try log.importLine(line) }
      if !isMoreToCome {
        try log.checkImportedPlaces()
        try log.takeFloors()
      }
      try store.storage.meta.setImporting(isMoreToCome)
    }
    if !isMoreToCome { try await RebuildRun(core).finish() }
  }

  /// Folds zones again whose logs name floors: the lines come in the exporter's order, floors work at their places.
  private func takeFloors() throws {
    for zone in try storage.zonesWithFloors()
    where try storage.zoneRowIfThere(zone)?.status.isVisible ?? false {
      try Rebuild(store).refold(zone)
    }
  }

  private func importLine(_ line: ExportedLine) throws {
    switch line {
    case .header(let exported):
      guard try storage.lastPosition() == .start else {
        throw StoreError(
          .importInvalid, "a log can only be imported into an empty store",
          hint: "import into a new directory")
      }
      try storage.meta.setImportedIdentity(exported)
    case .policy(let type, let policy):
      try type.check("a type's name", Limits.nameBytesMax)
      try storage.meta.setPolicy(policy, of: try store.internName(type))
    case .deletion(let zone, let incarnation): try importDeletion(of: zone, incarnation)
    case .zone(let id, let attachment, let token, let base, let assets):
      try id.check()
      let (number, _) = try storage.zones.make(id)
      var row = try storage.zoneRow(number)
      row.status = attachment == .attached ? .attached : .local
      row.token = try token.map {
        ZoneRow.Token(incarnation: try incarnation($0.base), offset: $0.base.offset, hash: $0.hash)
      }
      row.base = try base.map { (try incarnation($0), $0.offset) }
      // Where it was exported while its records were behind the token, they are not here.
      row.raiseBaseToToken()
      storage.setZoneRow(row, number)
      try storage.assets.setPolicy(assets, of: number)
      try storage.flush()
    case .segment(let segment) where segment.sequences.lowerBound == 0:
      var row = SegmentRow.quarantined(segment.hash, chain: segment.chain)
      (row.isOfFirstVersion, row.isChainStated) = (segment.chain == nil, segment.isChainStated)
      try storage.segments.place(
        row, in: try storage.zones.number(of: segment.zone), try incarnation(segment.place),
        at: segment.place.offset)
    case .segment(let segment):
      let replica = try storage.replicas.makeNumber(for: segment.replica)
      var row = SegmentRow(
        replica: replica, epoch: segment.epoch, first: segment.sequences.lowerBound,
        last: segment.sequences.upperBound, hash: segment.hash,
        receivedMilliseconds: segment.receivedMilliseconds, rejection: segment.rejection,
        chain: segment.chain)
      row.limit = segment.limit
      // An export of an earlier program has no chain: it follows from the rows.
      (row.isOfFirstVersion, row.isChainStated) = (segment.chain == nil, segment.isChainStated)
      let number = try storage.zones.number(of: segment.zone)
      let incarnation = try incarnation(segment.place)
      let offset = segment.place.offset
      let closure = try storage.lanes.closure(of: replica, segment.epoch, in: number, incarnation)
      if segment.rejection != nil {
        try storage.lanes.close(replica, segment.epoch, of: number, incarnation, at: offset)
        try storage.segments.reject(row, in: number, incarnation, at: offset)
      } else if let closure, closure < offset {
        // The exporter shipped it and has not read it yet: every replica rejects it, so what it holds is
        // pending. What closed the lane comes before it: segments are exported in the log's order.
        try storage.segments.put(row, in: number, incarnation, at: offset)
      } else {
        let last = try storage.placements.lastPlaced(replica, segment.epoch, in: number, incarnation)
        guard last == 0 || row.first - 1 <= last else {
          throw Self.invalid(
            "the segment at offset \(offset) of zone “\(segment.zone)” begins at sequence \(row.first), and the "
              + "one of its lane before it ends at \(last)")
        }
        try storage.segments.place(row, in: number, incarnation, at: offset)
      }
    case .contested(let contested):
      let replica = try storage.replicas.makeNumber(for: contested.lane.replica)
      try storage.lanes.setContest(
        Lane(
          zone: try storage.zones.number(of: contested.zone), replica: replica, epoch: contested.lane.epoch),
        .byBase(from: contested.first, baseMax: contested.baseMax))
    case .limit(let limit):
      let zone = try storage.zones.number(of: limit.zone)
      let replica = try storage.replicas.makeNumber(for: limit.lane.replica)
      try storage.baseLimits.set(
        (try incarnation(limit.base), limit.base.offset),
        of: Lane(zone: zone, replica: replica, epoch: limit.lane.epoch), limit.sequences)
    case .reissued(let reissued):
      let zone = try storage.zones.number(of: reissued.zone)
      func lane(_ identity: StoreIdentity) throws -> Lane {
        Lane(
          zone: zone, replica: try storage.replicas.makeNumber(for: identity.replica), epoch: identity.epoch)
      }
      let reissue = ReissuedLane(
        former: try lane(reissued.former), first: reissued.first, count: reissued.count,
        branch: try reissued.branch.map { (try incarnation($0), $0.offset) },
        milliseconds: reissued.milliseconds)
      try storage.lanes.setReissue(reissue, of: try lane(reissued.lane))
    case .transaction(let entry):
      try importTransaction(entry)
    }
  }

  /// Leaves a zone as its deletion does where the remote does not know of it yet.
  private func importDeletion(of zone: ZoneID, _ incarnation: IncarnationID) throws {
    try zone.check()
    let found = try storage.incarnations.makeNumber(for: incarnation)
    guard try !storage.zones.isGone(found) else { return }
    guard try storage.zones.find(zone) == nil else {
      throw StoreError(
        .importInvalid, "the store has the zone “\(zone)”, which the log's store has deleted",
        hint: "import into a new directory")
    }
    let number = try storage.zones.make(zone, .attached)
    var row = try storage.zoneRow(number)
    row.token = ZoneRow.Token(incarnation: found, offset: 0, hash: .zero)
    storage.setZoneRow(row, number)
    try storage.zones.retire(zone, number, as: .deleting)
  }

  private func importTransaction(_ entry: LogEntry) throws {
    let bytes = try entry.transaction.encoded()
    var reader = ByteReader(bytes.span.bytes)
    var header = try TransactionHeader.read(from: &reader)
    header.zone = entry.transaction.zone
    let zone = try storage.zones.number(of: header.zone)
    let replica = try storage.replicas.makeNumber(for: header.replica)
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
    let numbered = try store.entryHeader(
      for: header, replica, zone,
      arrivalDelay: entry.arrivedMilliseconds &- Int64(entry.transaction.timestamp.milliseconds))
    let received = try storage.placements.leastReceived(of: replica, header.epoch, header.sequence, in: zone)
    try checkParent(of: header, zone, at: entry.position)
    try checkBase(of: numbered, at: entry.position)
    let body = bytes.span.bytes.extracting(reader.position...)
    try store.decoder.parse(body)
    var work = FoldWork()
    work.add(store.decoder, body)
    guard work.steps <= Limits.foldStepsMax else {
      throw StoreError.tooMuchWork("the transaction at position \(entry.position)", work.steps)
    }
    try store.appendParsed(numbered, body: body, receivedMilliseconds: received)
    store.clock.observe(entry.transaction.timestamp, wallMilliseconds: store.wallMilliseconds())
    let isShipped = try isPlaced(header, zone, replica)
    if !isShipped {
      try storage.lanes.adopt(replica, header.epoch, of: zone)
      try contestIfAhead(numbered)
    }
    guard try !isShipped || storage.meta.importedIdentity()?.replica == header.replica else { return }
    // The store continues the exporter's lane, or the one that the exporter continued without having written
    // since: what is in no remote log is of these alone.
    let own = try storage.replicas.makeNumber(for: identity.replica)
    try continueImported((replica, header.epoch, header.sequence), as: own, isShipped: isShipped, zone)
  }

  /// Remembers that the log does not have what a pending transaction had seen: a remote that went back, of
  /// which the file says nothing. How much of that the log has is unknown.
  private func contestIfAhead(_ header: LogEntryHeader) throws {
    guard let token = try storage.zoneRow(header.zone).token,
      let base = try storage.baseLimits.base(of: header),
      base.incarnation == token.incarnation, base.offset > token.offset
    else { return }
    let known = try storage.lanes.contest(of: header.replica, header.epoch, in: header.zone, token)
    guard known == nil else { return }
    try storage.lanes.setContest(
      Lane(zone: header.zone, replica: header.replica, epoch: header.epoch),
      .byBase(from: header.sequence, baseMax: 0))
  }

  /// Lets this store's own lane continue an imported one. A lineage is bounded: where it would be longer,
  /// what the base says must be enough.
  private func continueImported(
    _ parent: LaneParent, as own: ReplicaNumber, isShipped: Bool, _ zone: ZoneNumber
  ) throws {
    let before = try storage.lineage(of: parent.replica, parent.epoch, in: zone).count
    if before < Limits.lineageMax {
      return try storage.lanes.setParent(parent, of: own, identity.epoch, in: zone)
    }
    let base = try storage.zoneRow(zone).base
    let place = try base.flatMap {
      try storage.placements.placement(
        of: parent.replica, parent.epoch, parent.sequence, in: zone, $0.incarnation)
    }
    guard isShipped, let base, let place, place.offset <= base.offset else {
      throw StoreError(
        .importInvalid,
        "the log continues \(before) others whose transactions were never shipped, and a store continues at "
          + "most \(Limits.lineageMax)",
        hint: "sync the store that the log is of, then export its log again")
    }
    try storage.lanes.removeParent(of: own, identity.epoch, in: zone)
  }

  /// Whether a transaction is in the remote log of its zone, as far as the exporter knew.
  private func isPlaced(
    _ header: TransactionHeader, _ zone: ZoneNumber, _ replica: ReplicaNumber
  ) throws -> Bool {
    guard let incarnation = try storage.zoneRow(zone).token?.incarnation else { return false }
    return try storage.placements.lastPlaced(replica, header.epoch, in: zone, incarnation)
      >= header.sequence
  }

  /// Throws unless a transaction's parent is one that the log may have: see ``SegmentRejection/parent``.
  private func checkParent(of header: TransactionHeader, _ zone: ZoneNumber, at position: Position) throws {
    guard let parent = header.parent else { return }
    let replica = try storage.replicaNumber(of: parent.replica)
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
    func seen(_ base: BaseNumbers?) -> UInt64 {
      base.flatMap { $0.incarnation == incarnation ? $0.offset : nil } ?? 0
    }
    var least: UInt64 = 0
    if header.sequence > 1 {
      least = seen(try storage.base(of: header.replica, header.epoch, header.sequence - 1, in: zone))
    } else if let parent = header.parent, parent.sequence > 0 {
      least = seen(try storage.base(of: parent.replica, parent.epoch, parent.sequence, in: zone))
    }
    let found = seen(try storage.baseLimits.base(of: header))
    guard found >= least else {
      throw StoreError(
        .importInvalid,
        "the transaction at position \(position) has seen offset \(found), and the one before it "
          + "\(least)",
        hint: "the file was changed: export the log again")
    }
  }

  private func incarnation(_ base: Base) throws -> IncarnationNumber {
    try storage.incarnations.makeNumber(for: base.incarnation)
  }
}
