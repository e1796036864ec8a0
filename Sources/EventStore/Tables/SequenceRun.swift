import OperationFormat

// A row of `sequences`: consecutive transactions of a lane at consecutive positions. Its key is zone (4),
// replica (4), epoch (4) and the sequence of the first one (8), big-endian:
//
// | bytes | what |
// |---|---|
// | varint | position of the first one |
// | varint | how many, from 2; absent for one |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

/// Consecutive transactions of a lane that have consecutive positions in the log.
struct SequenceRun: Hashable {
  /// The sequence of the first one.
  var first: UInt64
  /// The position of the first one.
  var position: Position
  /// How many, from 1.
  var count: UInt64

  init(_ sequence: UInt64, at position: Position) {
    (first, self.position, count) = (sequence, position, 1)
  }

  /// Reads the content of a row.
  init(_ row: RawSpan, under key: RawSpan) throws(FormatError) {
    first = try key.bigEndian64(at: 12)
    var reader = ByteReader(row)
    position = Position(rawValue: try reader.readVarint("row"))
    // A row of an earlier program has one.
    count = reader.remaining > 0 ? try reader.readVarint("row", in: 2 ... .max) : 1
    try reader.finish("row")
    // A position is less than the greatest number, so that each has a next one.
    guard count - 1 <= .max - first, count <= .max - position.rawValue else {
      throw FormatError(
        .invalid, at: 0, in: "row", expected: "sequences and positions of 64 bits", found: "\(count) of them")
    }
  }

  func append(to writer: inout ByteWriter) {
    writer.append(varint: position.rawValue)
    if count > 1 { writer.append(varint: count) }
  }

  /// The sequence of the last one.
  var last: UInt64 { first + (count - 1) }

  var positions: ClosedRange<Position> {
    position...Position(rawValue: position.rawValue + (count - 1))
  }

  /// The position of a transaction; nil if it is not one of these.
  func position(of sequence: UInt64) -> Position? {
    first <= sequence && sequence <= last
      ? Position(rawValue: position.rawValue + (sequence - first)) : nil
  }

  /// The run with another transaction; nil if that is not the next one, at the next position.
  func extended(with sequence: UInt64, at position: Position) -> SequenceRun? {
    joined(with: SequenceRun(sequence, at: position))
  }

  /// The run with those of another one; nil if they are not the next ones, at the next positions.
  func joined(with other: SequenceRun) -> SequenceRun? {
    guard last < .max, other.first == last + 1, other.position == positions.upperBound.next else {
      return nil
    }
    var run = self
    run.count += other.count
    return run
  }

  /// The part of the run before a sequence; nil if there is none.
  func part(before sequence: UInt64) -> SequenceRun? {
    guard sequence > first else { return nil }
    var run = self
    run.count = min(count, sequence - first)
    return run
  }

  /// The part of the run after a sequence; nil if there is none.
  func part(after sequence: UInt64) -> SequenceRun? {
    guard sequence < last else { return nil }
    guard sequence >= first else { return self }
    var run = self
    let left = sequence - first + 1
    run.first += left
    run.position = Position(rawValue: position.rawValue + left)
    run.count -= left
    return run
  }
}

extension LogEntryHeader {
  /// The lane of the transaction.
  var lane: Lane { Lane(zone: zone, replica: replica, epoch: epoch) }
}

extension TableKey {
  static func sequence(_ lane: Lane, _ sequence: UInt64) -> TableKey {
    .sequence(lane.zone, lane.replica, lane.epoch, sequence)
  }
}

extension RawSpan {
  /// Whether this is the key of a row of `sequences` of a lane.
  func isSequence(of lane: Lane) throws(FormatError) -> Bool {
    let (zone, replica, epoch) = (try bigEndian32(at: 0), try bigEndian32(at: 4), try bigEndian32(at: 8))
    return zone == lane.zone.rawValue && replica == lane.replica.rawValue && epoch == lane.epoch
  }
}
