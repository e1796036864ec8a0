public import OperationFormat

extension ReadTransaction {
  /// The position of the last transaction in the log; `.start` if there is none.
  public func lastPosition() throws -> Position { try tables.lastPosition(transaction) }

  /// The transaction at a position.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func entry(at position: Position) throws -> LogEntry {
    let reader = LogReader(tables, interned)
    return try reader.entry(at: position, transaction)
  }

  /// The canonical bytes of the transaction at a position: as in a segment, and as replicas compare them.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func bytes(at position: Position) throws -> [UInt8] {
    let reader = LogReader(tables, interned)
    return try reader.bytes(at: position, transaction)
  }

  /// The position of a transaction; nil if the store does not have the transaction.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func position(of id: TransactionID, in zone: ZoneID) throws -> Position? {
    let number = try tables.zoneNumber(of: zone, interned, transaction)
    guard let replica = try interned.replicas.number(of: id.replica, in: tables.replicas, transaction) else {
      return nil
    }
    return try tables.position(of: replica, id.epoch, id.sequence, in: number, transaction)
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
    let reader = LogReader(tables, interned)
    try reader.forEachPosition(after: position, in: record?.zone ?? zone, transaction) { position in
      let entry = try reader.entry(at: position, transaction)
      if let record, !entry.transaction.operations.contains(where: { $0.record == record.name }) {
        return true
      }
      return try body(entry)
    }
  }

  /// The last transaction before a position, or of the whole log; nil if there is none.
  package func entry(before position: Position?) throws -> LogEntry? {
    let reader = LogReader(tables, interned)
    let found = try reader.lastPosition(before: position, transaction)
    return try found.map { try reader.entry(at: $0, transaction) }
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if it has none, or does not have
  /// the zone.
  package func lastSequence(of replica: ReplicaID, _ epoch: UInt32, in zone: ZoneID) throws -> UInt64 {
    let found = try tables.findZone(zone, interned, transaction) { try tables.zoneRow($0, transaction) }
    guard let found, let number = try interned.replicas.number(of: replica, in: tables.replicas, transaction)
    else { return 0 }
    return try tables.lastSequence(of: number, epoch, in: found.number, transaction)
  }

  /// The pending transactions of a zone in the log's order: the store's own, and those of a log that it has
  /// imported.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what is pending; nothing is scanned.
  public func pending(in zone: ZoneID, limit: Int = .max) throws -> [LogEntry] {
    let reader = LogReader(tables, interned)
    return try reader.pending(in: zone, identity, transaction).prefix(limit).map {
      try reader.entry(at: $0, transaction)
    }
  }

  /// How many transactions of a zone are pending.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func pendingCount(in zone: ZoneID) throws -> Int {
    let (number, row) = try tables.zone(zone, interned, transaction)
    return Int(
      try tables.pendingCount(in: number, row, identity, interned, transaction))
  }

  /// The place of a transaction in the zone's present remote log; nil if it is pending.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func placement(of id: TransactionID, in zone: ZoneID) throws -> Placement? {
    let (number, row) = try tables.zone(zone, interned, transaction)
    guard let replica = try interned.replicas.number(of: id.replica, in: tables.replicas, transaction),
      let incarnation = row.token?.incarnation,
      let place = try tables.placement(
        of: replica, id.epoch, id.sequence, in: number, incarnation, transaction)
    else { return nil }
    let segment = try tables.segment(at: place.offset, in: number, incarnation, transaction)
    return Placement(
      incarnation: try interned.incarnations.identity(of: incarnation, in: tables.incarnations, transaction),
      offset: place.offset, receivedMilliseconds: segment?.receivedMilliseconds)
  }

  /// Which transactions of a zone this store wrote.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func writtenHere(in zone: ZoneID) throws -> WrittenHere {
    let (number, row) = try tables.zone(zone, interned, transaction)
    return try tables.writtenHere(in: number, row, identity, interned, transaction)
  }
}
