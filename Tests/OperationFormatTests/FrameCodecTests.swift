import Testing

@testable import OperationFormat

@Suite("Segments, tokens and events as bytes")
struct FrameCodecTests {
  @Test("Segments and their headers, cut at every byte and with every bit flipped, are damaged")
  func segments() {
    let headers = [FrameExamples.plainHeader, FrameExamples.packedHeader]
    var faults: [String] = []
    for header in headers { faults += Codec.segmentHeader.checkedFaults(of: header) }
    let body = FrameExamples.plainBody
    faults += Codec.segment.checkedFaults(of: FramedBody(header: headers[0], body: body))
    let packed = [UInt8](repeating: 7, count: Int(headers[1].packedBytes))
    faults += Codec.segment.checkedFaults(of: FramedBody(header: headers[1], body: packed))
    #expect(faults.isEmpty)
  }

  @Test("Tokens, events, seals and tombstones, cut at every byte and with every bit flipped, are damaged")
  func smallOnes() {
    var faults = Codec.changeToken.checkedFaults(of: FrameExamples.changeToken)
    faults += Codec.changeToken.checkedFaults(of: FrameExamples.startToken)
    faults += Codec.databaseToken.checkedFaults(of: FrameExamples.databaseToken)
    faults += Codec.zoneEvent.checkedFaults(of: FrameExamples.created)
    faults += Codec.zoneEvent.checkedFaults(of: FrameExamples.unknownEvent)
    for seal in FrameExamples.seals { faults += Codec.seal.checkedFaults(of: seal) }
    for tombstone in FrameExamples.tombstones { faults += Codec.tombstone.checkedFaults(of: tombstone) }
    #expect(faults.isEmpty)
  }

  @Test("Envelopes, cut at every byte and with every bit of their own bytes flipped, are damaged")
  func envelopes() throws {
    for received in [nil, 0, 1, 1_631_231_046_000, UInt64.max - 1] as [UInt64?] {
      let chain = LogChain(hash: ContentHash(ofText: "chain"))
      for (chain, headerBytes, isOfferedAgain) in [(nil, 34, false), (chain, 70, false), (chain, 70, true)] {
        let enveloped = EnvelopedBytes(
          offset: 300, receivedMilliseconds: received, chain: chain, isOfferedAgain: isOfferedAgain,
          segment: [1, 2, 3])
        let faults = Codec.envelope.checkedFaults(of: enveloped, checked: headerBytes)
        #expect(faults.isEmpty)
        let bytes = try Codec.envelope.encode(enveloped)
        for count in headerBytes...bytes.count {
          let start = Array(bytes.prefix(count))
          let envelope = try SegmentEnvelope.readHeader(start.span.bytes)
          #expect(envelope.offset == 300 && envelope.receivedMilliseconds == received)
          #expect(envelope.segmentBytes == 3 && envelope.chain == chain)
          #expect(envelope.headerBytes == headerBytes && envelope.isOfferedAgain == isOfferedAgain)
        }
      }
    }
  }

  @Test("An envelope with a flag that this version does not know is a newer one")
  func envelopeFlags() throws {
    for bit in 0..<8 as Range<UInt8> {
      var bytes = SegmentEnvelope.encode(
        offset: 1, receivedMilliseconds: nil, chain: nil, segment: [UInt8]().span.bytes)
      bytes[5] = 1 << bit
      #expect(Codec.envelope.code(withChecksum(bytes)) == (bit == 0 ? nil : .newerFormat))
    }
  }

  @Test("An envelope of the largest segment, and of a segment with one byte more")
  func largestEnvelope() {
    func code(_ segmentBytes: Int) -> FormatError.Code? {
      let empty = [UInt8]()
      var bytes = SegmentEnvelope.encode(
        offset: 1, receivedMilliseconds: nil, chain: nil, segment: empty.span.bytes)
      bytes.replaceSubrange(22..<30, with: NaiveTransaction.littleEndian(UInt64(segmentBytes)))
      return Codec.envelope.code(withChecksum(bytes))
    }
    #expect(code(0) == nil)
    #expect(code(SegmentFrame.bytesMax) == .truncated)
    #expect(code(SegmentFrame.bytesMax + 1) == .limitExceeded)
  }

