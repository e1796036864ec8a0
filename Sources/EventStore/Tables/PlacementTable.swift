import LMDB
import OperationFormat

/// The rows of placements: at which offset of a remote log each run of a lane's sequences is first.
struct PlacementTable<Source: TableReading>: TableView {
  let source: Source

  /// The run of placed sequences that holds one, in an incarnation of a zone's remote log.
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

  /// The last placed sequence of a replica's epoch in an incarnation; 0 if none.
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

  /// The last sequence of a lane that has its place before an offset; 0 if none has.
  ///
  /// - Complexity: O(log n), and linear in the runs of the lane that were placed at the offset or after it.
  func lastPlaced(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    before offset: UInt64
  ) throws -> UInt64 {
    var last = try lastPlaced(replica, epoch, in: zone, incarnation)
    while last > 0 {
      let place = try placement(of: replica, epoch, last, in: zone, incarnation)
      guard let place else { throw StoreError.unplaced(last) }
      if place.offset < offset { return last }
      last = place.first - 1
    }
    return 0
  }
}

extension PlacementTable where Source == TableStorage {
  /// Takes away the places of a lane from an offset on.
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
      let place = try placement(of: replica, epoch, last, in: zone, incarnation)
      guard let place, place.offset >= offset else { break }
      let key = TableKey.placement(zone, incarnation, replica, epoch, last: place.last)
      _ = try transaction.delete(key.span, in: tables.placements)
      last = place.first - 1
    }
    source.forgetPlacements()
    return last < before
  }
}

extension StoreError {
  fileprivate static func unplaced(_ sequence: UInt64) -> StoreError {
    StoreError(.damaged, "sequence \(sequence) is placed and has no placement", hint: "run `replay verify`")
  }
}
