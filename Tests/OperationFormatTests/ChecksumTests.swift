import Testing

@testable import OperationFormat

@Suite("Checksums and hashes")
struct ChecksumTests {
  /// The definition: one bit for each step.
  static func slowCRC32C(_ bytes: [UInt8]) -> UInt32 {
    var crc: UInt32 = .max
    for byte in bytes {
      for bit in 0..<8 {
        let isOdd = (crc ^ UInt32(byte) >> bit) & 1 == 1
        crc = crc >> 1 ^ (isOdd ? 0x82f6_3b78 : 0)
      }
    }
    return ~crc
  }

  @Test("CRC-32C of known texts (RFC 3720, B.4)")
  func knownChecksums() {
    #expect(crc32c(Array("123456789".utf8).span.bytes) == 0xe306_9283)
    #expect(crc32c([UInt8]().span.bytes) == 0)
    #expect(crc32c([UInt8](repeating: 0, count: 32).span.bytes) == 0x8a91_36aa)
    #expect(crc32c([UInt8](repeating: 0xff, count: 32).span.bytes) == 0x62a8_ab43)
    #expect(crc32c(Array(0...31 as ClosedRange<UInt8>).span.bytes) == 0x46dd_794e)
  }

  @Test("CRC-32C of every length to 100, whole and in two pieces, compared with the definition")
  func piecewise() {
    var random = SeededGenerator(21)
    for count in 0...100 {
      let bytes = random.bytes(count)
      let expected = Self.slowCRC32C(bytes)
      #expect(crc32c(bytes.span.bytes) == expected, "seed \(random.seed)")
      #expect(crc32cByTables(bytes.span.bytes) == expected, "seed \(random.seed)")
      let cut = random.below(count + 1)
      let first = crc32c(Array(bytes[..<cut]).span.bytes)
      #expect(crc32c(Array(bytes[cut...]).span.bytes, continuing: first) == expected, "seed \(random.seed)")
    }
  }

  @Test("SHA-256 of known texts (FIPS 180-2), whole and in pieces")
  func hashes() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(ContentHash(of: Array("abc".utf8).span.bytes).description == abc)
    #expect(
      ContentHash(of: [UInt8]().span.bytes).description
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    var hasher = ContentHasher()
    hasher.update(Array("a".utf8).span.bytes)
    let early = hasher.finish()
    hasher.update(Array("bc".utf8).span.bytes)
    #expect(hasher.finish().description == abc)
    #expect(early == ContentHash(of: Array("a".utf8).span.bytes))
    let hash = ContentHash(abc)
    #expect(hash?.bytes == bytes(hex: abc))
    #expect(ContentHash(bytes: bytes(hex: abc).span.bytes) == hash)
    #expect(ContentHash(bytes: [UInt8](repeating: 0, count: 31).span.bytes) == nil)
    #expect(ContentHash(abc.uppercased()) == nil)
    #expect(ContentHash(abc + "0") == nil)
    #expect(ContentHash(String(abc.dropLast())) == nil)
  }
}
