import Testing

@testable import OperationFormat

@Suite("Values as bytes")
struct ValueCodecTests {
  /// One or more of every kind, with the ends of their ranges.
  static let examples: [Value] = [
    .null, true, false, 0, -1, 1, 63, -64, 64, .int(.max), .int(.min),
    .double(0), .double(-0.0), 1.5, .double(.nan), .double(.infinity), .double(.leastNonzeroMagnitude),
    .decimal(DecimalNumber("0")!), .decimal(DecimalNumber("-12.5")!),
    .decimal(DecimalNumber(coefficient: .max, exponent: 38)!),
    .decimal(DecimalNumber(coefficient: .min, exponent: -38)!),
    "", "a", "é", "e\u{301}", "\u{0}", .string(String(repeating: "ab", count: 100)),
    .bytes([]), .bytes([0, 255]), .date(microseconds: 0), .date(microseconds: .min),
    .date(microseconds: .max),
    .uuid(UniqueID(rawValue: 0)), .uuid(UniqueID(rawValue: .max)),
    .reference(Reference(record: "r")),
    .reference(Reference(zone: ZoneID(name: "z"), record: "r", rule: .cascade)),
    .reference(Reference(zone: ZoneID(owner: "o", name: "z"), record: "r", rule: .nullify)),
    .asset(AssetReference(hash: ContentHash(of: [UInt8]().span.bytes), byteCount: 0)),
    .asset(AssetReference(hash: ContentHash(of: [1].span.bytes), byteCount: .max)),
    [], [.null], [1, "a", [2]], [[], [:]], [:], ["": .null], ["a": 1, "b": ["c": [true]]],
    ["é": 1, "e\u{301}": 2],
  ]

  @Test("Each kind, cut at every byte, with every bit flipped, and with a byte more", arguments: examples)
  func everyKind(value: Value) {
    let faults = Codec.value.faults(of: value)
    #expect(faults.isEmpty)
  }

