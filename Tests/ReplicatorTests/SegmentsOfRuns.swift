import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Segments whose transactions are packed as a run")
struct SegmentsOfRuns {
  private static func run(_ cut: SegmentCut) -> [UInt8] {
    var encoder = RunEncoder(RunContext(cut.header), layout: .columns)
    for transaction in cut.transactions {
      let span = transaction.span
      encoder.append(span.bytes)
    }
    var writer = ByteWriter()
    _ = encoder.appendColumns(to: &writer)
    return writer.bytes
  }

  /// A frame of one block that is not compressed.
  private static func frame(_ content: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xe0]
    withUnsafeBytes(of: UInt64(content.count).littleEndian) { bytes += $0 }
    withUnsafeBytes(of: (UInt32(content.count) << 3 | 1).littleEndian) { bytes += $0.prefix(3) }
    return bytes + content
  }

  /// The error of a segment with this run, and a header of the cut that was changed.
  private static func error(
    _ cut: SegmentCut, _ run: [UInt8], frame: [UInt8]? = nil,
    _ change: (inout SegmentHeader) -> Void = { _ in }
  ) throws -> FormatError? {
    var header = cut.header
    header.codec = .shared
    change(&header)
    return unpackingError(try SegmentExamples.segment(header, packedBody: frame ?? Self.frame(run)))
  }

  private static func keystrokes(_ count: Int) throws -> SegmentCut {
    var random = SeededRandom(seed: 21)
    var milliseconds: UInt64 = 1_764_000_000_000
    var transactions: [[UInt8]] = []
    let letters = Array("eeeeeetttttaaaaooooiiiinnnnsssshhhrrrddlllucmwfgypbvk      ")
    for number in 0..<UInt64(count) {
      // Gaps of the normal distribution: the sum of some equal ones.
      milliseconds += (0..<6).reduce(20) { sum, _ in sum + UInt64(random.next(below: 45)) }
      let change = FieldChange.insertText(
        String(letters[random.next(below: letters.count)]),
        after: number == 0 ? nil : UnitReference(number: number - 1))
      transactions.append(
        try SegmentExamples.transaction(
          1 + number, base: 1 + number / 500, timestamp: milliseconds << 16,
          operations: [
            .update(record: "8F14E45F-CEEA-467F-9B5C-0E02B2C3D479", type: "Note", field: "body", change)
          ]))
    }
    return try SegmentExamples.cut(transactions)
  }

  @Test("Keystrokes take at most 2 bytes each, header and all")
  func keystrokes() throws {
    let cut = try Self.keystrokes(4000)
    let packed = try SegmentPacker.pack(cut)
    #expect(packed.bytes.count <= 2 * 4000, "\(packed.bytes.count)")
    #expect(try SegmentPacker.unpack(packed.bytes).transactions == cut.transactions)
  }

  @Test("A transaction with a parent, which a run cannot share, is packed so that it can be read")
  func parents() throws {
    for length in [1, 20, 200, 2000] {
      let transaction = try LogTransaction(
        replica: SegmentExamples.replica, epoch: 1, sequence: 1, zone: SegmentExamples.zone,
        parent: TransactionID(replica: ReplicaID(rawValue: 7), epoch: 0, sequence: 5),
        timestamp: Timestamp(rawValue: 9),
        operations: [
          .set(
            record: "r", type: "T", field: "f", value: .string(String(repeating: "a", count: length)))
        ]
      ).encoded()
      let cut = try SegmentExamples.cut([transaction])
      let packed = try SegmentPacker.pack(cut)
      #expect(try SegmentPacker.unpack(packed.bytes).transactions == [transaction])
    }
  }

  @Test("The example is valid")
  func control() throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(20))
    #expect(try Self.error(cut, Self.run(cut)) == nil)
  }

  @Test("Runs of another size than the header says, or with other bytes after them")
  func sizes() throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(20))
    let run = Self.run(cut)
    for unpackedBytes in [cut.header.unpackedBytes - 1, cut.header.unpackedBytes + 1, 64 << 20] {
      let error = try Self.error(cut, run) { $0.unpackedBytes = unpackedBytes }
      #expect(error?.code == .invalid || error?.code == .limitExceeded, "\(unpackedBytes)")
    }
    #expect(try Self.error(cut, run + [1])?.code == .trailingBytes)
    #expect(try Self.error(cut, Array(run.dropLast()))?.code == .truncated)
    let shorter = try SegmentExamples.cut(SegmentExamples.transactions(19))
    #expect(try Self.error(cut, Self.run(shorter))?.code == .truncated)
    #expect(try Self.error(shorter, run)?.code == .trailingBytes)
  }

  @Test("Any bit of a run wrong, with matching hashes of the whole")
  func bits() throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(6))
    let run = Self.run(cut)
    for bit in 0..<(8 * run.count) {
      var damaged = run
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try Self.error(cut, damaged) != nil, "bit \(bit)")
    }
  }

  @Test("Frames that would give more than the body has")
  func frames() throws {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(20))
    let size = Int(cut.header.unpackedBytes)
    for (said, blocks) in [(size + 1, 1), (64 << 20, 8), (10 << 30, 8), (Int.max, 8), (0, 0)] {
      let frame = SegmentsThatAreBombs.frame(saying: UInt64(said), blocks: blocks)
      let error = try Self.error(cut, [], frame: frame)
      #expect(error?.code == .invalid, "\(said): \(String(describing: error))")
    }
  }

  @Test("A short run that says one long text again and again stops at the header's size")
  func bomb() throws {
    // Each transaction has a label of 1,024 bytes. In the run, all but the first take some bytes.
    let label = String(repeating: "label ", count: 170)
    var transactions: [[UInt8]] = []
    for sequence in 1...2000 {
      transactions.append(
        try LogTransaction(
          replica: SegmentExamples.replica, epoch: 1, sequence: UInt64(sequence), zone: SegmentExamples.zone,
          timestamp: Timestamp(rawValue: UInt64(sequence)), label: label, operations: [.delete(record: "r")]
        ).encoded())
    }
    let cut = try SegmentExamples.cut(transactions)
    let run = Self.run(cut)
    #expect(run.count * 100 < Int(cut.header.unpackedBytes))
    #expect(try Self.error(cut, run) == nil)
    let error = try Self.error(cut, run) { $0.unpackedBytes = 50_000 }
    #expect(error?.code == .limitExceeded)
  }

  @Test("A segment from an earlier version opens")
  func golden() throws {
    let shared = try SegmentPacker.unpack(try GoldenFile.read("segment-shared"))
    #expect(shared.header.codec == .shared && shared.header.sequences == 1...3)
    let bytes = shared.transactions[2]
    let last = try LogTransaction(decoding: bytes.span.bytes)
    #expect(
      last.operations == [
        .update(
          record: "n1", type: "Note", field: "body", .insertText("y", after: UnitReference(number: 1)))
      ])
  }
}
