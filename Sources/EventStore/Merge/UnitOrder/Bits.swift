import OperationFormat

/// A word of bits: a number, and zeros in front of it up to a width.
struct BitWord: Hashable {
  var number: UInt64
  var width: Int

  /// A number from 1, as many zeros in front as bits behind its first one: Elias gamma.
  static func gamma(_ number: UInt64) -> BitWord {
    BitWord(number: number, width: 127 - 2 * number.leadingZeroBitCount)
  }
}

/// Appends words to bytes, the highest bit of each byte first.
struct BitWriter {
  private var byte: UInt8 = 0
  private var count = 0

  mutating func append(_ word: BitWord, to writer: inout ByteWriter) {
    for shift in (0..<word.width).reversed() {
      byte = byte << 1 | UInt8(truncatingIfNeeded: word.number >> UInt64(shift) & 1)
      count += 1
      if count == 8 {
        writer.append(byte)
        (byte, count) = (0, 0)
      }
    }
  }

  /// Fills the last byte with zeros.
  mutating func finish(_ writer: inout ByteWriter) {
    if count > 0 { append(BitWord(number: 0, width: 8 - count), to: &writer) }
  }
}

/// Reads words of bits.
struct BitReader {
  private var byte: UInt8 = 0
  private var left = 0

  /// Whether the bits of the last byte that were not read are zeros.
  var restIsZero: Bool { byte & (1 << left - 1) == 0 }

  /// Reads a word of at most 64 bits.
  mutating func read(_ width: Int, _ reader: inout ByteReader) throws(FormatError) -> UInt64 {
    var number: UInt64 = 0
    for _ in 0..<width {
      if left == 0 {
        byte = try reader.readUInt8("runs.piece.bits")
        left = 8
      }
      left -= 1
      number = number << 1 | UInt64(byte >> left & 1)
    }
    return number
  }

  /// Reads an Elias gamma code: a number from 1.
  mutating func readGamma(_ reader: inout ByteReader) throws(FormatError) -> UInt64 {
    var zeros = 0
    while try read(1, &reader) == 0 {
      zeros += 1
      guard zeros < 63 else {
        throw reader.fail(
          .invalid, at: reader.position, "runs.piece.bits", expected: "less than 63 zeros", found: "more")
      }
    }
    return 1 << zeros | (try read(zeros, &reader))
  }
}
