internal import CZstd
internal import OperationFormat

/// Packs a body as one Zstandard frame (RFC 8878). Only this file calls the library.
///
/// Each call makes its own context, so tasks share no state. For a body of 200 bytes that takes 10 µs instead
/// of 2, which is little compared with a call of a remote and the commit of a fold.
enum Zstandard {
  /// The library's own default: higher levels take much longer and save little on bodies of this kind.
  private static let level: Int32 = 3
  private static let magic: UInt32 = 0xFD2F_B528

  /// Packs bytes into one frame that names its content's size; nil if that is not smaller.
  ///
  /// - Complexity: O(n), and as much memory again
  static func pack(_ bytes: RawSpan) -> [UInt8]? {
    var byteCount = 0
    let packed = [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.byteCount)) { buffer, count in
      byteCount = bytes.withUnsafeBytes {
        ZSTD_compress(buffer.baseAddress, buffer.count, $0.baseAddress, $0.count, level)
      }
      count = ZSTD_isError(byteCount) == 0 ? byteCount : 0
    }
    // It fails only if memory is short. An unpacked body is valid too, only larger.
    return ZSTD_isError(byteCount) == 0 && byteCount < bytes.byteCount ? packed : nil
  }

  /// Unpacks one frame that takes all of `bytes`. No more than `byteCount` bytes are made, whatever the frame
  /// says.
  ///
  /// - Parameters:
  ///   - byteCount: what the frame must give, no more than a limit of the caller's.
  ///   - origin: the offset of `bytes` in the decoded thing, for errors.
  /// - Throws: ``FormatError`` with `invalid` for anything else than such a frame, `outOfMemory` if memory is
  ///   short.
  static func unpack(
    _ bytes: RawSpan, byteCount: Int, origin: Int
  ) throws(FormatError) -> [UInt8] {
    func fail(_ expected: String, _ found: String) -> FormatError {
      FormatError(.invalid, at: origin, in: "segment.body", expected: expected, found: found)
    }
    var reader = ByteReader(bytes, origin: origin)
    // Rejects skippable frames, and formats before the standard.
    guard try reader.readLittleEndian("segment.body", as: UInt32.self) == magic else {
      throw fail("a Zstandard frame", "other bytes")
    }
    let frameBytes = bytes.withUnsafeBytes { ZSTD_findFrameCompressedSize($0.baseAddress, $0.count) }
    guard ZSTD_isError(frameBytes) == 0 else { throw fail("a Zstandard frame", errorName(frameBytes)) }
    guard frameBytes == bytes.byteCount else {
      throw fail("one frame of \(bytes.byteCount) bytes", "one of \(frameBytes), and more after it")
    }
    let declared = bytes.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
    guard declared == UInt64(byteCount) else {
      throw fail("a frame that says it has \(byteCount) bytes", declared > 1 << 62 ? "none" : "\(declared)")
    }
    // All the memory that the library takes. Too little memory must not look like damaged bytes.
    guard let context = ZSTD_createDCtx() else {
      throw FormatError(
        .outOfMemory, at: origin, in: "segment.body", expected: "memory to unpack it", found: "too little")
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
