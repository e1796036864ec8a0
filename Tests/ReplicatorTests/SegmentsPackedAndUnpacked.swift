import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Testing

@Suite("Segments, packed and unpacked")
struct SegmentsPackedAndUnpacked {
  @Test("What was packed comes out, whatever the count", arguments: [1, 2, 3, 7, 100, 2000])
  func roundTrip(count: Int) throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(count, from: 5))
    let packed = try SegmentPacker.pack(cut)
    let unpacked = try SegmentPacker.unpack(packed.bytes)
    #expect(unpacked.transactions == cut.transactions)
    #expect(unpacked.header == packed.header)
    #expect(packed.header.codec == .zstandard || count < 3)
    // Only the packing may differ from the cut's header.
    var header = packed.header
    header.codec = .none
    header.packedBytes = header.unpackedBytes
    #expect(header == cut.header)
    let start = Array(packed.bytes.prefix(SegmentHeader.headerBytesMax))
    let readAgain = try SegmentFrame.readHeader(start.span.bytes)
    #expect(readAgain == packed.header)
  }
}
