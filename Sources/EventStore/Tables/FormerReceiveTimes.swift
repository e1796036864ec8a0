import LMDB
import OperationFormat

/// The receive times that entries of a log stated which the log has lost, or which were given up: the entry that offers
/// their transactions again states no later one.
///
/// They are kept when the log is read again, and count for what has no place in it afterwards. Nothing else depends on
/// them: how a transaction counts follows from the entries of the log alone.
struct FormerReceiveTimes<Source: TableReading>: TableView {
  let source: Source

  /// When a transaction was received, in milliseconds since 1970; nil if no former entry says so.
  func time(of lane: Lane, _ sequence: UInt64) throws -> UInt64? {
    try run(atOrAfter: sequence, of: lane).flatMap { $0.first <= sequence ? $0.milliseconds : nil }
  }

  /// The last sequence of a lane up to which all were received when one was, or none.
  func last(like sequence: UInt64, of lane: Lane, through last: UInt64) throws -> UInt64 {
    guard var run = try run(atOrAfter: sequence, of: lane) else { return last }
    guard run.first <= sequence else { return min(last, run.first - 1) }
    while run.last < last, let next = try self.run(atOrAfter: run.last + 1, of: lane),
      next.first == run.last + 1, next.milliseconds == run.milliseconds
    {
      run = next
    }
    return min(last, run.last)
  }

  fileprivate typealias Run = (first: UInt64, last: UInt64, milliseconds: UInt64)

  fileprivate func run(atOrAfter sequence: UInt64, of lane: Lane) throws -> Run? {
    let prefix = TableKey.formerTimes(lane)
    var cursor = try transaction.openCursor(tables.replicas)
    guard try cursor.seek(atOrAfter: prefix.appending(sequence).span) else { return nil }
    return try cursor.withEntry { key, row in
      try key.hasPrefix(prefix.span.bytes) ? Self.run(row, under: key) : nil
    }
  }

  fileprivate static func run(_ row: RawSpan, under key: RawSpan) throws -> Run {
    var reader = ByteReader(try CheckedRow.content(of: row, under: key))
    let first = try reader.readVarint("received.first", in: 1...UInt64.max)
    let milliseconds = try reader.readVarint("received.time")
    try reader.finish("received")
    return (first, try key.bigEndian64(at: 13), milliseconds)
  }
}

extension TableKey {
  fileprivate static func formerTimes(_ lane: Lane) -> TableKey {
    rows(.formerTimes, of: lane.zone).appending(lane.replica, lane.epoch)
  }
}

extension FormerReceiveTimes where Source == TableStorage {
  /// Keeps what the entries of a log from an offset on state, before the log is read again from there. Of several entries
  /// with a transaction the first counts.
  ///
  /// - Complexity: linear in these entries
  func keep(of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64) throws {
    var entries: [(offset: UInt64, row: SegmentRow)] = []
    try segments.forEach(in: zone, incarnation, from: offset) { entries.append(($0, $1)) }
    for (offset, row) in entries where row.rejection == nil && !row.isQuarantined {
      let lane = Lane(zone: zone, replica: row.replica, epoch: row.epoch)
      var next = row.first
      while next <= row.last {
        let place = try placements.placement(of: row.replica, row.epoch, next, in: zone, incarnation)
        guard let place else { break }
        if place.offset == offset { try set(row.receivedMilliseconds, of: lane, place.first...place.last) }
        next = place.last + 1
      }
    }
  }

  /// Sets when a run of sequences was received; nil for not known.
  private func set(_ milliseconds: UInt64?, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    let (first, last) = (sequences.lowerBound, sequences.upperBound)
    while let run = try run(atOrAfter: first, of: lane), run.first <= last {
      try remove(run, of: lane)
      guard run.last > last else { continue }
      try put(run.milliseconds, of: lane, last + 1...run.last)
      break
    }
    if let milliseconds { try put(milliseconds, of: lane, sequences) }
  }

  private func put(_ milliseconds: UInt64, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    let key = TableKey.formerTimes(lane).appending(sequences.upperBound)
    try source.putChecked(key, in: tables.replicas) { writer in
      writer.append(varint: sequences.lowerBound)
      writer.append(varint: milliseconds)
    }
  }

  /// Forgets what has a place in the log again, or is not here any more.
  ///
  /// - Complexity: linear in the runs that are kept
  func forgetPlaced(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    let prefix = TableKey.rows(.formerTimes, of: zone)
    var kept: [(lane: Lane, run: Run)] = []
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      let replica = ReplicaNumber(rawValue: try key.bigEndian32(at: 5))
      let lane = Lane(zone: zone, replica: replica, epoch: try key.bigEndian32(at: 9))
      kept.append((lane, try Self.run(row, under: key)))
      return true
    }
    for (lane, run) in kept {
      let placed = try placements.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation)
      let known = try source.lastSequence(of: lane.replica, lane.epoch, in: zone)
      if run.last <= placed || run.first > known { try remove(run, of: lane) }
    }
  }

  /// Forgets a lane of which all has a place.
  func forget(_ lane: Lane) throws {
    while let run = try run(atOrAfter: 0, of: lane) { try remove(run, of: lane) }
  }

  private func remove(_ run: Run, of lane: Lane) throws {
    _ = try transaction.delete(TableKey.formerTimes(lane).appending(run.last).span, in: tables.replicas)
  }
}