  @Test("A header among other bytes: it is read at its place, and errors have that place")
  func headerAmongOthers() throws {
    var naive = NaiveSegmentHeader(FrameExamples.packedHeader)
    let before: [UInt8] = [1, 2, 3]
    func read(_ bytes: [UInt8]) throws -> (header: SegmentHeader, end: Int) {
      let span = bytes.span
      var reader = ByteReader(span.bytes, at: 3, origin: 100)
      return (try SegmentHeader.read(from: &reader), reader.position)
    }
    let (header, end) = try read(before + naive.bytes + [9, 9])
    #expect(header == FrameExamples.packedHeader && end == 3 + naive.bytes.count)
    naive.operationCount = [0]
    let invalid = #expect(throws: FormatError.self) { try read(before + naive.bytes) }
    #expect(invalid?.offset == 103)
    naive.first = [0]
    let field = #expect(throws: FormatError.self) { try read(before + naive.bytes) }
    #expect(field?.offset == 103 + 8 + 4 + 6 + 16 + 16 + 2)
    let damaged = #expect(throws: FormatError.self) { try read(before + naive.bytes.dropLast() + [1]) }
    #expect(damaged?.code == .damaged && damaged?.offset == 100 + 3 + naive.bytes.count - 4)
  }

  @Test("Random headers have the bytes of the naive encoder, and are decoded again")
  func randomHeaders() throws {
    var random = SeededGenerator(91)
    for _ in 0..<3000 {
      let header = random.segmentHeader()
      let bytes = try Codec.segmentHeader.encode(header)
      #expect(bytes == NaiveSegmentHeader(header).bytes, "seed \(random.seed)")
      #expect(bytes.count <= SegmentHeader.headerBytesMax)
      let again = try Codec.segmentHeader.decode(bytes)
      #expect(again == header, "seed \(random.seed)")
    }
  }

