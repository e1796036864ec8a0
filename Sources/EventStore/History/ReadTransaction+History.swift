public import OperationFormat

extension ReadTransaction {
  /// The position of the last transaction in the log; `.start` if there is none.
  public func lastPosition() throws -> Position { try view.log.lastPosition() }

  /// The transaction at a position.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func entry(at position: Position) throws -> LogEntry {
    let reader = LogReader(view)
    return try reader.entry(at: position)
  }

  /// The canonical bytes of the transaction at a position: as in a segment, and as replicas compare them.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func bytes(at position: Position) throws -> [UInt8] {
    let reader = LogReader(view)
    return try reader.bytes(at: position)
  }

  /// The position of a transaction; nil if the store does not have the transaction.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func position(of id: TransactionID, in zone: ZoneID) throws -> Position? {
    let number = try view.zones.number(of: zone)
    guard let replica = try view.replicas.number(of: id.replica) else {
      return nil
    }
    return try view.log.position(of: replica, id.epoch, id.sequence, in: number)
  }

  /// Calls a closure with the log's transactions after a position, in the log's order, until it returns
  /// false.
  ///
  /// - Parameters:
  ///   - position: only transactions after this position.
  ///   - zone: only transactions of this zone. Those of other zones are not read.
  ///   - record: only transactions of its zone that have an operation on this record.
  ///   - body: gets each transaction; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the transactions of the zone after the position; without a zone, of the log.
  public func history(
    after position: Position = .start, zone: ZoneID? = nil, record: RecordID? = nil,
    _ body: (LogEntry) throws -> Bool
  ) throws {
    let reader = LogReader(view)
    try reader.forEachPosition(after: position, in: record?.zone ?? zone) { position in
      let entry = try reader.entry(at: position)
      return try entry.changes(record) ? body(entry) : true
    }
  }

  /// Calls a closure with the log's transactions before a position, the last one first, until it returns false.
  ///
  /// - Parameters:
  ///   - position: only transactions before this position; nil for all.
  ///   - zone: only transactions of this zone.
  ///   - record: only transactions of its zone that have an operation on this record.
  ///   - body: gets each transaction; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the transactions of the zone up to the end; without a zone, of the log.
  public func historyBackward(
    before position: Position? = nil, zone: ZoneID? = nil, record: RecordID? = nil,
    _ body: (LogEntry) throws -> Bool
  ) throws {
    let reader = LogReader(view)
    try reader.forEachPosition(before: position, in: record?.zone ?? zone) { position in
      let entry = try reader.entry(at: position)
      return try entry.changes(record) ? body(entry) : true
    }
  }

  /// The records that the transactions between two positions have changed, and which of their fields, by zones.
  ///
  /// - Parameters:
  ///   - first: only transactions after this position.
  ///   - last: only transactions up to this position.
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: linear in these transactions.
  public func changes(from first: Position, to last: Position) throws -> [ZoneID: Commit.Changes] {
    var zones: [ZoneID: Commit.Changes] = [:]
    let reader = LogReader(view)
    try reader.forEachPosition(after: first, in: nil) { position in
      guard position <= last else { return false }
      let transaction = try reader.entry(at: position).transaction
      zones[transaction.zone, default: Commit.Changes(records: [:])].add(
        Commit.Changes(records: transaction.changedRecords), recordsMax: .max)
      return true
    }
    return zones
  }

  /// The last position whose transaction arrived by a time, if the clock was never set back; ``Position/start`` if
  /// none did. Of what was retired it is one before the first that the store knows.
  ///
  /// - Parameter milliseconds: since 1970.
  /// - Complexity: O(log n) in the transactions.
  public func lastPosition(arrivedBy milliseconds: Int64) throws -> Position {
    let reader = LogReader(view)
    var (low, high) = (UInt64(0), try view.log.lastPosition().rawValue)
    while low < high {
      let middle = low + (high - low + 1) / 2
      // What was removed arrived as the one before.
      let shown = try reader.lastPosition(before: Position(rawValue: middle).next)
      let isEarly = try shown.map { try reader.entry(at: $0).arrivedMilliseconds <= milliseconds } ?? true
      if isEarly { low = middle } else { high = middle - 1 }
    }
    if let begin = try view.zones.lastOrigin(), begin.position > .start, low <= begin.position.rawValue,
      let arrived = begin.arrivedMilliseconds, milliseconds < arrived
    {
      return Position(rawValue: begin.position.rawValue - 1)
    }
    return Position(rawValue: low)
  }

  /// The last transaction before a position, or of the whole log; nil if there is none.
  package func entry(before position: Position?) throws -> LogEntry? {
    let reader = LogReader(view)
    let found = try reader.lastPosition(before: position)
    return try found.map { try reader.entry(at: $0) }
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if it has none, or does not have
  /// the zone.
  package func lastSequence(of replica: ReplicaID, _ epoch: UInt32, in zone: ZoneID) throws -> UInt64 {
    let found = try view.zones.find(zone)
    guard let found, let number = try view.replicas.number(of: replica)
    else { return 0 }
    return try view.lanes.lastSequence(of: number, epoch, in: found.number)
  }

  /// The pending transactions of a zone in the log's order: the store's own, and those of a log that it has
  /// imported.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what is pending; nothing is scanned.
  public func pending(in zone: ZoneID, limit: Int = .max) throws -> [LogEntry] {
    let reader = LogReader(view)
    var entries: [LogEntry] = []
    try reader.forEachPending(in: zone, identity) { position in
      guard entries.count < limit else { return false }
      entries.append(try reader.entry(at: position))
      return true
    }
    return entries
  }

  /// How many transactions of a zone are pending.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func pendingCount(in zone: ZoneID) throws -> Int {
    let (number, row) = try view.zones.visible(zone)
    return Int(
      try view.lanes.pendingCount(in: number, row, identity))
  }

  /// The place of a transaction in the zone's present remote log; nil if it is pending.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func placement(of id: TransactionID, in zone: ZoneID) throws -> Placement? {
    let (number, row) = try view.zones.visible(zone)
    guard let replica = try view.replicas.number(of: id.replica),
      let incarnation = row.token?.incarnation,
      let place = try view.placements.placement(
        of: replica, id.epoch, id.sequence, in: number, incarnation)
    else { return nil }
    let segment = try view.segments.row(at: place.offset, in: number, incarnation)
    return Placement(
      incarnation: try view.incarnations.identity(of: incarnation),
      offset: place.offset, receivedMilliseconds: segment?.receivedMilliseconds)
  }

  /// Which transaction one was before this store issued it again; nil if it did not.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func formerTransaction(of id: TransactionID, in zone: ZoneID) throws -> TransactionID? {
    let (number, _) = try view.zones.visible(zone)
    guard id.sequence > 0, let replica = try view.replicas.number(of: id.replica),
      let found = try view.lanes.reissue(of: Lane(zone: number, replica: replica, epoch: id.epoch)),
      id.sequence <= found.count
    else { return nil }
    return TransactionID(
      replica: try view.replicas.identity(of: found.former.replica), epoch: found.former.epoch,
      sequence: found.first + (id.sequence - 1))
  }

  /// Which transactions of a zone this store wrote.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func writtenHere(in zone: ZoneID) throws -> WrittenHere {
    let (number, row) = try view.zones.visible(zone)
    return try view.lanes.writtenHere(in: number, row, identity)
  }
}

extension LogEntry {
  /// Whether it has an operation on a record; true for nil.
  fileprivate func changes(_ record: RecordID?) -> Bool {
    guard let record else { return true }
    return transaction.operations.contains { $0.record == record.name }
  }
}

extension ReadTransaction {
  /// The last position of the log of which a zone's history was retired; nil if the store has all of it.
  package func retiredThrough(of zone: ZoneID) throws -> Position? {
    let zones = readView.zones
    return try zones.origin(of: zones.number(of: zone))?.position
  }
}
