import CChecksum

/// The CRC-32C (Castagnoli) of bytes, as in iSCSI (RFC 3720, B.4) and ext4.
///
/// - Parameter previous: the checksum of the bytes before these, if the checksum is taken piece by piece.
/// - Complexity: O(n), eight bytes a step; uses the processor's instruction if there is one.
package func crc32c(_ bytes: RawSpan, continuing previous: UInt32 = 0) -> UInt32 {
  guard hasInstruction else { return crc32cByTables(bytes, continuing: previous) }
  return bytes.withUnsafeBytes { bytes in
    ~checksum_crc32c(~previous, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
  }
}

private let hasInstruction = checksum_has_instruction()

/// The same without the processor's instruction, with eight tables ("slicing by 8", Kounavis and Berry,
/// 2005).
func crc32cByTables(_ bytes: RawSpan, continuing previous: UInt32 = 0) -> UInt32 {
  crc32cTables.withUnsafeBufferPointer { tables in
    var crc = ~previous
    var offset = 0
    while offset &+ 8 <= bytes.byteCount {
      let stored = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let word = UInt64(littleEndian: stored) ^ UInt64(crc)
      crc =
        tables[0x700 &+ Int(word & 0xff)]
        ^ tables[0x600 &+ Int(word >> 8 & 0xff)]
        ^ tables[0x500 &+ Int(word >> 16 & 0xff)]
        ^ tables[0x400 &+ Int(word >> 24 & 0xff)]
        ^ tables[0x300 &+ Int(word >> 32 & 0xff)]
        ^ tables[0x200 &+ Int(word >> 40 & 0xff)]
        ^ tables[0x100 &+ Int(word >> 48 & 0xff)]
        ^ tables[Int(word >> 56)]
      offset &+= 8
    }
    while offset < bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      crc = tables[Int((crc ^ UInt32(byte)) & 0xff)] ^ crc >> 8
      offset &+= 1
    }
    return ~crc
  }
}

/// Eight tables of 256 entries: entry `i` of table `t` is the remainder of the byte `i` followed by `t` zero
/// bytes.
private let crc32cTables: [UInt32] = {
  let polynomial: UInt32 = 0x82f6_3b78  // 0x1EDC6F41 with its bits in reverse order
  var tables = [UInt32](repeating: 0, count: 8 * 256)
  for index in 0..<256 {
    var remainder = UInt32(index)
    for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 1 ? polynomial : 0) }
    tables[index] = remainder
  }
  for index in 256..<tables.count {
    let shorter = tables[index - 256]
    tables[index] = shorter >> 8 ^ tables[Int(shorter & 0xff)]
  }
  return tables
}()
