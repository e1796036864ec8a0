import Testing

@testable import OperationFormat

@Suite("The rules of a segment's header")
struct SegmentHeaderTests {
  /// Breaks one rule of a header and returns the error; checksum and byte count match again.
  static func error(
    _ header: SegmentHeader = FrameExamples.packedHeader, _ change: (inout NaiveSegmentHeader) -> Void
  ) -> FormatError? {
    var naive = NaiveSegmentHeader(header)
    change(&naive)
    return Codec.segmentHeader.error(naive.bytes)
  }

  static func varint(_ number: UInt64) -> [UInt8] { NaiveTransaction.varint(number) }

  @Test("Later and impossible versions, flags, codecs and keys")
  func future() {
    #expect(Self.error { _ in } == nil)
    for header in [FrameExamples.packedHeader, FrameExamples.header] {
      #expect(Self.error(header) { $0.version = 3 }?.code == .newerFormat)
      #expect(Self.error(header) { $0.version = 255 }?.code == .newerFormat)
      #expect(Self.error(header) { $0.version = 0 }?.code == .invalid)
      for bit in (header.version == 1 ? 0 : 3)..<8 as Range<UInt8> {
        #expect(Self.error(header) { $0.flags = 1 << bit }?.code == .newerFormat)
      }
    }
    #expect(Self.error { $0.codec = 3 }?.code == .newerFormat)
    #expect(Self.error { $0.codec = 255 }?.code == .newerFormat)
    let encrypted = Self.error { $0.keyID = Self.varint(7) }
    #expect(encrypted?.code == .newerFormat && encrypted?.subject == "segment.keyID")
    #expect(encrypted?.expected.contains("not sealed") == true)
    // A later version may have other fields, so none of them is checked.
    #expect(
      Self.error {
        $0.version = 3
        $0.zone = [255, 255]
        $0.more = [1, 2, 3]
      }?.code == .newerFormat)
  }

  @Test("Names, numbers and trailing bytes")
  func fields() {
    #expect(Self.error { $0.magic = Array("TRSH".utf8) }?.code == .invalid)
    #expect(Self.error { $0.zone = [0] }?.code == .invalid)
    #expect(Self.error { $0.zone = [1, 255] }?.code == .invalidUTF8)
    #expect(Self.error { $0.owner = Self.varint(129) }?.code == .limitExceeded)
    #expect(Self.error(FrameExamples.header) { $0.zone = Self.varint(129) }?.code == .limitExceeded)
    #expect(Self.error { $0.epoch = Self.varint(1 << 32) }?.code == .invalid)
    #expect(Self.error { $0.epoch = [0x80, 0] }?.code == .nonCanonical)
    #expect(Self.error { $0.first = [0] }?.code == .invalid)
    #expect(Self.error { $0.last = [6] }?.code == .invalid)
    #expect(Self.error { $0.previousHash.removeLast() }?.code == .truncated)
    #expect(Self.error { $0.more = [0] }?.code == .trailingBytes)
    #expect(Self.error { $0.more = [UInt8](repeating: 0, count: 400) }?.code == .damaged)
    let error = Self.error { $0.last = [6] }
    #expect(error?.subject == "segment.lastSequence")
    #expect(error?.offset == 8 + 4 + 6 + 16 + 16 + 2 + 1)
  }

  @Test("A sealed header has a key, and what the body has inside is not outside")
  func sealed() {
    let sealed = FrameExamples.sealedHeader
    #expect(Self.error(sealed) { _ in } == nil)
    #expect(Self.error(sealed) { $0.keyID = [0] }?.subject == "segment.keyID")
    #expect(Self.error(FrameExamples.header) { $0.keyID = [1] }?.code == .invalid)
    #expect(Self.error(sealed) { $0.keyID = Self.varint(1 << 32) }?.code == .invalid)
    #expect(Self.error(sealed) { $0.codec = 3 }?.code == .newerFormat)
    #expect(Self.error(sealed) { $0.last = Self.varint(6 + 65_536) }?.code == nil)
    #expect(Self.error(sealed) { $0.last = Self.varint(7 + 65_536) }?.code == .limitExceeded)
    let bytesMax = UInt64(Limits.segmentSealedBytesMax)
    #expect(Self.error(sealed) { $0.packedBytes = Self.varint(bytesMax) }?.code == nil)
    #expect(Self.error(sealed) { $0.packedBytes = Self.varint(bytesMax + 1) }?.code == .limitExceeded)
    // Its sizes are those of what is outside.
    #expect(Self.error(sealed) { $0.isSealed = false }?.code != nil)
  }

  @Test("A former place has an offset, and a base before it")
  func former() {
    let header = FrameExamples.reofferedHeader
    #expect(Self.error(header) { _ in } == nil)
    for (offset, base, isSigned) in [(4, 4, 1), (300, 300, 1), (300, 4, 2)]
      as [(UInt64, UInt64, UInt8)]
    {
      var naive = NaiveSegmentHeader(header)
      let rest = Array(naive.former[19...])
      naive.former = Array(naive.former[..<16]) + Self.varint(offset) + Self.varint(base) + rest
      naive.former[naive.former.count - 17] = isSigned
      #expect(Codec.segmentHeader.error(naive.bytes)?.code == .invalid, "\(offset), \(base)")
    }
    // Without an offset, the base may be any.
    let naive = NaiveSegmentHeader(header)
    var unplaced = naive
    unplaced.former =
      Array(naive.former[..<16]) + Self.varint(0) + Self.varint(300) + Array(naive.former[19...])
    #expect(Codec.segmentHeader.error(unplaced.bytes) == nil)
    #expect(Self.error(header) { $0.former.removeLast() }?.code == .truncated)
    #expect(Self.error(header) { $0.former.append(0) }?.code == .trailingBytes)
  }

  @Test("A base has a hash, and without a base there is none")
  func base() {
    #expect(Self.error { $0.baseProof = [UInt8](repeating: 0, count: 32) }?.subject == "segment.baseProof")
    var header = FrameExamples.packedHeader
    header.base = 0
    #expect(Codec.segmentHeader.code(encoding: header) == .invalid)
    header.baseProof = .zero
    #expect(Codec.segmentHeader.code(encoding: header) == nil)
    header.base = 1
    #expect(Codec.segmentHeader.code(encoding: header) == .invalid)
  }

  @Test("The order of timestamps")
  func timestamps() {
    #expect(Self.error { $0.least = $0.greatest }?.code == nil)
    #expect(Self.error { $0.least = $0.greatest + 1 }?.subject == "segment.greatestTimestamp")
  }

  @Test("Counts of operations and transactions")
  func counts() {
    #expect(Self.error { $0.operationCount = [0] }?.code == .invalid)
    #expect(Self.error { $0.operationCount = [1] }?.subject == "segment.sequences")
    #expect(Self.error { $0.operationCount = [2] }?.code == nil)
    #expect(Self.error { $0.operationCount = Self.varint(65_536) }?.code == nil)
    #expect(Self.error { $0.operationCount = Self.varint(65_537) }?.code == .limitExceeded)
    #expect(Self.error { $0.operationCount = Self.varint(.max) }?.code == .limitExceeded)
    // All sequences: with a sequence 0, their count would not fit into 64 bits.
    #expect(
      Self.error {
        $0.first = [1]
        $0.last = Self.varint(.max)
      }?.subject == "segment.sequences")
    // More transactions than the bytes have space for.
    #expect(
      Self.error {
        $0.operationCount = Self.varint(65_536)
        $0.last = Self.varint(7 + 369 / 2)
      }?.subject == "segment.unpackedBytes")
  }

  @Test("Sizes, packed and unpacked")
  func sizes() {
    func code(_ unpacked: UInt64, _ packed: UInt64, _ codec: UInt8) -> FormatError.Code? {
      Self.error {
        $0.unpackedBytes = Self.varint(unpacked)
        $0.packedBytes = Self.varint(packed)
        $0.codec = codec
      }?.code
    }
    let unpackedMax = UInt64(Limits.segmentUnpackedBytesMax)
    let packedMax = UInt64(Limits.segmentPackedBytesMax)
    #expect(code(100, 100, 0) == nil)
    #expect(code(100, 99, 0) == .invalid)
    #expect(code(100, 101, 0) == .invalid)
    #expect(code(packedMax, packedMax, 0) == nil)
    #expect(code(packedMax + 1, packedMax + 1, 0) == .limitExceeded)
    #expect(code(100, 99, 1) == nil)
    #expect(code(100, 100, 1) == .invalid)
    #expect(code(100, 99, 2) == nil)
    #expect(code(100, 100, 2) == .invalid)
    // A run says much in few bytes.
    #expect(code(unpackedMax, 300, 2) == nil)
    #expect(code(unpackedMax + 1, 300, 2) == .limitExceeded)
    #expect(code(100, 101, 1) == .invalid)
    #expect(code(unpackedMax, packedMax, 1) == nil)
    #expect(code(unpackedMax + 1, packedMax, 1) == .limitExceeded)
    #expect(code(unpackedMax, packedMax + 1, 1) == .limitExceeded)
    #expect(code(.max, 100, 1) == .limitExceeded)
    #expect(code(100, .max, 1) == .limitExceeded)
    // No frame of 100 bytes gives 64 MiB.
    #expect(code(unpackedMax, 100, 1) == .invalid)
    #expect(code(unpackedMax, unpackedMax >> 15, 1) == nil)
  }

  @Test("Mutations with a correct checksum give an error, or a header with these bytes")
  func mutations() {
    var random = SeededGenerator(93)
    var faults: [String] = []
    var accepted = 0
    let rounds = WideTests.choose(20_000, otherwise: 5000)
    for round in 0..<rounds {
      let header = round % 2 == 0 ? FrameExamples.packedHeader : random.segmentHeader()
      let naive = NaiveSegmentHeader(header)
      let start = naive.magic + [naive.version, naive.flags]
      let bytes = NaiveSegmentHeader.bytes(start, mutated(naive.fields, using: &random))
      if let fault = Codec.segmentHeader.fault(bytes) { faults.append(fault) }
      if Codec.segmentHeader.code(bytes) == nil { accepted += 1 }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
    #expect(accepted > rounds / 40 && accepted < rounds - rounds / 40, "\(accepted) of \(rounds)")
  }

  @Test("Random bytes give an error")
  func fuzz() {
    var random = SeededGenerator(94)
    for round in 0..<25_000 {
      var bytes = random.bytes(random.below(200))
      if round % 2 == 0 {
        bytes = Array("TRSG".utf8) + [UInt8(1 + round / 2 % 2), 0, UInt8(random.below(200)), 0] + bytes
      }
      #expect(Codec.segmentHeader.code(bytes) != nil, "seed \(random.seed)")
      #expect(Codec.segment.code(bytes) != nil, "seed \(random.seed)")
    }
  }
}
