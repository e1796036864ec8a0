internal import EventStore
internal import OperationFormat

/// What writers say about the ends of logs, in one object that each overwrites without a condition. It may be
/// late, wrong, or lost: two that write it at once lose one of the two. Nothing depends on it but the time
/// after which a change is found.
///
/// The latest writes come first. A reader that knows one of their stamps knows all that changed since: the
/// logs of the writes before it in the object.
///
/// | bytes | what |
/// |---|---|
/// | 4 | `TRHT` |
/// | 1 | version, 1 |
/// | 1 | flags, 0 |
/// | 16 | the remote's identity, big-endian |
/// | 8 | offset of the last event of the list of zones, little-endian |
/// | 1 | the number of writes, at most 64 |
/// | 4 | CRC-32C of all bytes before it, little-endian |
///
/// The writes are before the checksum. Each is:
///
/// | bytes | what |
/// |---|---|
/// | 16 | its stamp: random bits |
/// | 2 | the number of its logs, little-endian; at most 256 in all writes |
/// | 24 × | incarnation, big-endian, and offset of the last entry, little-endian |
struct HintObject: Hashable, Sendable {
  static let writesMax = 64
  static let logsMax = 256
  /// The largest object.
  static let bytesMax = 35 + 18 * writesMax + 24 * logsMax
  private static let magic: [UInt8] = Array("TRHT".utf8)
  private static let version: UInt8 = 1

  /// 128 random bits.
  struct Stamp: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    static func random(_ makeRandom: () -> UInt64) -> Stamp {
      Stamp(high: makeRandom(), low: makeRandom())
    }
  }

  struct Write: Hashable, Sendable {
    var stamp: Stamp
    var logs: [Log]
  }

  struct Log: Hashable, Sendable {
    var incarnation: IncarnationID
    var offset: UInt64
  }

  var remote: RemoteID
  /// The offset of the last event of the list of zones.
  var listOffset: UInt64 = 0
  /// The latest one first.
  private(set) var writes: [Write] = []

  init(of remote: RemoteID) { self.remote = remote }

  /// The stamp of the latest write; nil if there is none.
  var stamp: Stamp? { writes.first?.stamp }

  /// The logs that were written since a write; nil if the object does not have that write any more.
  func logs(since stamp: Stamp) -> [Log]? {
    guard let index = writes.firstIndex(where: { $0.stamp == stamp }) else { return nil }
    return writes[..<index].flatMap(\.logs)
  }

  /// Adds a write, and drops the oldest ones that have no room beside it. If the logs are too many for one
  /// object, it has none of them: then nobody knows an earlier stamp, and all look for themselves.
  mutating func add(_ logs: [Log], listOffset: UInt64, _ stamp: Stamp) {
    self.listOffset = max(self.listOffset, listOffset)
    guard logs.count <= Self.logsMax else {
      writes = [Write(stamp: stamp, logs: [])]
      return
    }
    let named = Set(logs.map(\.incarnation))
    for index in writes.indices { writes[index].logs.removeAll { named.contains($0.incarnation) } }
    writes.insert(Write(stamp: stamp, logs: logs), at: 0)
    var count = 0
    let kept = writes.prefix(Self.writesMax).prefix { write in
      count += write.logs.count
      return count <= Self.logsMax
    }
    writes = Array(kept)
  }

  // MARK: Bytes

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(Self.magic + [Self.version, 0])
    writer.append(bigEndian: remote.rawValue)
    writer.append(littleEndian: listOffset)
    writer.append(UInt8(writes.count))
    for write in writes {
      writer.append(bigEndian: write.stamp.high)
      writer.append(bigEndian: write.stamp.low)
      writer.append(littleEndian: UInt16(write.logs.count))
      for log in write.logs {
        writer.append(bigEndian: log.incarnation.rawValue)
        writer.append(littleEndian: log.offset)
      }
    }
    writer.append(littleEndian: crc32c(writer.span))
    return writer.bytes
  }

  /// Reads the object.
  ///
  /// - Throws: `FormatError` for any bytes that are not exactly such an object.
  init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    let magic = try reader.readBytes(Self.magic.count, "hint.magic")
    guard equalBytes(reader.bytes(in: magic), Self.magic.span.bytes) else {
      throw reader.fail(.invalid, at: 0, "hint.magic", expected: "TRHT", found: "other bytes")
    }
    let version = try reader.readUInt8("hint.version")
    let flags = try reader.readUInt8("hint.flags")
    guard version == Self.version, flags == 0 else {
      throw reader.fail(
        .newerFormat, at: 4, "hint.version", expected: "version 1.0", found: "\(version).\(flags)")
    }
    remote = RemoteID(rawValue: try reader.readBigEndian("hint.identity"))
    listOffset = try reader.readLittleEndian("hint.list")
    let count = Int(try reader.readUInt8("hint.writes"))
    guard count <= Self.writesMax else {
      throw reader.fail(
        .invalid, at: reader.position - 1, "hint.writes", expected: "at most \(Self.writesMax)",
        found: "\(count)")
    }
    var logsLeft = Self.logsMax
    for _ in 0..<count { writes.append(try Self.readWrite(from: &reader, &logsLeft)) }
    let end = reader.position
    let checksum: UInt32 = try reader.readLittleEndian("hint.checksum")
    try reader.finish("hint")
    let found = crc32c(bytes.extracting(..<end))
    guard checksum == found else {
      throw reader.fail(
        .damaged, at: end, "hint.checksum", expected: "CRC-32C \(checksum)", found: "\(found)")
    }
  }

  private static func readWrite(
    from reader: inout ByteReader, _ logsLeft: inout Int
  ) throws(FormatError) -> Write {
    let high: UInt64 = try reader.readBigEndian("hint.stamp")
    let low: UInt64 = try reader.readBigEndian("hint.stamp")
    var write = Write(stamp: Stamp(high: high, low: low), logs: [])
    let count: UInt16 = try reader.readLittleEndian("hint.logs")
    guard Int(count) <= logsLeft else {
      throw reader.fail(
        .invalid, at: reader.position - 2, "hint.logs", expected: "at most \(logsLeft)", found: "\(count)")
    }
    logsLeft -= Int(count)
    for _ in 0..<count {
      let incarnation = IncarnationID(rawValue: try reader.readBigEndian("hint.incarnation"))
      write.logs.append(Log(incarnation: incarnation, offset: try reader.readLittleEndian("hint.offset")))
    }
    return write
  }
}
