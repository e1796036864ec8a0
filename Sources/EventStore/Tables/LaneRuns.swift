import LMDB
import OperationFormat

/// What runs of a lane's sequences have, and others do not.
protocol LaneRunValue: Equatable {
  static var kind: LaneRowKind { get }

  init(from reader: inout ByteReader) throws(FormatError)
  func append(to writer: inout ByteWriter)
}

/// Values of runs of lanes' sequences. Adjacent runs of one lane have different values.
///
/// They are rows of `replicas`: kind (1), lane, last sequence (8) → first sequence (varint), value.
struct LaneRuns<Value: LaneRunValue, Source: TableReading>: TableView {
  let source: Source

  typealias Run = (first: UInt64, last: UInt64, value: Value)

  /// The value of a sequence; nil if it has none.
  func value(of lane: Lane, _ sequence: UInt64) throws -> Value? {
    try run(atOrAfter: sequence, of: lane).flatMap { $0.first <= sequence ? $0.value : nil }
  }

  /// The last sequence of a lane up to which all have the value of one, or none as that.
  func last(like sequence: UInt64, of lane: Lane, through last: UInt64) throws -> UInt64 {
    guard let run = try run(atOrAfter: sequence, of: lane) else { return last }
    return min(last, run.first <= sequence ? run.last : run.first - 1)
  }

  fileprivate func run(atOrAfter sequence: UInt64, of lane: Lane) throws -> Run? {
    let prefix = Self.prefix(lane)
    var cursor = try transaction.openCursor(tables.replicas)
    guard try cursor.seek(atOrAfter: prefix.appending(sequence).span) else { return nil }
    return try cursor.withEntry { key, row in
      try key.hasPrefix(prefix.span.bytes) ? Self.run(row, under: key) : nil
    }
  }

  private static func run(_ row: RawSpan, under key: RawSpan) throws -> Run {
    var reader = ByteReader(try CheckedRow.content(of: row, under: key))
    let first = try reader.readVarint("lane.run.first")
    let value = try Value(from: &reader)
    try reader.finish("lane.run")
    return (first, try key.bigEndian64(at: 13), value)
  }

  fileprivate static func prefix(_ lane: Lane) -> TableKey {
    TableKey.rows(Value.kind, of: lane.zone).appending(lane.replica, lane.epoch)
  }

  /// Whether any sequence of a zone has a value.
  func hasAny(of zone: ZoneNumber) throws -> Bool {
    try transaction.hasEntry(in: tables.replicas, under: TableKey.rows(Value.kind, of: zone).span.bytes)
  }

  /// Calls a closure with each run of a zone, in the order of their lanes, until it returns false.
  func forEach(
    of zone: ZoneNumber, _ body: (_ lane: Lane, _ sequences: ClosedRange<UInt64>, Value) throws -> Bool
  ) throws {
    let prefix = TableKey.rows(Value.kind, of: zone)
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      let run = try Self.run(row, under: key)
      let lane = try Lane(from: key, in: zone)
      return try body(lane, run.first...max(run.first, run.last), run.value)
    }
  }
}

extension LaneRuns where Source == TableStorage {
  /// Sets the value of a lane's sequences; nil for none.
  ///
  /// - Complexity: linear in the runs of other values that they have.
  func set(_ value: Value?, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    let last = sequences.upperBound
    var next = sequences.lowerBound
    while let run = try run(atOrAfter: next, of: lane), run.first <= last {
      try remove(run, of: lane)
      if run.first < next { try put(run.value, of: lane, run.first...next - 1) }
      if run.last > last { try put(run.value, of: lane, last + 1...run.last) }
      guard run.last < last else { break }
      next = run.last + 1
    }
    guard let value else { return }
    var range = sequences
    // What is beside them with the same value shares their row.
    let before = try run(atOrAfter: max(1, range.lowerBound) - 1, of: lane)
    if let before, before.last == range.lowerBound - 1, before.value == value {
      try remove(before, of: lane)
      range = before.first...last
    }
    if last < .max, let after = try run(atOrAfter: last + 1, of: lane), after.first == last + 1,
      after.value == value
    {
      try remove(after, of: lane)
      range = range.lowerBound...after.last
    }
    try put(value, of: lane, range)
  }

  /// Calls a closure with the runs of a lane that end at or behind a sequence, until it returns false. It may set values up to
  /// the end of the run.
  func forEach(
    of lane: Lane, from sequence: UInt64, _ body: (_ sequences: ClosedRange<UInt64>, Value) throws -> Bool
  ) throws {
    var next = sequence
    while let run = try run(atOrAfter: next, of: lane) {
      guard try body(max(next, run.first)...run.last, run.value), run.last < .max else { return }
      next = run.last + 1
    }
  }

  private func remove(_ run: Run, of lane: Lane) throws {
    _ = try transaction.delete(Self.prefix(lane).appending(run.last).span, in: tables.replicas)
  }

  private func put(_ value: Value, of lane: Lane, _ sequences: ClosedRange<UInt64>) throws {
    try source.putChecked(Self.prefix(lane).appending(sequences.upperBound), in: tables.replicas) { writer in
      writer.append(varint: sequences.lowerBound)
      value.append(to: &writer)
    }
  }
}
