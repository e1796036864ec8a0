import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Segments, packed and unpacked")
struct SegmentsPackedAndUnpacked {
  @Test("Packed transactions are unpacked again, for any count", arguments: [1, 2, 3, 7, 100, 2000])
  func roundTrip(count: Int) throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(count, from: 5))
    let packed = try SegmentPacker.pack(cut)
    let unpacked = try SegmentPacker.unpack(packed.bytes)
    #expect(unpacked.transactions == cut.transactions)
    #expect(unpacked.header == packed.header)
    #expect(packed.header.codec == .shared)
    // Only the packing may differ from the cut's header.
    var header = packed.header
    header.codec = .none
    header.packedBytes = header.unpackedBytes
    #expect(header == cut.header)
    let start = Array(packed.bytes.prefix(SegmentHeader.headerBytesMax))
    let readAgain = try SegmentFrame.readHeader(start.span.bytes)
    #expect(readAgain == packed.header)
    // Packing is deterministic.
    let again = try SegmentPacker.pack(cut)
    #expect(again == packed)
  }

  @Test("A body that would not become smaller is not packed")
  func incompressible() throws {
    var random = SeededRandom(seed: 11)
    let noise = (0..<5000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let transaction = try SegmentExamples.transaction(
      1, operations: [.unknown(kind: 99, payload: noise)])
    let cut = try SegmentExamples.cut([transaction])
    let packed = try SegmentPacker.pack(cut)
    #expect(packed.header == cut.header && packed.header.codec == .none)
    let unpacked = try SegmentPacker.unpack(packed.bytes)
    #expect(unpacked.transactions == [transaction])
  }

  @Test("A stored cut keeps its codec and its name; its sizes are the present ones")
  func storedCuts() throws {
    let fresh = try SegmentExamples.cut(SegmentExamples.transactions(50))
    let packed = try SegmentPacker.pack(fresh)
    #expect(packed.header.codec == .shared)
    // As it was.
    var stored = SegmentCut(header: packed.header, isStored: true, transactions: fresh.transactions)
    let again = try SegmentPacker.pack(stored)
    #expect(again == packed)
    // Another version of the library packed it to another size.
    stored.header.packedBytes += 17
    let resized = try SegmentPacker.pack(stored)
    #expect(resized == packed)
    // An earlier version packed it without sharing: so it is packed again.
    stored.header.codec = .zstandard
    let older = try SegmentPacker.pack(stored)
    #expect(older.header.codec == .zstandard && older.header.packedBytes > packed.header.packedBytes)
    #expect(try SegmentPacker.unpack(older.bytes).transactions == fresh.transactions)
    // It was sent unpacked: so it is again, though it would be smaller packed.
    stored.header = fresh.header
    let plain = try SegmentPacker.pack(stored)
    #expect(plain.header == fresh.header)
    let unpacked = try SegmentPacker.unpack(plain.bytes)
    #expect(unpacked.transactions == fresh.transactions)
  }

  @Test("The largest possible transaction fits into a segment, and one byte more does not")
  func largest() throws {
    // Values of 1 MiB that cannot be packed, up to the largest transaction.
    var random = SeededRandom(seed: 12)
    func noise(_ count: Int) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(count)
      while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
      return Array(bytes.prefix(count))
    }
    let block = noise(1_048_000)
    func largest(_ rest: Int) throws -> [UInt8] {
      let operations = (0...8).map { index in
        LogOperation.set(
          record: "r", type: "T", field: Name("f\(index)"), value: .bytes(index < 8 ? block : noise(rest)))
      }
      return try SegmentExamples.transaction(1, operations: operations)
    }
    let rest = try 4000 + Limits.transactionBytesMax - largest(4000).count
    let transaction = try largest(rest)
    #expect(throws: FormatError.self) { try largest(rest + 1) }
    #expect(transaction.count == Limits.transactionBytesMax)
    let cut = try SegmentExamples.cut([transaction])
    let stored = SegmentCut(header: cut.header, isStored: true, transactions: cut.transactions)
    let packed = try SegmentPacker.pack(stored)
    #expect(packed.bytes.count <= SegmentFrame.bytesMax)
    let unpacked = try SegmentPacker.unpack(packed.bytes)
    #expect(unpacked.transactions == [transaction])
    // Two of them do not fit, unless they can be packed.
    let second = try SegmentExamples.transaction(2)
    let two = try SegmentExamples.cut([transaction, second])
    let tooLarge = SegmentCut(header: two.header, isStored: true, transactions: two.transactions)
    let error = #expect(throws: FormatError.self) { try SegmentPacker.pack(tooLarge) }
    #expect(error?.code == .limitExceeded && error?.subject == "segment.packedBytes")
  }

  @Test("Segments from earlier versions open")
  func golden() throws {
    let plain = try SegmentPacker.unpack(try GoldenFile.read("segment-plain"))
    #expect(plain.header.codec == .none && plain.transactions.count == 1)
    let packed = try SegmentPacker.unpack(try GoldenFile.read("segment-packed"))
    #expect(packed.header.codec == .zstandard && packed.header.sequences == 7...8)
    let bytes = packed.transactions[1]
    let second = try LogTransaction(decoding: bytes.span.bytes)
    #expect(
      second.operations.first
        == .set(
          record: "note-1", type: "Note", field: "title", value: .string(String(repeating: "a", count: 200))))
  }

  @Test("Random transactions are unpacked unchanged")
  func random() throws {
    let seed: UInt64 = 13
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      var transactions: [[UInt8]] = []
      let first = random.next() >> 8 | 1
      for index in 0..<UInt64(1 + random.next(below: 20)) {
        let names = (0..<3).map { Name("name \(random.next(below: 50)) \($0)") }
        let operations = (0..<(1 + random.next(below: 5))).map { _ in
          LogOperation.set(
            record: names[0], type: names[1], field: names[2],
            value: .int(Int64(truncatingIfNeeded: random.next())))
        }
        transactions.append(
          try SegmentExamples.transaction(
            first + index, base: UInt64(random.next(below: 4)), timestamp: random.next(),
            operations: operations))
      }
      let cut = try SegmentExamples.cut(transactions)
      let packed = try SegmentPacker.pack(cut)
      let unpacked = try SegmentPacker.unpack(packed.bytes)
      #expect(unpacked.transactions == transactions, "seed \(seed)")
    }
  }
}
