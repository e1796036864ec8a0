internal import CZstd

/// Packs bytes as one Zstandard frame (RFC 8878). Only this file calls the library.
///
/// Each call makes its own context, so tasks share no state. For 200 bytes that takes 10 µs instead
/// of 2, which is little compared with a call of a remote and the commit of a fold.
package enum Zstandard {
  /// The library's own default: higher levels take much longer and save little on bodies of this kind.
  private static let level: Int32 = 3
  private static let magic: UInt32 = 0xFD2F_B528

  /// The shortest block worth a code of its own. Its header and table take some 50 bytes.
  private static let blockBytesMin = 512

  /// Packs bytes into one frame that names its content's size; nil if it is too large.
  ///
  /// - Parameters:
  ///   - ends: where bytes of another sort begin. A block ends there, if it is not too short: each block has a
  ///     code that fits its bytes.
  ///   - bytesMax: how large the frame may be.
  /// - Complexity: O(n), and as much memory again
  package static func pack(_ bytes: RawSpan, endingBlocksAt ends: [Int] = [], bytesMax: Int) -> [UInt8]? {
    guard let context = ZSTD_createCCtx() else { return nil }
    defer { ZSTD_freeCCtx(context) }
    guard
      ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) == 0,
      ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(bytes.byteCount))) == 0
    else { return nil }
    var isPacked = true
    let packed = [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, count in
      var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
      var start = 0
      for end in ends.filter({ $0 < bytes.byteCount }) + [bytes.byteCount] where isPacked {
        let isLast = end == bytes.byteCount
        guard isLast || end - start >= blockBytesMin else { continue }
        isPacked = bytes.extracting(start..<end).withUnsafeBytes {
          var input = ZSTD_inBuffer(src: $0.baseAddress, size: $0.count, pos: 0)
          // 0 if all is written. It is not if the frame would be too large, or memory is short.
          return ZSTD_compressStream2(context, &output, &input, isLast ? ZSTD_e_end : ZSTD_e_flush) == 0
        }
        start = end
      }
      count = output.pos
    }
    // An unpacked one is valid too, only larger.
    return isPacked ? packed : nil
  }

  /// Unpacks one frame that takes all of `bytes`. No more bytes are made than the frame says.
  ///
  /// - Parameters:
  ///   - sizes: how many bytes the frame may give, no more than a limit of the caller's.
  ///   - origin: the offset of `bytes` in the decoded thing, for errors.
  ///   - subject: what they are, for errors.
  /// - Throws: ``FormatError`` with `invalid` for anything else than such a frame, `outOfMemory` if memory is
  ///   short.
  package static func unpack(
    _ bytes: RawSpan, sizes: ClosedRange<Int>, origin: Int, _ subject: StaticString
  ) throws(FormatError) -> [UInt8] {
    func fail(_ expected: String, _ found: String) -> FormatError {
      FormatError(.invalid, at: origin, in: "\(subject)", expected: expected, found: found)
    }
    var reader = ByteReader(bytes, origin: origin)
    // Rejects skippable frames, and formats before the standard.
    guard try reader.readLittleEndian(subject, as: UInt32.self) == magic else {
      throw fail("a Zstandard frame", "other bytes")
    }
    let frameBytes = bytes.withUnsafeBytes { ZSTD_findFrameCompressedSize($0.baseAddress, $0.count) }
    guard ZSTD_isError(frameBytes) == 0 else { throw fail("a Zstandard frame", errorName(frameBytes)) }
    guard frameBytes == bytes.byteCount else {
      throw fail("one frame of \(bytes.byteCount) bytes", "one of \(frameBytes), and more after it")
    }
    let declared = bytes.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
    // A block gives at most 128 KiB and takes at least 4 bytes (RFC 8878, 3.1.1.2).
    guard let byteCount = Int(exactly: declared), sizes.contains(byteCount),
      byteCount >> 15 <= bytes.byteCount
    else {
      throw fail(
        "a frame that says it has \(sizes.lowerBound) to \(sizes.upperBound) bytes",
        declared > 1 << 62 ? "none" : "\(declared)")
    }
    // All the memory that the library takes. Too little memory must not look like damaged bytes.
    guard let context = ZSTD_createDCtx() else {
      throw FormatError(
        .outOfMemory, at: origin, in: "\(subject)", expected: "memory to unpack it", found: "too little")
    }
    defer { ZSTD_freeDCtx(context) }
    var given = 0
    // The library writes only into the buffer, and stops at its end. It needs no other window.
    let unpacked = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      given = bytes.withUnsafeBytes {
        ZSTD_decompressDCtx(context, buffer.baseAddress, byteCount, $0.baseAddress, $0.count)
      }
      count = ZSTD_isError(given) == 0 ? given : 0
    }
    guard ZSTD_isError(given) == 0 else { throw fail("a Zstandard frame", errorName(given)) }
    guard given == byteCount else { throw fail("\(byteCount) bytes", "\(given)") }
    return unpacked
  }

  private static func errorName(_ code: Int) -> String { String(cString: ZSTD_getErrorName(code)) }
}
