import Testing

@testable import OperationFormat

@Suite("Few bytes that claim a large segment")
struct SegmentLengthBombTests {
  /// Segments, bodies, envelopes and tokens whose counts are too large, with correct checksums.
  static var bombs: [(kind: Int, bytes: [UInt8])] {
    var bombs: [(Int, [UInt8])] = []
    for count in LengthBombTests.counts + [8 << 20, 64 << 20] {
      let varint = NaiveTransaction.varint(count)
      var sizes = NaiveSegmentHeader(FrameExamples.packedHeader)
      sizes.unpackedBytes = varint
      sizes.packedBytes = varint
      sizes.codec = 0
      bombs.append((0, sizes.bytes))
      sizes.packedBytes = NaiveTransaction.varint(count / 2)
      sizes.codec = 1
      bombs.append((0, sizes.bytes))
      var text = NaiveSegmentHeader(FrameExamples.packedHeader)
      text.owner = varint
      bombs.append((0, text.bytes))
      bombs.append((1, varint + [UInt8](repeating: 1, count: 1000)))
      var envelope = SegmentEnvelope.encode(
        offset: 1, receivedMilliseconds: nil, chain: nil, segment: [UInt8]().span.bytes)
      envelope.replaceSubrange(22..<30, with: NaiveTransaction.littleEndian(count))
      bombs.append((2, withChecksum(envelope)))
      bombs.append((3, withChecksum([2, 1] + varint + [0, 0, 0, 0])))
    }
    return bombs
  }

  static func error(_ bomb: (kind: Int, bytes: [UInt8])) -> FormatError? {
    switch bomb.kind {
    case 0: return Codec.segment.error(bomb.bytes)
    case 2: return Codec.envelope.error(bomb.bytes)
    case 3: return Codec.changeToken.error(bomb.bytes)
    default:
      do throws(FormatError) {
        _ = try SegmentBody.transactions(in: bomb.bytes.span.bytes, count: 65_536)
        return nil
      } catch {
        do throws(FormatError) {
          _ = try SegmentBody.transactions(in: bomb.bytes.span.bytes, count: 1)
          return nil
        } catch {
          return error
        }
      }
    }
  }

  @Test("They are refused")
  func refused() {
    for bomb in Self.bombs {
      let code = Self.error(bomb)?.code
      #expect(code == .truncated || code == .limitExceeded || code == .invalid)
    }
  }

  #if os(Linux)
    @Test("They are refused with 24 MiB of free memory")
    func memory() async {
      await #expect(processExitsWith: .success) {
        let bombs = SegmentLengthBombTests.bombs
        LengthBombTests.limitMemory(spare: 24 << 20)
        for bomb in bombs { precondition(SegmentLengthBombTests.error(bomb) != nil) }
      }
    }
  #endif
}
