import LMDB
import OperationFormat

/// Limits of what transactions had seen of a remote log, where they name a base that counts less: the log has lost what
/// they had seen, and they were offered again. See `FormerPlace`.
///
/// The segment that has a transaction first says its limit. Until it is in the log, the store that offers it again does.
struct BaseLimits<Source: TableReading>: TableView {
  let source: Source

  /// What a transaction of the log had seen; nil for nothing.
  func base(of header: LogEntryHeader) throws -> BaseNumbers? {
    try limited(header.base, of: header.lane, header.sequence)
  }

  /// A base that a transaction names, as it counts.
  func limited(_ base: BaseNumbers?, of lane: Lane, _ sequence: UInt64) throws -> BaseNumbers? {
    guard let base, try source.hasLimits(lane.zone), let limit = try limit(of: lane, sequence),
      limit.incarnation == base.incarnation, limit.offset < base.offset
    else { return base }
    return limit.offset == 0 ? nil : limit
  }

  /// Up to where of a log a transaction has seen it at most; nil if it has no limit.
  func limit(of lane: Lane, _ sequence: UInt64) throws -> BaseNumbers? {
    try run(atOrAfter: sequence, of: lane).flatMap { $0.first <= sequence ? $0.limit : nil }
  }

  /// The last sequence of a lane up to which all have the limit of one, or none as that.
  func last(like sequence: UInt64, of lane: Lane, through last: UInt64) throws -> UInt64 {
    guard let run = try run(atOrAfter: sequence, of: lane) else { return last }
    return min(last, run.first <= sequence ? run.last : run.first - 1)
  }

  fileprivate typealias Run = (first: UInt64, last: UInt64, limit: BaseNumbers)

  fileprivate func run(atOrAfter sequence: UInt64, of lane: Lane) throws -> Run? {
    let prefix = TableKey.baseLimits(lane)
    var cursor = try transaction.openCursor(tables.replicas)
    guard try cursor.seek(atOrAfter: prefix.appending(sequence).span) else { return nil }
    return try cursor.withEntry { key, row in
      try key.hasPrefix(prefix.span.bytes) ? Self.run(row, under: key) : nil
    }
  }

  private static func run(_ row: RawSpan, under key: RawSpan) throws -> Run {
    var reader = ByteReader(try CheckedRow.content(of: row, under: key))
    let first = try reader.readVarint("limit.first")
    let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("limit.incarnation"))
    let limit = (incarnation, try reader.readVarint("limit.offset"))
    try reader.finish("limit")
    return (first, try key.bigEndian64(at: 13), limit)
  }

  /// Calls a closure with each run of sequences of a zone that have a limit, in the order of their lanes, until it returns
  /// false.
  func forEach(
    of zone: ZoneNumber,
    _ body: (_ lane: Lane, _ sequences: ClosedRange<UInt64>, _ limit: BaseNumbers) throws -> Bool
  ) throws {
    let prefix = TableKey.rows(.baseLimits, of: zone)
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      let run = try Self.run(row, under: key)
      let lane = Lane(
        zone: zone, replica: ReplicaNumber(rawValue: try key.bigEndian32(at: 5)),
        epoch: try key.bigEndian32(at: 9))
      return try body(lane, run.first...max(run.first, run.last), run.limit)
    }
  }
}

extension TableKey {
  fileprivate static func baseLimits(_ lane: Lane) -> TableKey {
    rows(.baseLimits, of: lane.zone).appending(lane.replica, lane.epoch)
  }
}

extension TableReading {
  /// Whether any transaction of a zone has a limit.
  func findLimits(_ zone: ZoneNumber) throws -> Bool {
    try transaction.hasEntry(in: tables.replicas, under: TableKey.rows(.baseLimits, of: zone).span.bytes)
  }

  func hasLimits(_ zone: ZoneNumber) throws -> Bool { try findLimits(zone) }
}

extension BaseLimits where Source == TableStorage {
  /// Sets the limit of a lane's sequences; nil for none.
  ///
  /// - Complexity: linear in the runs of other limits that they have.
  func set(_ limit: BaseNumbers?, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    let last = sequences.upperBound
    var next = sequences.lowerBound
    while let run = try run(atOrAfter: next, of: lane), run.first <= last {
      try remove(run, of: lane)
      if run.first < next { try put(run.limit, of: lane, run.first...next - 1) }
      if run.last > last { try put(run.limit, of: lane, last + 1...run.last) }
      guard run.last < last else { break }
      next = run.last + 1
    }
    if let limit {
      var range = sequences
      // What is beside them with the same limit shares their row.
      let before = try run(atOrAfter: max(1, range.lowerBound) - 1, of: lane)
      if let before, before.last == range.lowerBound - 1, before.limit == limit {
        try remove(before, of: lane)
        range = before.first...last
      }
      if let after = try run(atOrAfter: last + 1, of: lane), after.first == last + 1, after.limit == limit {
        try remove(after, of: lane)
        range = range.lowerBound...after.last
      }
      try put(limit, of: lane, range)
    }
    source.forgetBases()
  }

  /// Raises lower limits of a lane's sequences behind one.
  ///
  /// - Complexity: linear in the runs of them.
  func raise(to limit: BaseNumbers, of lane: Lane, after sequence: UInt64) throws {
    var next = sequence + 1
    while let run = try run(atOrAfter: next, of: lane) {
      if run.limit.incarnation == limit.incarnation, run.limit.offset < limit.offset {
        try set(limit, of: lane, max(next, run.first)...run.last)
      }
      guard run.last < .max else { return }
      next = run.last + 1
    }
  }

  private func remove(_ run: Run, of lane: Lane) throws {
    let key = TableKey.baseLimits(lane).appending(run.last)
    _ = try transaction.delete(key.span, in: tables.replicas)
  }

  private func put(_ limit: BaseNumbers, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    let key = TableKey.baseLimits(lane).appending(sequences.upperBound)
    try source.putChecked(key, in: tables.replicas) { writer in
      writer.append(varint: sequences.lowerBound)
      writer.append(varint: UInt64(limit.incarnation.rawValue))
      writer.append(varint: limit.offset)
    }
  }
}
