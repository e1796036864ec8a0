import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Segments that would unpack to more than they claim")
struct SegmentsThatAreBombs {
  /// A Zstandard frame built by hand: it claims `byteCount`, and has blocks of one byte repeated 128 Ki
  /// times.
  static func frame(saying byteCount: UInt64, blocks: Int, of byte: UInt8 = 0) -> [UInt8] {
    // One segment, without a window; the size in 8 bytes.
    var bytes: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xe0]
    withUnsafeBytes(of: byteCount.littleEndian) { bytes += $0 }
    for block in 0..<blocks {
      let header = UInt32(128 << 10) << 3 | 1 << 1 | (block == blocks - 1 ? 1 : 0)
      withUnsafeBytes(of: header.littleEndian) { bytes += $0.prefix(3) }
      bytes.append(byte)
    }
    return bytes
  }

  /// The error of a segment with this packed body, whose header claims `unpackedBytes`.
  static func error(_ body: [UInt8], unpackedBytes: Int) throws -> FormatError? {
    var header = try SegmentExamples.cut(SegmentExamples.transactions(2)).header
    header.codec = .zstandard
    header.unpackedBytes = UInt64(unpackedBytes)
    do {
      return unpackingError(try SegmentExamples.segment(header, packedBody: body))
    } catch let error as FormatError {
      // The header itself is invalid, both for the writer and the reader.
      return error
    }
  }

  @Test("The frame is valid: its content is hashed, and is not a segment")
  func control() throws {
    let error = try Self.error(Self.frame(saying: 1 << 20, blocks: 8), unpackedBytes: 1 << 20)
    #expect(error?.code == .damaged && error?.subject == "segment.contentHash")
  }

  @Test("64 MiB is the limit, whatever is claimed")
  func limit() throws {
    var header = try SegmentExamples.cut(SegmentExamples.transactions(2)).header
    header.codec = .zstandard
    header.unpackedBytes = UInt64(Limits.segmentUnpackedBytesMax)
    header.packedBytes = 5000
    try header.validate()
    header.unpackedBytes += 1
    #expect(throws: FormatError.self) { try header.validate() }
    // A thousand bytes that claim 64 MiB are refused before memory is allocated.
    header.unpackedBytes -= 1
    header.packedBytes = 1000
    let error = #expect(throws: FormatError.self) { try header.validate() }
    #expect(error?.subject == "segment.unpackedBytes")
  }

  @Test("Frames that claim another size than the header, or contain another than they claim")
  func sizes() throws {
    let size = 8 << 17
    for (said, blocks) in [
      (0, 8), (size - 1, 8), (size + 1, 8), (10 << 30, 8), (Int.max, 8), (size, 7), (size, 9), (size, 8192),
      (size, 0),
    ] {
      let error = try Self.error(Self.frame(saying: UInt64(said), blocks: blocks), unpackedBytes: size)
      #expect(
        error?.code == .invalid && (blocks == 0 || error?.subject == "segment.body"), "\(said), \(blocks)")
    }
    #expect(try Self.error(Self.frame(saying: .max, blocks: 8), unpackedBytes: size)?.code == .invalid)
  }

  @Test("Several frames, skippable frames, nested frames, and bytes that are no frame")
  func frames() throws {
    let size = 8 << 17
    let frame = Self.frame(saying: UInt64(size), blocks: 8)
    let half = Self.frame(saying: UInt64(size / 2), blocks: 4)
    let skippable: [UInt8] = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]
    let empty = Self.frame(saying: 0, blocks: 0) + [1, 0, 0]
    var checked = frame
    checked[4] |= 4
    checked += [1, 2, 3, 4]
    var withDictionary = frame
    withDictionary[4] |= 1
    withDictionary.insert(77, at: 5)
    let bodies: [[UInt8]] = [
      frame + frame, half + half, skippable + frame, frame + skippable, skippable, empty + frame,
      frame + empty, checked, withDictionary, Array(frame.dropLast()), frame + [0], [], [0x28, 0xb5],
      [0x27] + Array(frame.dropFirst()), [0x28, 0xb5, 0x2f, 0xfd], [UInt8](repeating: 0, count: 100),
    ]
    for (index, body) in bodies.enumerated() {
      let error = try Self.error(body, unpackedBytes: size)
      // An empty or tiny body cannot be a frame of that size; the header shows that.
      #expect(error?.code == .invalid || error?.code == .truncated, "\(index)")
    }
    // A segment in a segment is unpacked only once.
    let inner = try SegmentPacker.pack(SegmentExamples.cut(SegmentExamples.transactions(40)))
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(2))
    #expect(unpackingError(try SegmentExamples.segment(cut.header, body: inner.bytes)) != nil)
  }

  #if os(Linux)
    @Test("They are refused with 24 MiB of free memory")
    func memory() async {
      await #expect(processExitsWith: .success) {
        let size = 8 << 17
        // 32 KiB of blocks that would be 1 GiB, and a frame that claims 10 GiB.
        let lying = SegmentsThatAreBombs.frame(saying: UInt64(size), blocks: 8192)
        let boasting = SegmentsThatAreBombs.frame(saying: 10 << 30, blocks: 8192)
        let warm = try SegmentPacker.pack(SegmentExamples.cut(SegmentExamples.transactions(40)))
        precondition(unpackingError(warm.bytes) == nil)
        SegmentsThatAreBombs.limitMemory(spare: 24 << 20)
        for bomb in [lying, boasting] {
          let error = try SegmentsThatAreBombs.error(bomb, unpackedBytes: size)
          precondition(error?.code == .invalid)
        }
      }
    }

    /// Limits this process to `spare` bytes of writable memory more than it has now.
    static func limitMemory(spare: UInt) {
      // The sixth number is the writable size, in pages.
      guard let file = fopen("/proc/self/statm", "r") else { preconditionFailure("no /proc") }
      var line = [UInt8](repeating: 0, count: 256)
      let count = fread(&line, 1, line.count, file)
      fclose(file)
      let numbers = String(decoding: line[..<count], as: UTF8.self).split(separator: " ")
      let size = UInt(numbers[5])! * UInt(getpagesize()) + spare
      var limit = rlimit(rlim_cur: size, rlim_max: size)
      precondition(setrlimit(__rlimit_resource_t(2), &limit) == 0)  // RLIMIT_DATA
    }
  #endif
}
