import Testing

@testable import OperationFormat

@Suite("Numbers in bytes")
struct ByteReaderTests {
  static let varint = Codec<UInt64>(
    decode: { (bytes) throws(FormatError) in
      var reader = ByteReader(bytes.span.bytes)
      let number = try reader.readVarint("number")
      try reader.finish("number")
      return number
    },
    encode: { (number) throws(FormatError) in
      var writer = ByteWriter()
      writer.append(varint: number)
      return writer.bytes
    })

  static let zigzag128 = Codec<Int128>(
    decode: { (bytes) throws(FormatError) in
      var reader = ByteReader(bytes.span.bytes)
      let number = try reader.readZigzag128("number")
      try reader.finish("number")
      return number
    },
    encode: { (number) throws(FormatError) in
      var writer = ByteWriter()
      writer.append(zigzag128: number)
      return writer.bytes
    })

  @Test("All varints of one and two bytes, and every number below 70,000")
  func smallVarints() throws {
    var faults: [String] = []
    for first in 0...255 {
      faults += [Self.varint.fault([UInt8(first)])].compactMap(\.self)
      for second in 0...255 {
        faults += [Self.varint.fault([UInt8(first), UInt8(second)])].compactMap(\.self)
      }
    }
    for number in 0..<70_000 as Range<UInt64> {
      let bytes = try Self.varint.encode(number)
      if bytes != NaiveTransaction.varint(number) || bytes.count != ByteWriter.varintByteCount(number) {
        faults.append("\(number) is \(hex(bytes))")
      }
    }
    #expect(faults.isEmpty)
  }

  @Test("Varints around each power of two, cut and with flipped bits")
  func varintBoundaries() {
    var numbers: Set<UInt64> = [0, 1, .max]
    for shift in 0..<64 as Range<UInt64> {
      numbers.formUnion([1 << shift, (1 << shift) &- 1, (1 << shift) &+ 1])
    }
    for number in numbers.sorted() {
      let faults = Self.varint.faults(of: number)
      #expect(faults.isEmpty)
      #expect(ByteWriter.varintByteCount(number) == NaiveTransaction.varint(number).count)
    }
  }

  @Test("Numbers with padding, and numbers of more than 64 bits")
  func overlongVarints() {
    #expect(Self.varint.code([0x80, 0]) == .nonCanonical)
    #expect(Self.varint.code([0xff, 0x80, 0]) == .nonCanonical)
    let nines = [UInt8](repeating: 0xff, count: 9)
    #expect(Self.varint.code(nines + [1]) == nil)
    #expect(Self.varint.code(nines + [0]) == .nonCanonical)
    #expect(Self.varint.code(nines + [2]) == .invalid)
    #expect(Self.varint.code(nines + [0x81, 0]) == .invalid)
    #expect(Self.varint.code([UInt8](repeating: 0x80, count: 1000)) == .invalid)
    let eighteen = [UInt8](repeating: 0xff, count: 18)
    #expect(Self.zigzag128.code(eighteen + [3]) == nil)
    #expect(Self.zigzag128.code(eighteen + [4]) == .invalid)
    #expect(Self.zigzag128.code(eighteen + [0x83, 0]) == .invalid)
  }

  @Test("Signed numbers of 64 and 128 bits")
  func zigzag() throws {
    let expected: [(Int64, [UInt8])] = [
      (0, [0]), (-1, [1]), (1, [2]), (-2, [3]), (63, [126]), (-64, [127]), (64, [128, 1]),
      (.max, [254, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
      (.min, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
    ]
    for (number, bytes) in expected {
      var writer = ByteWriter()
      writer.append(zigzag: number)
      #expect(writer.bytes == bytes)
      var reader = ByteReader(bytes.span.bytes)
      let again = try reader.readZigzag("number")
      #expect(again == number)
    }
    var wide: [Int128] = [0, 1, -1, .max, .min]
    for shift in 0..<127 { wide += [1 << Int128(shift), -1 << Int128(shift), (1 << Int128(shift)) - 1] }
    for number in wide {
      let faults = Self.zigzag128.faults(of: number)
      #expect(faults.isEmpty)
    }
  }

  @Test("Fixed widths, texts and the narrowed end")
  func otherPrimitives() throws {
    var writer = ByteWriter()
    writer.append(littleEndian: 0x0102 as UInt16)
    writer.append(bigEndian: 0x0304_0506 as UInt32)
    writer.append(text: "é")
    writer.append(Array(1...24 as ClosedRange<UInt8>).span.bytes)
    #expect(writer.bytes == [2, 1, 3, 4, 5, 6, 2, 0xc3, 0xa9] + Array(1...24))
    let bytes = writer.bytes
    var reader = ByteReader(bytes.span.bytes, at: 0, origin: 100)
    let little = try reader.readLittleEndian("a", as: UInt16.self)
    let big = try reader.readBigEndian("b", as: UInt32.self)
    let text = try reader.readString("c", bytesMax: 2)
    #expect(little == 0x0102 && big == 0x0304_0506 && text == "é")
    let end = reader.narrow(toNext: 3)
    var offset: Int?
    do throws(FormatError) { _ = try reader.readBytes(4, "d") } catch { offset = error.offset }
    #expect(offset == 109)
    reader.widen(to: end)
    let rest = try reader.readBytes(24, "d")
    #expect(rest == 9..<33)
    try reader.finish("e")
  }

  @Test("Counts are checked against the bytes left")
  func counts() {
    func code(_ bytes: [UInt8], elementBytesMin: Int = 1, max: Int = .max) -> FormatError.Code? {
      do throws(FormatError) {
        var reader = ByteReader(bytes.span.bytes)
        _ = try reader.readCount("count", elementBytesMin: elementBytesMin, max: max)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(code([3, 0, 0, 0]) == nil)
    #expect(code([4, 0, 0, 0]) == .truncated)
    #expect(code([1, 0, 0, 0], elementBytesMin: 2) == nil)
    #expect(code([2, 0, 0, 0], elementBytesMin: 2) == .truncated)
    #expect(code([3, 0, 0, 0], max: 2) == .limitExceeded)
    #expect(code(NaiveTransaction.varint(1 << 63)) == .limitExceeded)
    #expect(code(NaiveTransaction.varint(.max)) == .limitExceeded)
    #expect(code(NaiveTransaction.varint(UInt64(Int.max))) == .truncated)
  }

  @Test("UTF-8 in every form, compared with the standard library")
  func utf8() {
    var random = SeededGenerator(11)
    let alphabet: [UInt8] = [
      0x61, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xf0, 0x90, 0xf4, 0x8f, 0xf5,
      0xff,
    ]
    var faults: [String] = []
    for _ in 0..<100_000 {
      let ascii = [UInt8](repeating: 0x61, count: random.below(20))
      let bytes = ascii + (0..<random.below(6)).map { _ in alphabet[random.below(alphabet.count)] }
      if isUTF8(bytes.span.bytes) != (String(validating: bytes, as: UTF8.self) != nil) {
        faults.append(hex(bytes))
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  @Test("The order of byte strings, compared with comparison byte by byte")
  func comparison() {
    var random = SeededGenerator(12)
    var faults: [String] = []
    for _ in 0..<20_000 {
      let shared = random.bytes(random.below(20))
      let a = shared + random.bytes(random.below(3))
      let b = shared + random.bytes(random.below(3))
      let order = compareBytes(a.span.bytes, b.span.bytes)
      if (order < 0) != a.lexicographicallyPrecedes(b) || (order == 0) != (a == b) {
        faults.append("\(hex(a)) \(hex(b))")
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }
}