  @Test("All byte strings of one and two bytes, and of three with a known tag and small parts")
  func exhaustive() {
    var faults: [String] = []
    func check(_ bytes: [UInt8]) {
      if let fault = Codec.value.fault(bytes) { faults.append(fault) }
      if Codec.value.error(bytes) != validationError(bytes) {
        faults.append("\(hex(bytes)) is judged in two ways")
      }
    }
    check([])
    for first in 0...255 as ClosedRange<UInt8> {
      check([first])
      for second in 0...255 as ClosedRange<UInt8> { check([first, second]) }
    }
    let small: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 13, 127, 128, 255]
    for tag in 0...13 as ClosedRange<UInt8> {
      for a in small {
        for b in small {
          check([tag, a, b])
          for c in small {
            check([tag, a, b, c])
            for d in WideTests.choose(small, otherwise: [0, 2, 255]) { check([tag, a, b, c, d]) }
          }
        }
      }
    }
    #expect(faults.isEmpty)
  }

  @Test("Random values, whole and mutated: the decoder and the validator agree on every input")
  func mutations() throws {
    var random = SeededGenerator(71)
    var faults: [String] = []
    var accepted = 0
    let rounds = WideTests.choose(20_000, otherwise: 5000)
    for round in 0..<rounds {
      let value = random.value(depth: 4)
      let bytes = try value.encoded()
      if round.isMultiple(of: 64) { faults += Codec.value.faults(of: value) }
      for input in [bytes] + (0..<5).map({ _ in mutated(bytes, using: &random) }) {
        if let fault = Codec.value.fault(input) { faults.append(fault) }
        let error = Codec.value.error(input)
        if error != validationError(input) { faults.append("\(hex(input)) is judged in two ways") }
        if error == nil { accepted += 1 }
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
    // There must be enough of both outcomes for a useful test.
    #expect(accepted > rounds * 3 / 2 && accepted < rounds * 11 / 2, "\(accepted) of \(6 * rounds)")
  }

  @Test("Random bytes give an error, or a value with these bytes")
  func fuzz() {
    var random = SeededGenerator(72)
    var faults: [String] = []
    for _ in 0..<WideTests.choose(100_000, otherwise: 25_000) {
      var bytes = random.bytes(random.below(40))
      // Half of them begin with a known tag, so that decoding gets further.
      if !bytes.isEmpty && random.below(2) == 0 { bytes[0] = UInt8(random.below(14)) }
      if let fault = Codec.value.fault(bytes) { faults.append(fault) }
      if Codec.value.error(bytes) != validationError(bytes) {
        faults.append("\(hex(bytes)) is judged in two ways")
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  @Test("Equality and hash agree with the bytes")
  func equality() throws {
    var random = SeededGenerator(73)
    var values = Self.examples
    for _ in 0..<150 { values.append(random.value(depth: 2)) }
    var faults: [String] = []
    for a in values {
      for b in values {
        let isSame = try a.encoded() == b.encoded()
        if (a == b) != isSame || (a != b) == isSame { faults.append("\(a) and \(b)") }
        if isSame && a.hashValue != b.hashValue { faults.append("\(a) and \(b) by hash") }
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
    // Few values share a hash: null, both booleans and every other kind feed it.
    #expect(Set(values.map(\.hashValue)).count > Set(values).count * 9 / 10)
  }

  @Test("Every NaN is written as the one NaN, and no other is read; −0 is not 0")
  func numbers() throws {
    let nans: [Double] = [
      .nan, -.nan, .signalingNaN, Double(nan: 5, signaling: false), Double(bitPattern: 0xffff_ffff_ffff_ffff),
    ]
    for nan in nans {
      let bytes = try Value.double(nan).encoded()
      #expect(bytes == [4, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f])
      #expect(Value.double(nan) == .double(.nan))
      #expect(Value.double(nan).hashValue == Value.double(.nan).hashValue)
      let stored = [4] + NaiveTransaction.littleEndian(nan.bitPattern)
      let expected: FormatError.Code? = nan.bitPattern == 0x7ff8_0000_0000_0000 ? nil : .nonCanonical
      #expect(Codec.value.code(stored) == expected)
    }
    #expect((Value.double(0) == Value.double(-0.0)) == false)
    let zero = try Value.double(-0.0).encoded()
    #expect(zero == [4, 0, 0, 0, 0, 0, 0, 0, 0x80])
    let again = try Value(decoding: zero.span.bytes)
    #expect(again == .double(-0.0))
  }

  @Test(
    "Non-canonical forms, each with its error",
    arguments: [
      ([14], .unknownTag, 0), ([255], .unknownTag, 0), ([], .truncated, 0),
      ([3, 0x80, 0], .nonCanonical, 1),
      // Decimals: exponent out of range, a trailing zero, zero with an exponent, ten at the greatest
      // exponent.
      ([5, 78, 2], .invalid, 1), ([5, 77, 2], .invalid, 1), ([5, 0, 20], .nonCanonical, 1),
      ([5, 2, 0], .nonCanonical, 1), ([5, 76, 20], nil, 0), ([5, 75, 20], .nonCanonical, 1),
      ([6, 1, 0xff], .invalidUTF8, 2), ([6, 2, 0xc0, 0x80], .invalidUTF8, 2),
      ([6, 3, 0xed, 0xa0, 0x80], .invalidUTF8, 2),
      ([10, 3, 0, 1, 0x72], .unknownTag, 1), ([10, 0, 2, 1, 0x72], .invalid, 2),
      ([10, 0, 0, 0], .invalid, 3),
      ([10, 0, 1, 0, 0, 1, 0x72], .invalid, 4),
      // Maps: a key twice, keys in descending order; keys are ordered by bytes and not by length.
      ([13, 2, 1, 0x61, 0, 1, 0x61, 0], .nonCanonical, 5),
      ([13, 2, 1, 0x62, 0, 1, 0x61, 0], .nonCanonical, 5),
      ([13, 2, 1, 0x62, 0, 2, 0x61, 0x61, 0], .nonCanonical, 5),
      ([13, 2, 2, 0x61, 0x61, 0, 1, 0x62, 0], nil, 0),
      ([13, 2, 0, 0, 0, 0], .nonCanonical, 4),
    ] as [([UInt8], FormatError.Code?, Int)])
  func nonCanonical(bytes: [UInt8], code: FormatError.Code?, offset: Int) {
    let error = Codec.value.error(bytes)
    #expect(error?.code == code)
    #expect(error == nil || error?.offset == offset)
    #expect(validationError(bytes) == error)
  }

  @Test("Map keys are written in the order of their bytes, not the dictionary's")
  func mapOrder() throws {
    var random = SeededGenerator(74)
    for _ in 0..<200 {
      var entries: [Name: Value] = [:]
      for _ in 0..<random.below(30) { entries[random.name()] = Value.null }
      for _ in 0..<random.below(30) { entries[random.name()] = .int(Int64(random.below(9))) }
      let other = Dictionary(uniqueKeysWithValues: entries.shuffled(using: &random))
      let bytes = try Value.map(entries).encoded()
      let otherBytes = try Value.map(other).encoded()
      #expect(bytes == otherBytes)
      #expect(Codec.value.fault(bytes) == nil, "seed \(random.seed)")
    }
  }

  @Test("A failed encode leaves the writer as it was")
  func failedEncode() throws {
    var writer = ByteWriter()
    writer.append(7)
    let tooDeep = (0..<40).reduce(Value.null) { value, _ in [1, value] }
    #expect(throws: FormatError.self) { try tooDeep.encode(into: &writer) }
    #expect(writer.bytes == [7])
    try Value.bool(true).encode(into: &writer)
    #expect(writer.bytes == [7, 2])
  }

  @Test("Descriptions are short")
  func descriptions() {
    #expect("\([1, "a", .null, ["k": true]] as Value)" == #"[1, "a", null, ["k": true]]"#)
    #expect("\(Value.reference(Reference(zone: ZoneID(name: "z"), record: "r")))" == "→ z:r")
    #expect("\(Value.array([Value](repeating: 1, count: 100)))".count < 100)
    #expect("\(Value.string(String(repeating: "x", count: 10_000)))".count < 60)
    let deep = (0..<1000).reduce(Value.null) { value, _ in [value] }
    #expect("\(deep)".count < 60)
    for value in Self.examples { #expect(!"\(value)".contains("\n") && "\(value)".count < 120) }
  }
}