  @Test("Random tokens and events are decoded again")
  func randomOthers() throws {
    var random = SeededGenerator(92)
    var faults: [String] = []
    for round in 0..<2000 {
      let offset = random.below(4) == 0 ? 0 : max(1, random.number())
      let hash = offset == 0 ? ContentHash.zero : random.hash()
      let token = ChangeToken(
        zone: random.zone(), incarnation: random.incarnation(), offset: offset, hash: hash,
        chain: random.below(4) == 0 ? nil : LogChain(hash: random.hash()))
      let text = try token.encodedText()
      let again = try ChangeToken(text: text)
      #expect(again == token, "seed \(random.seed)")
      let database = DatabaseToken(
        remote: RemoteID(rawValue: random.replica().rawValue), offset: offset, hash: hash)
      let databaseText = try database.encodedText()
      let databaseAgain = try DatabaseToken(text: databaseText)
      #expect(databaseAgain == database, "seed \(random.seed)")
      let kind = ZoneEvent.Kind(rawValue: UInt8(1 + random.below(255)))
      let placed = PlacedEvent(
        event: ZoneEvent(kind: kind, zone: random.zone(), incarnation: random.incarnation()),
        offset: min(offset, Limits.placeMax - 1) + 1, previous: hash)
      let bytes = try Codec.zoneEvent.encode(placed)
      #expect(bytes.count <= ZoneEvent.bytesMax)
      if try Codec.zoneEvent.decode(bytes) != placed { faults.append("\(placed)") }
      if round < 100 { faults += Codec.zoneEvent.checkedFaults(of: placed) }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  @Test("The longest names fit into the limits of a header, a token and an event")
  func longest() throws {
    let name = Name(String(repeating: "n", count: Limits.nameBytesMax))
    var header = FrameExamples.packedHeader
    header.zone = ZoneID(name: name)
    header.version = 2
    header.epoch = .max
    header.sequences = UInt64.max - 2...UInt64.max
    header.base = .max
    header.operationCount = UInt64(Limits.segmentOperationsMax)
    header.unpackedBytes = UInt64(Limits.segmentUnpackedBytesMax)
    header.packedBytes = UInt64(Limits.segmentPackedBytesMax)
    let bytes = try Codec.segmentHeader.encode(header)
    #expect(bytes.count == 334)
    var longest = header
    longest.device = DeviceID(rawValue: .max)
    longest.former = FormerPlace(
      incarnation: header.incarnation, offset: Limits.placeMax, base: Limits.placeMax - 1,
      baseChain: header.contentHash, previousHash: header.contentHash, keyID: .max,
      device: DeviceID(rawValue: .max))
    let longestBytes = try Codec.segmentHeader.encode(longest)
    #expect(longestBytes.count == 470 && longestBytes.count <= SegmentHeader.headerBytesMax)
    #expect(try Codec.segmentHeader.decode(longestBytes) == longest)
    let again = try Codec.segmentHeader.decode(bytes)
    #expect(again == header)
    #expect(again.transactionCount == 3)
    let token = ChangeToken(
      zone: ZoneID(owner: name, name: name), incarnation: header.incarnation, offset: .max,
      hash: header.contentHash, chain: LogChain(hash: header.contentHash))
    let tokenBytes = try token.encoded()
    #expect(tokenBytes.count == ChangeToken.bytesMax)
    let text = try token.encodedText()
    let tokenAgain = try ChangeToken(text: text)
    #expect(tokenAgain == token)
    let event = ZoneEvent(kind: .created, zone: token.zone, incarnation: header.incarnation)
    let eventBytes = try event.encode(at: 2, after: header.contentHash)
    #expect(eventBytes.count == ZoneEvent.bytesMax)
  }

  @Test("Names that are empty or too long are not encoded")
  func names() {
    for (zone, code) in [
      (ZoneID(name: ""), FormatError.Code.invalid),
      (ZoneID(name: Name(String(repeating: "n", count: 129))), .limitExceeded),
    ] {
      var header = FrameExamples.plainHeader
      header.zone = zone
      #expect(Codec.segmentHeader.code(encoding: header) == code)
      #expect(Codec.changeToken.code(encoding: .start(of: zone, FrameExamples.incarnation)) == code)
      var placed = FrameExamples.created
      placed.event.zone = zone
      #expect(Codec.zoneEvent.code(encoding: placed) == code)
    }
    var placed = FrameExamples.created
    placed.event.kind = ZoneEvent.Kind(rawValue: 0)
    #expect(Codec.zoneEvent.code(encoding: placed) == .invalid)
  }

  @Test("The first four bytes of a frame tell its kind")
  func kinds() throws {
    let segment = try Codec.segmentHeader.encode(FrameExamples.plainHeader)
    let envelope = SegmentEnvelope.encode(
      offset: 1, receivedMilliseconds: nil, chain: nil, segment: segment.span.bytes)
    let seal = FrameExamples.seals[0].encode()
    let event = try Codec.zoneEvent.encode(FrameExamples.created)
    for (bytes, kind) in [
      (segment, FrameKind.segment), (envelope, .envelope), (seal, .seal), (event, .zoneEvent),
    ] {
      #expect(FrameKind(of: bytes.span.bytes) == kind)
      let start = Array(bytes.prefix(3))
      #expect(FrameKind(of: start.span.bytes) == nil)
    }
    let text = Array("{\"it\": 1}".utf8)
    #expect(FrameKind(of: text.span.bytes) == nil)
    // Another kind of frame is not reported as damage.
    #expect(Codec.seal.code(event) == .invalid)
    #expect(Codec.zoneEvent.code(seal) == .invalid)
    #expect(Codec.envelope.code(segment) == .invalid)
    #expect(Codec.segmentHeader.code(envelope) == .invalid)
  }
}
