import Testing

@testable import OperationFormat

#if canImport(Glibc)
  import Glibc
#endif

@Suite("A run from outside")
struct RunDamageTests {
  /// The error of a decoder, which must lie inside the bytes; nil if it gives transactions within the limit.
  private static func error(_ bytes: [UInt8], _ layout: RunLayout, bytesMax: Int) -> FormatError? {
    do throws(FormatError) {
      let found = try RunExample.decoded(bytes, layout, RunExample.context, bytesMax: bytesMax)
      #expect(found.transactions.reduce(0) { $0 + $1.count } <= bytesMax)
      return nil
    } catch {
      #expect(0...bytes.count ~= error.offset, "\(error)")
      return error
    }
  }

  private static func example() throws -> RunExample {
    var random = SeededGenerator(4)
    var example = try random.run(5)
    // The decoder's context is a fixed one: other sequences than the encoder's are no error of a run.
    example.context = RunExample.context
    return example
  }

  @Test("may be cut at any byte", arguments: RunCodecTests.layouts)
  func cut(_ layout: RunLayout) throws {
    let example = try Self.example()
    let bytes = example.encoded(layout)
    for count in 0..<bytes.count {
      let error = Self.error(Array(bytes[..<count]), layout, bytesMax: 1 << 20)
      // Rows may be cut between transactions: that is another run.
      #expect(layout == .rows || error != nil)
    }
  }

  @Test("may have any bit wrong", arguments: RunCodecTests.layouts)
  func flipped(_ layout: RunLayout) throws {
    let bytes = try Self.example().encoded(layout)
    var errors = 0
    for bit in 0..<(8 * bytes.count) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      if Self.error(damaged, layout, bytesMax: 1 << 20) != nil { errors += 1 }
    }
    #expect(errors > 0)
  }

  @Test("may be any bytes", arguments: RunCodecTests.layouts)
  func random(_ layout: RunLayout) throws {
    var random = SeededGenerator(5)
    for _ in 0..<20_000 {
      // Small numbers are the codes of the format.
      let bytes = (0..<random.below(60)).map { _ in UInt8(random.below(random.below(2) == 0 ? 6 : 256)) }
      _ = Self.error(bytes, layout, bytesMax: 1 << 16)
    }
  }

  @Test("may not have more bytes after its end", arguments: RunCodecTests.layouts)
  func trailing(_ layout: RunLayout) throws {
    let bytes = try Self.example().encoded(layout)
    let error = Self.error(bytes + [0x80], layout, bytesMax: 1 << 20)
    #expect(error?.code == (layout == .rows ? .truncated : .trailingBytes))
  }

  @Test("may not give more bytes than the reader wants", arguments: RunCodecTests.layouts)
  func limited(_ layout: RunLayout) throws {
    let example = try Self.example()
    let bytes = example.encoded(layout)
    #expect(Self.error(bytes, layout, bytesMax: example.byteCount) == nil)
    for bytesMax in 0..<example.byteCount {
      #expect(Self.error(bytes, layout, bytesMax: bytesMax)?.code == .limitExceeded)
    }
  }

  // MARK: Bombs

  /// Rows that state large counts, and rows of few bytes that say long texts again and again.
  static var bombs: [[UInt8]] {
    var bombs: [[UInt8]] = []
    // The head of one operation, and a time.
    let start: [UInt8] = [0x80, 0, 0]
    let insertText: [UInt8] = [0, 13, 0, 0, 4, 84, 0, 4, 102, 0, 4, 114]
    for count in LengthBombTests.counts {
      let varint = NaiveTransaction.varint(count)
      // Operations, bytes of a plain transaction, a text, a name, elements, runs.
      bombs.append([0] + varint + [0, 0])
      bombs.append([0, 0] + varint)
      bombs.append(start + insertText + [0] + varint)
      bombs.append(start + [0, 13, 0, 0] + varint)
      bombs.append(start + [0, 9, 0, 0, 4, 84, 0, 4, 102, 0, 4, 114, 0] + varint)
      bombs.append(start + [0, 12, 0, 0, 4, 84, 0, 4, 102, 0, 4, 114] + varint)
    }
    // A string of 64 bytes in each of many operations of 3 bytes.
    let string = [UInt8](repeating: 120, count: 64)
    let again = [UInt8](repeating: 0, count: 1 << 17).enumerated().map { UInt8($0.offset % 2 == 0 ? 2 : 1) }
    bombs.append(
      [0x00, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 3, 2, 0, 4, 84, 0, 4, 102, 0, 4, 114, 0, 0x80, 2] + string
        + [0, 3, 18, 2, 3, 1] + again)
    return bombs
  }

  static func bombError(_ bomb: [UInt8]) -> FormatError? {
    do throws(FormatError) {
      _ = try RunExample.decoded(bomb, .rows, RunExample.context, bytesMax: 1 << 20)
      return nil
    } catch {
      return error
    }
  }

  @Test("is refused if it states too much")
  func refused() {
    for bomb in Self.bombs {
      let code = Self.bombError(bomb)?.code
      #expect(
        code == .truncated || code == .limitExceeded || code == .invalid, "\(hex(bomb)): \(code as Any)")
    }
    #expect(Self.bombError(Self.bombs.last!)?.code == .limitExceeded)
  }

  #if os(Linux)
    @Test("is refused with 24 MiB of free memory")
    func memory() async {
      await #expect(processExitsWith: .success) {
        let bombs = RunDamageTests.bombs
        LengthBombTests.limitMemory(spare: 24 << 20)
        for bomb in bombs { precondition(RunDamageTests.bombError(bomb) != nil) }
      }
    }
  #endif
}
