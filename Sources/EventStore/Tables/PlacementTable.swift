import LMDB
import OperationFormat

/// The rows of placements: the first offset of each run of a lane's sequences in a remote log.
struct PlacementTable<Source: TableReading>: TableView {
  let source: Source

  /// The placement of a sequence in an incarnation of a zone's remote log, with the run of sequences that it
  /// is of.
  func placement(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> (first: UInt64, last: UInt64, offset: UInt64)? {
    let key = TableKey.placement(zone, incarnation, replica, epoch, last: sequence)
    var cursor = try transaction.openCursor(tables.placements)
    guard try cursor.seek(atOrAfter: key.span) else { return nil }
    return try cursor.withCheckedEntry { found, row in
      for offset in stride(from: 0, to: 16, by: 4)
      where try found.bigEndian32(at: offset) != key.span.bigEndian32(at: offset) {
        return nil
      }
      var reader = ByteReader(row)
      let first = try reader.readVarint("row")
      let offset = try reader.readVarint("row")
      let last = try found.bigEndian64(at: 16)
      return first <= sequence && sequence <= last ? (first, last, offset) : nil
    }
  }

  /// The last sequence of a lane with a placement in an incarnation; 0 if none has one.
  func lastPlaced(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> UInt64 {
    let end = TableKey.placement(zone, incarnation, replica, epoch, last: .max)
    var cursor = try transaction.openCursor(tables.placements)
    guard try cursor.seek(atMost: end.span) else { return 0 }
    return try cursor.withCheckedEntry { found, _ in
      for offset in stride(from: 0, to: 16, by: 4)
      where try found.bigEndian32(at: offset) != end.span.bigEndian32(at: offset) {
        return 0
      }
      return try found.bigEndian64(at: 16)
    }
  }

  /// The last sequence of a lane with a placement before an offset; 0 if none has one.
  ///
  /// - Complexity: O(log n), and linear in the lane's placements at or after the offset.
  func lastPlaced(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    before offset: UInt64
  ) throws -> UInt64 {
    var last = try lastPlaced(replica, epoch, in: zone, incarnation)
    while last > 0 {
      let found = try placement(of: replica, epoch, last, in: zone, incarnation)
      guard let found else { throw StoreError.unplaced(last) }
      if found.offset < offset { return last }
      last = found.first - 1
    }
    return 0
  }

  /// The least receive time of a transaction over all incarnations, nil if no remote gave one.
  func leastReceived(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> UInt64? {
    var least: UInt64?
    // From one incarnation in which the zone has a place to the next: a store may know those of very many
    // zones.
    var next = IncarnationNumber(rawValue: 1)
    while let incarnation = try incarnation(atOrAfter: next, of: zone) {
      let place = try placement(of: replica, epoch, sequence, in: zone, incarnation)
      if let place,
        let received = try segments.row(at: place.offset, in: zone, incarnation)?.receivedMilliseconds
      {
        least = min(least ?? received, received)
      }
      guard incarnation.rawValue < .max else { break }
      next = IncarnationNumber(rawValue: incarnation.rawValue + 1)
    }
    return least
  }

  /// Whether transactions of a zone have a place in the log of another incarnation.
  func hasOtherIncarnation(than known: IncarnationNumber, of zone: ZoneNumber) throws -> Bool {
    guard let first = try incarnation(atOrAfter: IncarnationNumber(rawValue: 1), of: zone) else {
      return false
    }
    if first != known { return true }
    guard known.rawValue < .max else { return false }
    return try incarnation(atOrAfter: IncarnationNumber(rawValue: known.rawValue + 1), of: zone) != nil
  }

  private func incarnation(
    atOrAfter incarnation: IncarnationNumber, of zone: ZoneNumber
  ) throws -> IncarnationNumber? {
    let start = TableKey.placement(zone, incarnation, .none, 0, last: 0)
    var cursor = try transaction.openCursor(tables.placements)
    guard try cursor.seek(atOrAfter: start.span) else { return nil }
    return try cursor.withEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue
        ? IncarnationNumber(rawValue: try key.bigEndian32(at: 4)) : nil
    }
  }
}

extension PlacementTable where Source == TableStorage {
  /// Removes the placements of a lane from an offset on.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  func takeBack(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber,
    from offset: UInt64
  ) throws -> Bool {
    let before = try lastPlaced(replica, epoch, in: zone, incarnation)
    var last = before
    while last > 0 {
      let found = try placement(of: replica, epoch, last, in: zone, incarnation)
      guard let found, found.offset >= offset else { break }
      let key = TableKey.placement(zone, incarnation, replica, epoch, last: found.last)
      _ = try transaction.delete(key.span, in: tables.placements)
      last = found.first - 1
    }
    source.forgetPlacements()
    if last < before { try meta.countRewrite() }
    return last < before
  }
}

extension StoreError {
  fileprivate static func unplaced(_ sequence: UInt64) -> StoreError {
    StoreError(.damaged, "sequence \(sequence) is placed and has no placement", hint: "run `replay verify`")
  }
}
