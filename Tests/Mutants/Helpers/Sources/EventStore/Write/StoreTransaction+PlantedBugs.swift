import OperationFormat

/// Longer code of planted bugs in a write.
extension StoreTransaction {
  /// Folds a body's operations cell by cell.
  func foldInDictionaryOrder(_ body: RawSpan, into state: StateNumber) throws {
    var decoder = BodyDecoder()
    try decoder.parse(body)
    func number(_ index: Int) throws -> NameNumber {
      try internName(try Name(utf8: body.extracting(decoder.names[index])))
    }
    let known = decoder.operations.enumerated().filter { $0.element.record >= 0 }
    for operations in Dictionary(grouping: known, by: { [$0.element.record, $0.element.field] }).values {
      for (offset, operation) in operations {
        let index = UInt32(offset)
        let record = body.extracting(decoder.names[operation.record])
        switch operation.kind {
        case .create, .moveHere:
          try fold.create(record, in: state, type: try number(operation.type), index: index)
        case .delete, .moveAway:
          try fold.delete(record, in: state, movedTo: body.extracting(operation.operand), index: index)
        default:
          let type = try number(operation.type)
          let field = try number(operation.field)
          try fold.change(
            operation.kind, field, of: record, in: state, type: type,
            operand: body.extracting(operation.operand), index: index)
        }
      }
    }
  }

  /// Folds an entry of the log again.
  func foldAgain(_ entry: (header: LogEntryHeader, body: [UInt8])) throws {
    let state = try storage.zoneRow(entry.header.zone).state
    let body = entry.body.span
    try foldEntry(entry.header, body: body.bytes, into: state, receivedMilliseconds: nil)
  }

  /// Raises a zone's base.
  func moveBase(to offset: UInt64, of incarnation: IncarnationNumber, _ zone: ZoneNumber) throws {
    var row = try storage.zoneRow(zone)
    guard row.base?.incarnation != incarnation || row.base!.offset < offset else { return }
    row.base = (incarnation, offset)
    storage.setZoneRow(row, zone)
  }

  /// Moves a zone's token and base past a segment, even if it was not folded.
  func moveToken(to offset: UInt64, _ hash: ContentHash, of incarnation: IncarnationID, _ zone: ZoneID)
    throws
  {
    let (number, known) = try storage.zones.visible(zone)
    let found = try storage.incarnations.makeNumber(for: incarnation)
    var row = known
    guard row.token.map({ $0.incarnation == found && $0.offset < offset }) ?? true else { return }
    row.token = ZoneRow.Token(incarnation: found, offset: offset, hash: hash)
    row.base = (found, offset)
    storage.setZoneRow(row, number)
  }

  /// Records a segment as if it had been folded.
  func skip(_ header: SegmentHeader, at offset: UInt64) throws {
    let (zone, _) = try storage.zones.visible(header.zone)
    let incarnation = try storage.incarnations.makeNumber(for: header.incarnation)
    let replica = try storage.replicas.makeNumber(for: header.replica)
    guard try storage.segments.row(at: offset, in: zone, incarnation) == nil else { return }
    try storage.segments.place(
      SegmentRow(
        replica: replica, epoch: header.epoch, first: header.sequences.lowerBound,
        last: header.sequences.upperBound, hash: header.contentHash, receivedMilliseconds: nil),
      in: zone, incarnation, at: offset)
    try moveToken(to: offset, header.contentHash, of: header.incarnation, header.zone)
  }

  /// Counts all own transactions of a zone, or up to one, as sent, at an offset without an entry.
  func forgetPending(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, through last: UInt64? = nil
  ) throws {
    let tables = storage.tables
    let replica = try storage.replicas.makeNumber(for: identity.replica)
    let epoch = try storage.zoneRow(zone).ownEpoch(identity)
    let first = try storage.placements.lastPlaced(replica, epoch, in: zone, incarnation) + 1
    let last = try last ?? storage.lastSequence(of: replica, epoch, in: zone)
    guard first <= last else { return }
    try storage.putChecked(
      .placement(zone, incarnation, replica, epoch, last: last), in: tables.placements
    ) {
      $0.append(varint: first)
      $0.append(varint: 0)
    }
  }

  /// Gives a zone that has data in one incarnation the next one.
  ///
  /// - Returns: whether a bug has done that.
  func takeOver(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    var row = try storage.zoneRow(zone)
    guard row.status == .attached, let token = row.token, token.incarnation != incarnation,
      token.offset > 0
    else { return false }
    if PlantedBug.tokenWithoutIncarnation.isPlanted {
      row.token = ZoneRow.Token(incarnation: incarnation, offset: token.offset, hash: token.hash)
    } else if PlantedBug.recreatedZoneMerged.isPlanted || PlantedBug.resurrectionOnShip.isPlanted {
      row.token = ZoneRow.Token(incarnation: incarnation, offset: 0, hash: .zero)
    } else {
      return false
    }
    storage.setZoneRow(row, zone)
    try storage.flush()
    return true
  }
}

extension TableStorage {
  /// Whether the log has an entry at a position.
  func hasEntry(at position: Position) throws -> Bool {
    let last = try log.lastPosition()
    guard position <= last else { return false }
    return try log.removedRun(at: position) == nil
  }
}
