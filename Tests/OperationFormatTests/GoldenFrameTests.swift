import Testing

@testable import OperationFormat

/// The files in `Golden` were built from the byte tables, not by the encoder. They must stay readable: a
/// change of a format adds files and changes none.
@Suite("Segments, tokens and events from earlier versions")
struct GoldenFrameTests {
  @Test("A plain segment opens, and is written as it was")
  func plainSegment() throws {
    let bytes = try GoldenFileTests.read("segment-plain")
    let framed = try Codec.segment.decode(bytes)
    #expect(framed.header == FrameExamples.plainHeader)
    #expect(framed.body == FrameExamples.plainBody)
    let again = try Codec.segment.encode(framed)
    #expect(again == bytes)
  }

  @Test("A packed segment opens, and its header is written as it was")
  func packedSegment() throws {
    let bytes = try GoldenFileTests.read("segment-packed")
    let framed = try Codec.segment.decode(bytes)
    #expect(framed.header == FrameExamples.packedHeader)
    let again = try Codec.segment.encode(framed)
    #expect(again == bytes)
  }

  @Test("Segments of version 2 open, and are written as they were")
  func segments() throws {
    for (file, header, body, signatures) in [
      ("segment-2", FrameExamples.header, FrameExamples.body, []),
      (
        "segment-2-reoffered", FrameExamples.reofferedHeader, FrameExamples.body,
        [UInt8](repeating: 1, count: 64) + [UInt8](repeating: 2, count: 64)
      ),
      (
        "segment-2-sealed", FrameExamples.sealedHeader, Array(0..<80), [UInt8](repeating: 1, count: 64)
      ),
    ] {
      let bytes = try GoldenFileTests.read(file)
      let framed = FramedBody(header: header, body: body, signatures: signatures)
      #expect(try Codec.segment.decode(bytes) == framed)
      #expect(try Codec.segment.encode(framed) == bytes)
      #expect(Codec.segment.checkedFaults(of: framed).isEmpty)
    }
  }

