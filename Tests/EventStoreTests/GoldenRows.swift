import EventStore
import Testing

/// The bytes of rows as version 1 writes them. They must be read for ever: a change here is a change of the format.
@Suite("Rows of format version 1")
struct GoldenRows {
  static let hash = ContentHash(of: [1, 2, 3].span.bytes)

  func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let text = String(byte, radix: 16)
      return byte < 16 ? "0" + text : text
    }.joined()
  }

  @Test("a log entry, with and without base and parent")
  func logEntry() throws {
    let least = LogEntryHeader(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 2), epoch: 0, sequence: 3, base: nil,
      parent: nil, arrivalDelay: 0)
    let full = LogEntryHeader(
      zone: ZoneNumber(rawValue: 300), replica: ReplicaNumber(rawValue: 2), epoch: 4, sequence: 5_000_000_000,
      base: (IncarnationNumber(rawValue: 6), 7), parent: (ReplicaNumber(rawValue: 8), 9, 10),
      arrivalDelay: -11)
    let body: [UInt8] = [0xb0, 0xd1]
    for (header, golden) in [
      (least, "0101020003000000" + "b0d1" + "a58c9d30"),
      (full, "01ac020204" + "80e497d012" + "0607" + "08090a" + "15" + "b0d1" + "41eb9351"),
    ] {
      var writer = ByteWriter()
      LogEntryCodec.append(header, body: body.span.bytes, at: Position(rawValue: 12), to: &writer)
      #expect(hex(writer.bytes) == golden)
      let bytes = writer.bytes
      let read = try LogEntryCodec.read(bytes.span.bytes, at: Position(rawValue: 12))
      #expect(read.header == header)
      #expect(Array(bytes[read.body]) == body)
      #expect(throws: FormatError.self) {
        try LogEntryCodec.read(bytes.span.bytes, at: Position(rawValue: 13))
      }
      for count in 0..<bytes.count {
        #expect(throws: FormatError.self) {
          try LogEntryCodec.read(bytes.span.bytes.extracting(..<count), at: Position(rawValue: 12))
        }
      }
      for bit in 0..<bytes.count * 8 {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(throws: FormatError.self) {
          try LogEntryCodec.read(flipped.span.bytes, at: Position(rawValue: 12))
        }
      }
    }
  }

  @Test("a record with a field")
  func recordRow() throws {
    let storage = MemoryFoldStorage(replicas: [ReplicaID(rawValue: 1)]) { _, _, _, _, _ in nil }
    var fold = Fold(storage: storage)
    let state = StateNumber(rawValue: 1)
    fold.viewpoint = Viewpoint(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: 1, base: nil)
    fold.timestamp = Timestamp(milliseconds: 0x0102_0304_0506, counter: 7)
    let name: [UInt8] = [0x72]
    let value = try Value.string("hi").encoded()
    try fold.create(name.span.bytes, in: state, type: NameNumber(rawValue: 1), index: 0)
    try fold.set(
      NameNumber(rawValue: 2), of: name.span.bytes, in: state, type: NameNumber(rawValue: 1),
      value: value.span.bytes, index: 1)
    try fold.flush()
    let row = storage.records[state]?[name] ?? []
    let head = "0700060504030201" + "01000101"
    #expect(
      hex(row) == "010001000000" + "00" + "10" + "01" + head + "020101" + "20" + "12" + "01" + head + "04"
        + "06026869")
  }

  @Test("rows of sync state")
  func syncState() throws {
    var zone = ZoneRow(state: StateNumber(rawValue: 1))
    zone.token = ZoneRow.Token(incarnation: IncarnationNumber(rawValue: 2), offset: 3, hash: Self.hash)
    zone.base = (IncarnationNumber(rawValue: 2), 4)
    zone.status = .offered
    let segment = SegmentRow(
      replica: ReplicaNumber(rawValue: 1), epoch: 2, first: 3, last: 400, hash: Self.hash,
      receivedMilliseconds: 5)
    let state = StateRow(zone: ZoneNumber(rawValue: 1), status: .discarded, lastRecord: 300)
    var writer = ByteWriter()
    zone.append(to: &writer)
    let hashText = "\(Self.hash)"
    #expect(hex(writer.bytes) == "010201000203" + hashText + "0204")
    let zoneBytes = writer.bytes
    let zoneRead = try ZoneRow(zoneBytes.span.bytes)
    #expect(zoneRead == zone)
    writer.removeAll()
    segment.append(to: &writer)
    #expect(hex(writer.bytes) == "010102039003" + hashText + "06")
    let segmentBytes = writer.bytes
    let segmentRead = try SegmentRow(segmentBytes.span.bytes)
    #expect(segmentRead == segment)
    writer.removeAll()
    state.append(to: &writer)
    #expect(hex(writer.bytes) == "010102ac02")
    let stateBytes = writer.bytes
    let stateRead = try StateRow(stateBytes.span.bytes)
    #expect(stateRead == state)
    for bytes in [zoneBytes, segmentBytes, stateBytes] {
      for count in 0..<bytes.count {
        let cut = Array(bytes.prefix(count))
        #expect(throws: FormatError.self) {
          switch bytes {
          case zoneBytes: _ = try ZoneRow(cut.span.bytes)
          case segmentBytes: _ = try SegmentRow(cut.span.bytes)
          default: _ = try StateRow(cut.span.bytes)
          }
        }
      }
    }
  }
}
