import OperationFormat

/// The receive times that entries of a log stated which the log has lost, or which were given up: the entry that offers
/// their transactions again states no later one.
///
/// They are kept when the log is read again, and count for what has no place in it afterwards. Nothing else depends on
/// them: how a transaction counts follows from the entries of the log alone.
struct FormerReceiveTimes<Source: TableReading>: TableView {
  let source: Source
  private var runs: LaneRuns<FormerReceiveTime, Source> { LaneRuns(source: source) }

  /// When a transaction was received, in milliseconds since 1970; nil if no former entry says so.
  func time(of lane: Lane, _ sequence: UInt64) throws -> UInt64? {
    try runs.value(of: lane, sequence)?.milliseconds
  }

  /// The last sequence of a lane up to which all were received when one was, or none.
  func last(like sequence: UInt64, of lane: Lane, through last: UInt64) throws -> UInt64 {
    try runs.last(like: sequence, of: lane, through: last)
  }
}

/// When transactions were received, in milliseconds since 1970.
private struct FormerReceiveTime: LaneRunValue {
  static var kind: LaneRowKind { .formerTimes }

  var milliseconds: UInt64

  init(_ milliseconds: UInt64) { self.milliseconds = milliseconds }

  init(from reader: inout ByteReader) throws(FormatError) {
    milliseconds = try reader.readVarint("received.time")
  }

  func append(to writer: inout ByteWriter) { writer.append(varint: milliseconds) }
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
      let time = row.receivedMilliseconds.map { FormerReceiveTime($0) }
      var next = row.first
      while next <= row.last {
        let place = try placements.placement(of: row.replica, row.epoch, next, in: zone, incarnation)
        guard let place else { break }
        if place.offset == offset { try runs.set(time, of: lane, place.first...place.last) }
        next = place.last + 1
      }
    }
  }

  /// Forgets what has a place in the log again, or is not here any more.
  ///
  /// - Complexity: linear in the runs that are kept
  func forgetPlaced(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    var kept: [(lane: Lane, sequences: ClosedRange<UInt64>)] = []
    try runs.forEach(of: zone) { lane, sequences, _ in
      kept.append((lane, sequences))
      return true
    }
    for (lane, sequences) in kept {
      let placed = try placements.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation)
      let known = try source.lastSequence(of: lane.replica, lane.epoch, in: zone)
      if sequences.upperBound <= placed || sequences.lowerBound > known {
        try runs.set(nil, of: lane, sequences)
      }
    }
  }

  /// Forgets a lane of which all has a place.
  func forget(_ lane: Lane) throws { try runs.set(nil, of: lane, 0...(.max)) }
}
