import OperationFormat

/// What the heads of one transaction share in a row: its timestamp, and who it is.
///
/// The first stamp of a row:
///
/// | bytes | what |
/// |---|---|
/// | 6 | little-endian: 42 bits of milliseconds, then 6 of the timestamp's counter, at most 61 |
/// | … | after a counter of 62: the counter (varint). After 63, and no milliseconds: the timestamp, little-endian (8) |
/// | … | lane: replica's number × 2 + 1, if the epoch is 0 (varint); else × 2 + 2 (varint), and the epoch (varint) |
/// | varint | sequence |
///
/// A further stamp:
///
/// | bytes | what |
/// |---|---|
/// | 1 | the timestamp's counter × 8 + how many bytes follow of the milliseconds, at most 6; or 7 |
/// | … | the first stamp's milliseconds minus its own, zigzag, little-endian; after 7 the timestamp, little-endian (8) |
/// | … | lane, as above; 0 for that of the first stamp |
/// | varint | sequence; in the first stamp's lane the first stamp's minus its own, zigzag |
struct Stamp: Equatable {
  var timestamp: Timestamp
  var sequence: UInt64
  var replica: UInt32
  var epoch: UInt32

  /// A row of heads of more stamps has the others in the layout of version 1.
  static let countMax = 32
  /// No stamp takes more bytes, in a row of either version.
  static let bytesMax = 34

  func head(_ index: UInt32) -> Head {
    Head(
      timestamp: timestamp,
      id: HeadID(
        replica: ReplicaNumber(rawValue: replica), epoch: epoch, sequence: sequence, index: index))
  }

  private static let millisecondBits: UInt64 = 42
  private static let longCounter: UInt64 = 62
  private static let noCounter: UInt64 = 63

  private func isOfLane(_ other: Stamp) -> Bool { replica == other.replica && epoch == other.epoch }
}

// MARK: Writing

extension Stamp {
  func writeFirst(to pen: inout Pen) {
    let (milliseconds, counter) = (timestamp.milliseconds, UInt64(timestamp.counter))
    if milliseconds >> Self.millisecondBits == 0 {
      let short = min(counter, Self.longCounter)
      pen.write(milliseconds | short << Self.millisecondBits, byteCount: 6)
      if short == Self.longCounter { pen.write(varint: counter) }
    } else {
      pen.write(Self.noCounter << Self.millisecondBits, byteCount: 6)
      pen.write(timestamp.rawValue, byteCount: 8)
    }
    writeLane(to: &pen)
    pen.write(varint: sequence)
  }

  func write(after first: Stamp, to pen: inout Pen) {
    let earlier = Int64(first.timestamp.milliseconds) - Int64(timestamp.milliseconds)
    let zigzag = zigzagBits(earlier)
    let byteCount = (71 - zigzag.leadingZeroBitCount) / 8
    if byteCount <= 6, timestamp.counter < 32 {
      pen.write(UInt8(timestamp.counter) << 3 | UInt8(byteCount))
      pen.write(zigzag, byteCount: byteCount)
    } else {
      pen.write(7)
      pen.write(timestamp.rawValue, byteCount: 8)
    }
    let before = Int64(bitPattern: first.sequence &- sequence)
    if isOfLane(first), before.magnitude < 1 << 61 {
      pen.write(0)
      pen.write(varint: zigzagBits(before))
    } else {
      writeLane(to: &pen)
      pen.write(varint: sequence)
    }
  }

  private func writeLane(to pen: inout Pen) {
    pen.write(varint: UInt64(replica) * 2 + (epoch == 0 ? 1 : 2))
    if epoch != 0 { pen.write(varint: UInt64(epoch)) }
  }

  /// Writes what heads of version 1 begin with: all but the index.
  func writeHead(to pen: inout Pen) {
    pen.write(timestamp.rawValue, byteCount: 8)
    pen.write(varint: UInt64(replica))
    pen.write(varint: UInt64(epoch))
    pen.write(varint: sequence)
  }
}

// MARK: Reading

extension Stamp {
  /// Reads the first stamp of a row; nil if it is damaged.
  init?(first reader: inout PlainReader) {
    let word = reader.word(byteCount: 6)
    if word >> Self.millisecondBits == Self.noCounter {
      timestamp = Timestamp(rawValue: reader.word(byteCount: 8))
    } else {
      let short = word >> Self.millisecondBits
      guard let counter = UInt16(exactly: short == Self.longCounter ? reader.varint() : short) else {
        return nil
      }
      timestamp = Timestamp(milliseconds: word & (1 << Self.millisecondBits - 1), counter: counter)
    }
    guard let lane = Self.lane(reader.varint(), &reader) else { return nil }
    (replica, epoch) = lane
    sequence = reader.varint()
    if reader.failed { return nil }
  }

  /// Reads a further stamp; nil if it is damaged.
  init?(_ reader: inout PlainReader, after first: Stamp) {
    let form = reader.byte()
    if form & 7 == 7 {
      timestamp = Timestamp(rawValue: reader.word(byteCount: 8))
      guard form == 7 else { return nil }
    } else {
      let earlier = unzigzag(reader.word(byteCount: Int(form & 7)))
      let milliseconds = Int64(first.timestamp.milliseconds) - earlier
      guard 0...Int64(Timestamp.millisecondsMax) ~= milliseconds else { return nil }
      timestamp = Timestamp(milliseconds: UInt64(milliseconds), counter: UInt16(form >> 3))
    }
    let lane = reader.varint()
    if lane == 0 {
      (replica, epoch) = (first.replica, first.epoch)
      let before = unzigzag(reader.varint())
      sequence = first.sequence &- UInt64(bitPattern: before)
      // No number of variable length has more than 63 bits.
      guard sequence >> 63 == 0 else { return nil }
    } else {
      guard let lane = Self.lane(lane, &reader) else { return nil }
      (replica, epoch) = lane
      sequence = reader.varint()
    }
    if reader.failed { return nil }
  }

  @inline(__always)
  private static func lane(_ code: UInt64, _ reader: inout PlainReader) -> (replica: UInt32, epoch: UInt32)? {
    guard code > 0, let replica = UInt32(exactly: (code - 1) / 2) else { return nil }
    if code & 1 == 1 { return (replica, 0) }
    guard let epoch = UInt32(exactly: reader.varint()), epoch > 0 else { return nil }
    return (replica, epoch)
  }

  /// Passes over the first stamp of a row.
  @inline(__always)
  static func skipFirst(_ reader: inout PlainReader) {
    let word = reader.word(byteCount: 6)
    if word >> millisecondBits >= longCounter {
      if word >> millisecondBits == noCounter { reader.skip(8) } else { _ = reader.varint() }
    }
    let lane = reader.varint()
    if lane == 0 { reader.failed = true }
    if lane & 1 == 0 { _ = reader.varint() }
    _ = reader.varint()
  }
}