  @Test("The chain of a log, and the statements that it is over")
  func chain() {
    func hash(_ text: String) -> ContentHash { ContentHash(text)! }
    let start = LogChain.start(of: FrameExamples.incarnation)
    #expect(start.hash == hash("a20b15d6c277f6f23f014f7832cfbca7975dc5579f5c158484669046c7ff6847"))
    let statement = FrameExamples.header.statement
    #expect(statement.bytes.count == 165)
    #expect(statement.hash == hash("47bc179a50d9583594e815ef51374df0f9b4eeeba4b99c8acec361de8c587634"))
    let chain = LogChain(statement.hash, at: 1, after: start)
    #expect(chain.hash == hash("35e505c66259f2ffa728116d94fdd6414c475765c82397ffa758bfa9500bee7c"))
    // Neither packing nor signing nor offering it again changes what it states.
    var packed = FrameExamples.reofferedHeader
    (packed.codec, packed.packedBytes) = (.zstandard, 99)
    #expect(packed.statement == statement)
    #expect(
      packed.formerStatement?.hash == hash("4c92df0338aceda214b00c861dd197bf53f665fc990a3e682325a128cea82713")
    )
    #expect(FrameExamples.header.formerStatement == nil)
    var first = FrameExamples.header
    first.version = 1
    #expect(first.statement.hash == hash("372f4a5cec8c52e214791fcba303f1b3bafbe9576335a82c0bbdfdcf7f24b076"))
  }

  @Test("Tokens open, and are written as they were")
  func tokens() throws {
    for (file, token, text) in [
      (
        "token-change-2", FrameExamples.changeToken,
        "AgEDYW5uBW5vdGVz_-7dzLuqmYh3ZlVEMyIRAOgHPls5CxvhCSLBMGQD7Xg8Bu0fmRTyncA4KcdFfN2H230Ii-ufk3KpHUqvcrjaJxiADbvaGD1mphvaGqjWUc5jdcLeEQ8"
      ),
      (
        "token-change-2-start", FrameExamples.startToken,
        "AgEAAXoAAAAAAAAAAAAAAAAAAAAFAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAw2Xq1Q"
      ),
      (
        "token-change", FrameExamples.firstChangeToken,
        "AQEDYW5uBW5vdGVz_-7dzLuqmYh3ZlVEMyIRAOgHPls5CxvhCSLBMGQD7Xg8Bu0fmRTyncA4KcdFfN2H233cRWZt"
      ),
    ] {
      let bytes = try GoldenFileTests.read(file)
      #expect(try Codec.changeToken.decode(bytes) == token)
      #expect(try token.encoded() == bytes)
      #expect(try token.encodedText() == text)
      #expect(try ChangeToken(text: text) == token)
    }
    // Before the first segment every token has a chain.
    let start = try GoldenFileTests.read("token-change-start")
    #expect(try Codec.changeToken.decode(start) == FrameExamples.startToken)
    let token = FrameExamples.databaseToken
    let text = "AQIAESIzRFVmd4iZqrvM3e7_rAL-VWGd-096lZhPyvAL8YN0J5t3_P4VX-iizIj3-1ZmG7-oIOM"
    let bytes = try GoldenFileTests.read("token-database")
    #expect(try Codec.databaseToken.decode(bytes) == token)
    #expect(try token.encoded() == bytes)
    #expect(try token.encodedText() == text)
    #expect(try DatabaseToken(text: text) == token)
  }

  @Test("Events open, each with the hash of the previous one, and are written as they were")
  func events() throws {
    let zone = ZoneID(name: "z")
    let events = [
      ("zone-event-created", FrameExamples.created.event, 1 as UInt64),
      ("zone-event-reset", ZoneEvent(kind: .reset, zone: zone, incarnation: IncarnationID(rawValue: 6)), 2),
      ("zone-event-unknown", FrameExamples.unknownEvent.event, 0x0102_0304_0506_0708),
    ]
    var previous = ContentHash.zero
    for (file, event, offset) in events {
      let bytes = try GoldenFileTests.read(file)
      let read = try ZoneEvent.read(bytes.span.bytes)
      #expect(read.event == event && read.offset == offset && read.previous == previous)
      #expect(read.hash == ContentHash(ofBytes: bytes))
      let again = try event.encode(at: offset, after: previous)
      #expect(again == bytes)
      previous = read.hash
    }
  }

  @Test("The floor of a log opens, and is written as it was; no other bytes open")
  func floor() throws {
    func hash(_ byte: UInt8) -> ContentHash {
      ContentHash(String(repeating: String(byte, radix: 16), count: 32))!
    }
    let bytes = try GoldenFileTests.read("floor")
    let floor = LogFloor(
      IncarnationID(rawValue: 5), offset: 258, maker: ReplicaID(rawValue: 7), hash: hash(0xAB),
      chain: LogChain(hash: hash(0xCD)))
    #expect(try LogFloor.read(bytes.span.bytes) == floor)
    #expect(floor.encode() == bytes && bytes.count <= LogFloor.bytesMax)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 1
      #expect(throws: FormatError.self) { try LogFloor.read(damaged.span.bytes) }
      let cut = Array(bytes[..<index])
      #expect(throws: FormatError.self) { try LogFloor.read(cut.span.bytes) }
    }
  }

  @Test(
    "No offset of a log is beyond the greatest one",
    arguments: [0, Limits.placeMax, Limits.placeMax + 1, .max])
  func offsets(offset: UInt64) throws {
    var writer = ByteWriter()
    writer.append(littleEndian: offset)
    var reader = ByteReader(writer.span)
    if offset == Limits.placeMax {
      #expect(try reader.readOffset("offset") == offset)
      return
    }
    do throws(FormatError) {
      _ = try reader.readOffset("offset")
      Issue.record("\(offset) was read")
    } catch {
      #expect(error.code == .invalid)
    }
  }

  @Test(
    "The manifests of snapshots of all versions open, and are written as they were; no other bytes open",
    arguments: [("snapshot", nil, true), ("snapshot-2", 200, true), ("snapshot-3", 200, false)]
      as [(String, UInt64?, Bool)])
  func snapshots(name: String, floor: UInt64?, hasAllEntries: Bool) throws {
    func hash(_ byte: UInt8) -> ContentHash {
      ContentHash(String(repeating: String(byte, radix: 16), count: 32))!
    }
    let bytes = try GoldenFileTests.read(name)
    let manifest = SnapshotManifest(
      zone: ZoneID(name: "lists"), incarnation: IncarnationID(rawValue: 5), offset: 258, hash: hash(0xAB),
      chain: LogChain(hash: hash(0xCD)), content: hash(0xEF), digest: hash(0x12), floor: floor,
      hasAllEntries: hasAllEntries, records: 3,
      parts: [SnapshotManifest.Part(byteCount: 300, storedBytes: 40, hash: hash(0x34))])
    #expect(try SnapshotManifest.read(bytes.span.bytes) == manifest)
    #expect(manifest.encode() == bytes)
    #expect(manifest.foldedThrough == (hasAllEntries ? 0 : 200))
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 1
      #expect(throws: FormatError.self) { try SnapshotManifest.read(damaged.span.bytes) }
      let cut = Array(bytes[..<index])
      #expect(throws: FormatError.self) { try SnapshotManifest.read(cut.span.bytes) }
    }
  }

  @Test("Envelopes open, and are written as they were")
  func envelopes() throws {
    let segment = try GoldenFileTests.read("segment-plain")
    func chain(_ text: String) -> LogChain { LogChain(hash: ContentHash(ofText: text)) }
    for (file, offset, received, chain) in [
      ("envelope", 258, 1_631_231_046_000, nil), ("envelope-no-time", 1, nil, nil),
      ("envelope-2", 258, 1_631_231_046_000, chain("chain 258")),
    ] as [(String, UInt64, UInt64?, LogChain?)] {
      let bytes = try GoldenFileTests.read(file)
      let enveloped = EnvelopedBytes(
        offset: offset, receivedMilliseconds: received, chain: chain, segment: segment)
      #expect(try Codec.envelope.decode(bytes) == enveloped)
      #expect(try Codec.envelope.encode(enveloped) == bytes)
    }
  }

  @Test("Seals open, and are written as they were")
  func seals() throws {
    let files = ["seal-deleted", "seal-purged", "seal-reset"]
    for (file, seal) in zip(files, FrameExamples.seals) {
      let bytes = try GoldenFileTests.read(file)
      #expect(try Codec.seal.decode(bytes) == seal)
      #expect(seal.encode() == bytes)
    }
  }

  @Test("Tombstones open, and are written as they were")
  func tombstones() throws {
    for (file, tombstone) in zip(["tombstone", "tombstone-of-list"], FrameExamples.tombstones) {
      let bytes = try GoldenFileTests.read(file)
      #expect(try Codec.tombstone.decode(bytes) == tombstone)
      #expect(try tombstone.encode() == bytes)
      #expect(bytes.count <= LogTombstone.bytesMax)
    }
  }
}
