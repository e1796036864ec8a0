import Testing

@testable import EventStore

/// The bytes of rows as version 1 writes them. They must stay readable: a change here is a change of the
/// format.
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
    var removed = ByteWriter()
    let run = Position(rawValue: 12)...Position(rawValue: 411)
    LogEntryCodec.appendRemoved(run, to: &removed)
    let row = removed.bytes
    #expect(hex(row) == "029003" + "6c4e8ebf")
    let runRead = try LogEntryCodec.removedRun(row.span.bytes, at: run.lowerBound)
    #expect(runRead == run)
    #expect(throws: FormatError.self) { try LogEntryCodec.removedRun(row.span.bytes, at: run.upperBound) }
    for bit in 8..<row.count * 8 {
      var flipped = row
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: FormatError.self) {
        try LogEntryCodec.removedRun(flipped.span.bytes, at: run.lowerBound)
      }
    }
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

  @Test("a run of log entries, and rows of sequences, as format 3 writes them")
  func runs() throws {
    let headers = [(3, 0), (4, -11)].map { sequence, delay in
      LogEntryHeader(
        zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 2), epoch: 0,
        sequence: UInt64(sequence), base: nil, parent: nil, arrivalDelay: Int64(delay))
    }
    let body: [UInt8] = [0xb0, 0xd1]
    var run = LogRun(startingWith: headers[0])
    for header in headers { run.append(header, body: body.span.bytes) }
    var writer = ByteWriter()
    run.write(at: Position(rawValue: 12), to: &writer)
    let transaction = "0100" + String(repeating: "0", count: 31) + "2" + "00"
    let golden =
      "03010200030002" + "000019" + transaction + "03" + "00017a" + "b0d1" + "40001519" + transaction + "04"
      + "00017a" + "b0d1" + "de107d79"
    #expect(hex(writer.bytes) == golden)
    let decoded = try DecodedRun(writer.span, at: Position(rawValue: 12))
    for (index, header) in headers.enumerated() {
      let position = Position(rawValue: 12 + UInt64(index))
      let isSame = decoded.withEntry(at: position) { $0 == header && $1.bytes == body }
      #expect(isSame)
    }
    let lane = Lane(zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 2), epoch: 0)
    let key = TableKey.sequence(lane, 3)
    for (count, golden) in [(1, "0c" + "7faf9910"), (300, "0c" + "ac02" + "dbfbf4e3")] as [(UInt64, String)] {
      var sequences = SequenceRun(3, at: Position(rawValue: 12))
      sequences.count = count
      writer.removeAll()
      sequences.append(to: &writer)
      writer.appendChecksum(under: key.span)
      #expect(hex(writer.bytes) == golden)
      let read = try SequenceRun(CheckedRow.content(of: writer.span, under: key.span), under: key.span)
      #expect(read == sequences)
    }
  }

  @Test("a record with a field")
  func recordRow() throws {
    let storage = MemoryFoldStorage(replicas: [ReplicaID(rawValue: 1)]) { _, _, _, _, _ in nil }
    var fold = Fold(storage: storage)
    let state = StateNumber(rawValue: 1)
    fold.context = CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: 1, base: nil)
    fold.timestamp = Timestamp(milliseconds: 0x0102_0304_0506, counter: 7)
    let name: [UInt8] = [0x72]
    let value = try Value.string("hi").encoded()
    try fold.create(name.span.bytes, in: state, type: NameNumber(rawValue: 1), index: 0)
    try fold.change(
      .set, NameNumber(rawValue: 2), of: name.span.bytes, in: state, type: NameNumber(rawValue: 1),
      operand: value.span.bytes, index: 1)
    try fold.flush()
    let row = try #require(try storage.row(of: name.span.bytes, in: state))
    let head = "0700060504030201" + "01000101"
    #expect(
      hex(row) == "010001000000" + "00" + "10" + "01" + head + "020101" + "0f" + "0b" + head.dropLast(2)
        + "20" + "12"
        + "01" + head + "04" + "06026869")
    let stored = try #require(storage.records[state]?[name])
    #expect(hex(stored) == "50" + "01" + "06050403021d" + "03" + "01" + "0101" + "06026869")
  }

  @Test("rows of sync state")
  func syncState() throws {
    var zone = ZoneRow(state: StateNumber(rawValue: 1))
    zone.token = ZoneRow.Token(incarnation: IncarnationNumber(rawValue: 2), offset: 3, hash: Self.hash)
    zone.base = (IncarnationNumber(rawValue: 2), 4)
    zone.status = .offered
    let segment = SegmentRow(
      replica: ReplicaNumber(rawValue: 1), epoch: 2, first: 3, last: 400, hash: Self.hash,
      receivedMilliseconds: 5, chain: LogChain(hash: Self.hash))
    let state = StateRow(zone: ZoneNumber(rawValue: 1), status: .discarded, lastRecord: 300)
    var writer = ByteWriter()
    zone.append(to: &writer)
    let hashText = "\(Self.hash)"
    #expect(hex(writer.bytes) == "018201000203" + hashText + "0204")
    let zoneBytes = writer.bytes
    for status in [ZoneRow.Status.local, .attached, .offered, .deleting, .removed] {
      var one = ByteWriter()
      ZoneRow(state: StateNumber(rawValue: 1), status: status).append(to: &one)
      let codes: [UInt8] = [0x00, 0x81, 0x82, 0x03, 0x84]
      #expect(one.bytes[1] == codes[Int(status.rawValue)])
      for bit in 0..<8 {
        var flipped = one.bytes
        flipped[1] ^= 1 << UInt8(bit)
        #expect(throws: FormatError.self) { try ZoneRow(flipped.span.bytes) }
      }
    }
    let zoneRead = try ZoneRow(zoneBytes.span.bytes)
    #expect(zoneRead == zone)
    writer.removeAll()
    segment.append(to: &writer)
    #expect(hex(writer.bytes) == "020102039003" + hashText + hashText + "06")
    let segmentBytes = writer.bytes
    // A row of an earlier program has no chain, and stays as it is until the chain is known.
    let first = try SegmentRow(hexBytes("010102039003" + hashText + "06").span.bytes)
    #expect(first.isOfFirstVersion && first.chain == nil && first.hash == segment.hash)
    var firstAgain = ByteWriter()
    first.append(to: &firstAgain)
    #expect(hex(firstAgain.bytes) == "010102039003" + hashText + "06")
    let segmentRead = try SegmentRow(segmentBytes.span.bytes)
    #expect(segmentRead == segment)
    writer.removeAll()
    state.append(to: &writer)
    #expect(hex(writer.bytes) == "010102ac02")
    let stateBytes = writer.bytes
    let stateRead = try StateRow(stateBytes.span.bytes)
    #expect(stateRead == state)
    let header = SegmentHeader(
      zone: ZoneID(name: "notes"), incarnation: IncarnationID(rawValue: 1), replica: ReplicaID(rawValue: 2),
      epoch: 3, sequences: 4...500, base: 6, baseProof: Self.hash, operationCount: 700,
      timestamps: Timestamp(rawValue: 8)...Timestamp(rawValue: 9), codec: .zstandard, keyID: 0,
      unpackedBytes: 1000, packedBytes: 100, contentHash: Self.hash, previousHash: .zero)
    let cut = CutRow(header, IncarnationNumber(rawValue: 1), ReplicaNumber(rawValue: 2))
    writer.removeAll()
    cut.append(to: &writer)
    #expect(
      hex(writer.bytes)
        == "020102030" + "4f40306" + hashText + "bc05" + "0800000000000000" + "0900000000000000" + "01" + "00"
        + "e807" + "64" + hashText + String(repeating: "0", count: 64))
    let cutBytes = writer.bytes
    let cutRead = try CutRow(cutBytes.span.bytes)
    #expect(cutRead == cut)
    let headerRead = cutRead.header(header.zone, header.incarnation, header.replica)
    #expect(headerRead == header)
    for bytes in [zoneBytes, segmentBytes, stateBytes, cutBytes] {
      for count in 0..<bytes.count {
        let cut = Array(bytes.prefix(count))
        #expect(throws: FormatError.self) {
          switch bytes {
          case zoneBytes: _ = try ZoneRow(cut.span.bytes)
          case cutBytes: _ = try CutRow(cut.span.bytes)
          case segmentBytes: _ = try SegmentRow(cut.span.bytes)
          default: _ = try StateRow(cut.span.bytes)
          }
        }
      }
    }
  }
}

/// The bytes of hexadecimal digits.
private func hexBytes(_ text: String) -> [UInt8] {
  stride(from: 0, to: text.count, by: 2).map { index in
    let start = text.index(text.startIndex, offsetBy: index)
    return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16)!
  }
}
