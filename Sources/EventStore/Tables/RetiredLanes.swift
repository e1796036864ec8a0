import LMDB
import OperationFormat

// What is kept of transactions that the log does not have any more: a zone's records begin with a snapshot that has them.
// Of each lane the log lacks the first ones up to a sequence.

extension LaneTable {
  /// Up to which sequence the log does not have a lane any more; 0 if it has all.
  func retired(_ lane: Lane) throws -> UInt64 { try retirement(of: lane)?.last ?? 0 }

  /// The last transaction of a lane that the log does not have any more, and when it was made; nil if the log has all.
  func retirement(of lane: Lane) throws -> (last: UInt64, timestamp: Timestamp)? {
    let key = TableKey.rows(.retiredLanes, of: lane.zone).appending(lane.replica, lane.epoch)
    return try transaction.withCheckedValue(of: key, in: tables.replicas) { row in
      var reader = ByteReader(row)
      return (
        try reader.readVarint("lane.retired"), Timestamp(rawValue: try reader.readVarint("lane.retired"))
      )
    }
  }

  /// What a transaction that the log does not have any more had seen.
  func retiredBase(of lane: Lane, _ sequence: UInt64) throws -> BaseNumbers? {
    let prefix = TableKey.rows(.retiredBases, of: lane.zone).appending(lane.replica, lane.epoch)
    var cursor = try transaction.openCursor(tables.replicas)
    guard try cursor.seek(atMost: prefix.appending(sequence).span) else { return nil }
    return try cursor.withCheckedEntry { key, row in
      key.hasPrefix(prefix.span.bytes) ? try Self.base(in: row) : nil
    }
  }

  private static func base(in row: RawSpan) throws(FormatError) -> BaseNumbers? {
    var reader = ByteReader(row)
    let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("lane.retired"))
    let offset = try reader.readVarint("lane.retired")
    return incarnation == .none ? nil : (incarnation, offset)
  }

  /// What the transactions that the log does not have any more had seen of an incarnation, by the sequences from which on
  /// it is another.
  func retiredBases(of lane: Lane, _ incarnation: IncarnationNumber) throws -> [BaseStep] {
    let prefix = TableKey.rows(.retiredBases, of: lane.zone).appending(lane.replica, lane.epoch)
    var steps: [BaseStep] = []
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      let base = try Self.base(in: CheckedRow.content(of: row, under: key))
      steps.append(
        BaseStep(
          sequence: try key.bigEndian64(at: 13),
          base: base?.incarnation == incarnation ? base?.offset ?? 0 : 0))
      return true
    }
    return steps
  }
}

extension LaneTable where Source == TableStorage {
  /// Notes that the log does not have a lane any more up to a sequence.
  ///
  /// - Parameters:
  ///   - timestamp: that of the last one.
  ///   - bases: what its transactions had seen, all of them.
  func retire(
    _ lane: Lane, through last: UInt64, at timestamp: Timestamp, _ bases: [BaseStep],
    of incarnation: IncarnationNumber
  ) throws {
    guard last > 0 else { return }
    let key = TableKey.rows(.retiredLanes, of: lane.zone).appending(lane.replica, lane.epoch)
    try source.putChecked(key, in: tables.replicas) { writer in
      writer.append(varint: last)
      writer.append(varint: timestamp.rawValue)
    }
    let prefix = TableKey.rows(.retiredBases, of: lane.zone).appending(lane.replica, lane.epoch)
    for step in bases where step.sequence <= last {
      try source.putChecked(prefix.appending(step.sequence), in: tables.replicas) { writer in
        writer.append(varint: step.base == 0 ? 0 : UInt64(incarnation.rawValue))
        writer.append(varint: step.base)
      }
    }
    try source.baseLimits.set(nil, of: lane, 1...last)
    source.forgetSequences(of: lane)
  }

  /// Forgets what a zone's log does not have any more, before another snapshot stands for all of that.
  func forgetRetired(of zone: ZoneNumber) throws {
    try removeRows(.retiredLanes, of: zone)
    try removeRows(.retiredBases, of: zone)
    source.forgetSequences()
  }
}
