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

  @Test("Tokens open, and are written as they were")
  func tokens() throws {
    for (file, token, text) in [
      (
        "token-change", FrameExamples.changeToken,
        "AQEDYW5uBW5vdGVz_-7dzLuqmYh3ZlVEMyIRAOgHPls5CxvhCSLBMGQD7Xg8Bu0fmRTyncA4KcdFfN2H233cRWZt"
      ),
      (
        "token-change-start", FrameExamples.startToken,
        "AQEAAXoAAAAAAAAAAAAAAAAAAAAFAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAOL7cyg"
      ),
    ] {
      let bytes = try GoldenFileTests.read(file)
      #expect(try Codec.changeToken.decode(bytes) == token)
      #expect(try token.encoded() == bytes)
      #expect(try token.encodedText() == text)
      #expect(try ChangeToken(text: text) == token)
    }
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

  @Test("Envelopes open, and are written as they were")
  func envelopes() throws {
    let segment = try GoldenFileTests.read("segment-plain")
    for (file, offset, received) in [
      ("envelope", 258, 1_631_231_046_000), ("envelope-no-time", 1, nil),
    ] as [(String, UInt64, UInt64?)] {
      let bytes = try GoldenFileTests.read(file)
      let enveloped = EnvelopedBytes(offset: offset, receivedMilliseconds: received, segment: segment)
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
