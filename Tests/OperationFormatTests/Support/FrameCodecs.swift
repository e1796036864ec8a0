@testable import OperationFormat

/// An event with its place and the hash of the event before it.
struct PlacedEvent: Equatable {
  var event: ZoneEvent
  var offset: UInt64
  var previous: ContentHash
}

/// An envelope and the bytes in it.
struct EnvelopedBytes: Equatable {
  var offset: UInt64
  var receivedMilliseconds: UInt64?
  var chain: LogChain?
  var isOfferedAgain = false
  var segment: [UInt8]
}

/// A header, and the packed body and the signatures after it.
struct FramedBody: Equatable {
  var header: SegmentHeader
  var body: [UInt8]
  var signatures: [UInt8] = []
}

extension Codec where Thing == SegmentHeader {
  static var segmentHeader: Codec<SegmentHeader> {
    Codec(
      decode: { (bytes) throws(FormatError) in
        var reader = ByteReader(bytes.span.bytes)
        let header = try SegmentHeader.read(from: &reader)
        try reader.finish("header")
        return header
      },
      encode: { (header) throws(FormatError) in
        var writer = ByteWriter()
        try header.encode(into: &writer)
        return writer.bytes
      })
  }
}

extension Codec where Thing == FramedBody {
  static var segment: Codec<FramedBody> {
    Codec(
      decode: { (bytes) throws(FormatError) in
        let (header, body) = try SegmentFrame.read(bytes.span.bytes)
        return FramedBody(
          header: header, body: Array(bytes[body]),
          signatures: Array(bytes[body.upperBound..<bytes.count - ContentHash.byteCount]))
      },
      encode: { (framed) throws(FormatError) in
        try SegmentFrame.encode(
          framed.header, packedBody: framed.body.span.bytes, signatures: framed.signatures)
      })
  }
}

extension Codec where Thing == ChangeToken {
  static var changeToken: Codec<ChangeToken> {
    Codec(
      decode: { (bytes) throws(FormatError) in try ChangeToken(decoding: bytes.span.bytes) },
      encode: { (token) throws(FormatError) in try token.encoded() })
  }
}

extension Codec where Thing == DatabaseToken {
  static var databaseToken: Codec<DatabaseToken> {
    Codec(
      decode: { (bytes) throws(FormatError) in try DatabaseToken(decoding: bytes.span.bytes) },
      encode: { (token) throws(FormatError) in try token.encoded() })
  }
}

extension Codec where Thing == PlacedEvent {
  static var zoneEvent: Codec<PlacedEvent> {
    Codec(
      decode: { (bytes) throws(FormatError) in
        let read = try ZoneEvent.read(bytes.span.bytes)
        return PlacedEvent(event: read.event, offset: read.offset, previous: read.previous)
      },
      encode: { (placed) throws(FormatError) in
        try placed.event.encode(at: placed.offset, after: placed.previous)
      })
  }
}

extension Codec where Thing == EnvelopedBytes {
  static var envelope: Codec<EnvelopedBytes> {
    Codec(
      decode: { (bytes) throws(FormatError) in
        let (envelope, segment) = try SegmentEnvelope.read(bytes.span.bytes)
        return EnvelopedBytes(
          offset: envelope.offset, receivedMilliseconds: envelope.receivedMilliseconds,
          chain: envelope.chain, isOfferedAgain: envelope.isOfferedAgain, segment: Array(bytes[segment]))
      },
      encode: { (enveloped) throws(FormatError) in
        SegmentEnvelope.encode(
          offset: enveloped.offset, receivedMilliseconds: enveloped.receivedMilliseconds,
          chain: enveloped.chain, isOfferedAgain: enveloped.isOfferedAgain,
          segment: enveloped.segment.span.bytes)
      })
  }
}

extension Codec where Thing == LogSeal {
  static var seal: Codec<LogSeal> {
    Codec(
      decode: { (bytes) throws(FormatError) in try LogSeal.read(bytes.span.bytes) },
      encode: { (seal) throws(FormatError) in seal.encode() })
  }
}

extension Codec where Thing == LogTombstone {
  static var tombstone: Codec<LogTombstone> {
    Codec(
      decode: { (bytes) throws(FormatError) in try LogTombstone.read(bytes.span.bytes) },
      encode: { (tombstone) throws(FormatError) in try tombstone.encode() })
  }
}

extension Codec {
  /// The problems of a thing with a checksum over its first `checked` bytes (nil: over all): of its round
  /// trip, and of its bytes cut, with a byte more, or with any bit flipped. All of these must be errors, and
  /// none may report a newer version or a writer's defect for damaged bytes.
  func checkedFaults(of thing: Thing, checked: Int? = nil) -> [String] {
    do throws(FormatError) {
      let bytes = try encode(thing)
      var faults: [String] = []
      if try decode(bytes) != thing { faults.append("\(hex(bytes)) gives another thing") }
      for count in 0..<bytes.count {
        let code = code(Array(bytes.prefix(count)))
        if code != .truncated && code != .damaged {
          faults.append("\(hex(bytes)) cut to \(count) is \(code?.rawValue ?? "fine")")
        }
      }
      let longer = code(bytes + [0])
      if longer != .trailingBytes && longer != .damaged {
        faults.append("\(hex(bytes)) and a byte is accepted")
      }
      for bit in 0..<(8 * (checked ?? bytes.count)) {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        let code = code(flipped)
        // A change of the magic bytes looks like another kind of frame; a change of a byte count looks like a
        // shorter or longer one.
        if code != .damaged && code != .truncated && !(bit < 32 && code == .invalid) {
          faults.append("bit \(bit) of \(hex(bytes)) flipped is \(code?.rawValue ?? "fine")")
        }
      }
      return faults
    } catch {
      return ["an error in a round trip: \(error)"]
    }
  }
}

/// Replaces the last four bytes by the checksum of the bytes before.
func withChecksum(_ bytes: [UInt8]) -> [UInt8] {
  let content = Array(bytes.dropLast(4))
  var writer = ByteWriter()
  writer.append(content)
  writer.append(littleEndian: crc32c(content.span.bytes))
  return writer.bytes
}

extension ContentHash {
  init(ofBytes bytes: [UInt8]) {
    self.init(of: bytes.span.bytes)
  }

  init(ofText text: String) {
    self.init(ofBytes: Array(text.utf8))
  }
}
