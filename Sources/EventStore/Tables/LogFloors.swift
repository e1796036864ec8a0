import LMDB
import OperationFormat

/// The transactions of a zone's log that name a floor, in the order of their places.
///
/// A floor counts if it is above the last one that did, and at most what its transaction had seen, after limits. No
/// reader compares it with anything else. So all stores that have read equally far have the same floor, no matter
/// which writer named it.
struct LogFloors {
  struct Named {
    var lane: Lane
    var sequence: UInt64
    var position: Position
    /// The offset of its transaction.
    var place: UInt64
    var offset: UInt64
    var base: UInt64
  }

  let incarnation: IncarnationNumber
  fileprivate(set) var named: [Named]

  /// The next floor that counts behind another one; of one entry's the last.
  func next(after floor: CompactionFloor?) -> CompactionFloor? {
    let floor = floor?.incarnation == incarnation ? floor : nil
    var last = floor?.offset ?? 0
    var found: CompactionFloor?
    // What was named before its transaction no longer counts.
    let place = floor?.place ?? 0
    for named in named[named.prefixCount { $0.place <= place }...] {
      if let found, named.place != found.place { break }
      guard named.offset > last, named.offset <= named.base else { continue }
      last = named.offset
      found = CompactionFloor(incarnation: incarnation, offset: named.offset, place: named.place)
    }
    return found
  }

  /// Those that a closure chooses.
  func filter(_ isChosen: (Named) -> Bool) -> LogFloors {
    LogFloors(incarnation: incarnation, named: named.filter(isChosen))
  }
}

extension TableReading {
  /// The floors that transactions of a zone's log name up to an offset. What its snapshot has is not among them.
  ///
  /// - Complexity: linear in the transactions that name one
  func logFloors(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, upTo last: UInt64 = .max
  ) throws -> LogFloors {
    var floors = LogFloors(incarnation: incarnation, named: [])
    var found: [(lane: Lane, sequence: UInt64)] = []
    let prefix = TableKey.rows(.floors, of: zone)
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, _ in
      let lane = try Lane(from: key, in: zone)
      found.append((lane, try key.bigEndian64(at: 13)))
      return true
    }
    for (lane, sequence) in found {
      if let named = try floor(of: lane, sequence, incarnation), named.place <= last {
        floors.named.append(named)
      }
    }
    floors.named.sort { ($0.place, $0.sequence) < ($1.place, $1.sequence) }
    return floors
  }

  /// The floors that a lane's transactions name.
  func floors(
    of lane: Lane, _ sequences: ClosedRange<UInt64>, _ incarnation: IncarnationNumber
  ) throws -> LogFloors {
    var found: [UInt64] = []
    let prefix = TableKey.rows(.floors, of: lane.zone).appending(lane.replica, lane.epoch)
    let first = prefix.appending(sequences.lowerBound)
    try transaction.forEachEntry(
      in: tables.replicas, under: prefix.span.bytes, from: first.span.bytes
    ) { key, _ in
      let sequence = try key.bigEndian64(at: 13)
      if sequences.contains(sequence) { found.append(sequence) }
      return sequences.upperBound > sequence
    }
    return LogFloors(
      incarnation: incarnation, named: try found.compactMap { try floor(of: lane, $0, incarnation) })
  }

  /// The zones of which any transaction has named a floor, by number.
  ///
  /// - Complexity: linear in these zones; a store without floors takes one look-up
  func zonesWithFloors() throws -> [ZoneNumber] {
    let prefix = [LaneRowKind.floors.rawValue]
    var zones: [ZoneNumber] = []
    var next = ZoneNumber(rawValue: 0)
    var cursor = try transaction.openCursor(tables.replicas, within: prefix)
    while try cursor.seek(atOrAfter: TableKey.rows(.floors, of: next).span) {
      let zone = try cursor.withEntry { key, _ in
        key.hasPrefix(prefix) ? ZoneNumber(rawValue: try key.bigEndian32(at: 1)) : nil
      }
      guard let zone else { break }
      zones.append(zone)
      if zone.rawValue == .max { break }
      next = ZoneNumber(rawValue: zone.rawValue + 1)
    }
    return zones
  }

  /// Whether any transaction of a zone has named a floor.
  func hasFloors(_ zone: ZoneNumber) throws -> Bool {
    try transaction.hasEntry(in: tables.replicas, under: TableKey.rows(.floors, of: zone).span.bytes)
  }

  /// The floor that a transaction names; nil if it is not in the log any more, or has no place there.
  private func floor(
    of lane: Lane, _ sequence: UInt64, _ incarnation: IncarnationNumber
  ) throws -> LogFloors.Named? {
    guard let position = try log.position(of: lane.replica, lane.epoch, sequence, in: lane.zone),
      let place = try placements.placement(
        of: lane.replica, lane.epoch, sequence, in: lane.zone, incarnation),
      let (header, floor) = try log.withEntryUnlessRemoved(
        at: position,
        { header, body in
          var decoder = BodyDecoder()
          try decoder.parse(body)
          return (header, decoder.floor)
        }), let floor, try sequence > lanes.retired(lane)
    else { return nil }
    let base = try baseLimits.base(of: header)
    return LogFloors.Named(
      lane: lane, sequence: sequence, position: position, place: place.offset, offset: floor,
      base: base?.incarnation == incarnation ? base?.offset ?? 0 : 0)
  }
}

