import OperationFormat

/// Limits of what transactions had seen of a remote log, where they name a base that counts less: the log has lost what
/// they had seen, and they were offered again. See `FormerPlace`.
///
/// The segment that has a transaction first says its limit. Until it is in the log, the store that offers it again does.
struct BaseLimits<Source: TableReading>: TableView {
  let source: Source
  private var runs: LaneRuns<BaseLimit, Source> { LaneRuns(source: source) }

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
    try runs.value(of: lane, sequence)?.base
  }

  /// The last sequence of a lane up to which all have the limit of one, or none as that.
  func last(like sequence: UInt64, of lane: Lane, through last: UInt64) throws -> UInt64 {
    try runs.last(like: sequence, of: lane, through: last)
  }

  /// Calls a closure with each run of sequences of a zone that have a limit, in the order of their lanes, until it returns
  /// false.
  func forEach(
    of zone: ZoneNumber,
    _ body: (_ lane: Lane, _ sequences: ClosedRange<UInt64>, _ limit: BaseNumbers) throws -> Bool
  ) throws {
    try runs.forEach(of: zone) { try body($0, $1, $2.base) }
  }
}

/// Up to where of a log transactions have seen it at most.
private struct BaseLimit: LaneRunValue {
  static var kind: LaneRowKind { .baseLimits }

  var incarnation: IncarnationNumber
  var offset: UInt64
  var base: BaseNumbers { (incarnation, offset) }

  init(_ base: BaseNumbers) { (incarnation, offset) = base }

  init(from reader: inout ByteReader) throws(FormatError) {
    incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("limit.incarnation"))
    offset = try reader.readVarint("limit.offset")
  }

  func append(to writer: inout ByteWriter) {
    writer.append(varint: UInt64(incarnation.rawValue))
    writer.append(varint: offset)
  }
}

extension TableReading {
  /// Whether any transaction of a zone has a limit.
  func findLimits(_ zone: ZoneNumber) throws -> Bool {
    try LaneRuns<BaseLimit, Self>(source: self).hasAny(of: zone)
  }

  func hasLimits(_ zone: ZoneNumber) throws -> Bool { try findLimits(zone) }
}

extension BaseLimits where Source == TableStorage {
  /// Sets the limit of a lane's sequences; nil for none.
  ///
  /// - Complexity: linear in the runs of other limits that they have.
  func set(_ limit: BaseNumbers?, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    try runs.set(limit.map { BaseLimit($0) }, of: lane, sequences)
    source.forgetBases()
  }

  /// Raises lower limits of a lane's sequences behind one.
  ///
  /// - Complexity: linear in the runs of them.
  func raise(to limit: BaseNumbers, of lane: Lane, after sequence: UInt64) throws {
    try runs.forEach(of: lane, from: sequence + 1) { sequences, known in
      if known.incarnation == limit.incarnation, known.offset < limit.offset {
        try set(limit, of: lane, sequences)
      }
      return true
    }
  }
}