extension LaneTable where Source == TableStorage {
  /// Notes that a transaction names a floor, so that it is found at its place.
  func noteFloor(_ floor: UInt64, of header: LogEntryHeader) throws {
    let key = TableKey.rows(.floors, of: header.zone).appending(header.replica, header.epoch)
      .appending(header.sequence)
    try source.putChecked(key, in: tables.replicas) { $0.append(varint: floor) }
  }

  /// Notes that a floor counts from an entry on.
  func countFloor(
    _ floor: UInt64, at place: UInt64, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws {
    let key = TableKey.rows(.countedFloors, of: zone, incarnation).appending(place)
    try source.putChecked(key, in: tables.replicas) { $0.append(varint: floor) }
    source.forgetLookBack(from: 0)
  }

  /// Notes which floors count that entries of a log name, from the last one that does.
  ///
  /// - Complexity: linear in them
  func countFloors(
    _ floors: LogFloors, upTo last: UInt64, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws {
    var known = CompactionFloor(
      incarnation: incarnation, offset: try countedFloor(of: zone, incarnation, before: .max))
    while let next = floors.next(after: known), next.place <= last {
      try countFloor(next.offset, at: next.place, of: zone, incarnation)
      known = next
    }
  }

  /// Takes back the floors that count from an offset of the log on.
  func takeBackFloors(of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64) throws {
    let prefix = TableKey.rows(.countedFloors, of: zone, incarnation)
    var places: [UInt64] = []
    try transaction.forEachEntry(
      in: tables.replicas, under: prefix.span.bytes, from: prefix.appending(offset).span.bytes
    ) { key, _ in
      places.append(try key.bigEndian64(at: 9))
      return true
    }
    for place in places { _ = try transaction.delete(prefix.appending(place).span, in: tables.replicas) }
  }
}

extension LaneTable {
  /// The next floor that counts behind another one, up to where a zone's log was read. It is the one that ``LogFloors`` finds
  /// among all that the log names.
  ///
  /// - Complexity: O(log n)
  func nextCountedFloor(
    of zone: ZoneNumber, _ token: ZoneRow.Token, after floor: CompactionFloor?
  ) throws -> CompactionFloor? {
    var place = floor?.incarnation == token.incarnation ? floor?.place ?? 0 : 0
    // What the zone begins with has the floors up to there.
    if let origin = try zones.origin(of: zone), origin.incarnation == token.incarnation {
      place = max(place, origin.offset)
    }
    guard place < token.offset else { return nil }
    let prefix = TableKey.rows(.countedFloors, of: zone, token.incarnation)
    var cursor = try transaction.openCursor(tables.replicas)
    guard try cursor.seek(atOrAfter: prefix.appending(place + 1).span),
      let next = try cursor.countedFloor(under: prefix), next.place <= token.offset
    else { return nil }
    return CompactionFloor(incarnation: token.incarnation, offset: next.floor, place: next.place)
  }

  /// The floor that counts in the part of a log before an offset; 0 for none. Every store that has read the log up to there
  /// has the same.
  func countedFloor(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, before end: UInt64
  ) throws -> UInt64 {
    let prefix = TableKey.rows(.countedFloors, of: zone, incarnation)
    var cursor = try transaction.openCursor(tables.replicas)
    guard end > 0, try cursor.seek(atMost: prefix.appending(end - 1).span) else { return 0 }
    return try cursor.countedFloor(under: prefix)?.floor ?? 0
  }
}

extension Cursor {
  /// The place from which on a floor counts, and the floor, of the current entry; nil if that is not one of a log's.
  fileprivate borrowing func countedFloor(
    under prefix: TableKey
  ) throws -> (place: UInt64, floor: UInt64)? {
    try withEntry { key, row -> (place: UInt64, floor: UInt64)? in
      guard key.hasPrefix(prefix.span.bytes) else { return nil }
      var reader = ByteReader(try CheckedRow.content(of: row, under: key))
      return (try key.bigEndian64(at: 9), try reader.readVarint("lane.floor"))
    }
  }
}
