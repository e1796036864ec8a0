import Testing

@testable import OperationFormat

@Suite("Transactions that become a segment")
struct SegmentCutTests {
  struct NoHash: Error {}

  static func describe(_ transactions: [LogTransaction], base: UInt64? = nil) throws -> SegmentHeader {
    let bytes = try transactions.map { transaction in try transaction.encoded() }
    return try SegmentHeader.describing(
      bytes, incarnation: FrameExamples.incarnation,
      baseProof: { offset in
        guard offset == base else { throw NoHash() }
        return ContentHash(ofText: "base")
      }, previousHash: ContentHash(ofText: "previous"))
  }

  static func error(_ change: (inout [LogTransaction]) -> Void) -> FormatError? {
    var transactions = FrameExamples.transactions
    change(&transactions)
    do {
      _ = try describe(transactions, base: 5)
      return nil
    } catch {
      return error as? FormatError
    }
  }

  @Test("A cut's description has sequences, greatest base, ordered timestamps, size and hash")
  func described() throws {
    let header = try Self.describe(FrameExamples.transactions, base: 5)
    var expected = FrameExamples.header
    expected.baseProof = ContentHash(ofText: "base")
    #expect(header == expected)
  }

  @Test("Bases in another incarnation do not count, and without a base no hash is requested")
  func bases() throws {
    var transactions = FrameExamples.transactions
    transactions[1].base = Base(incarnation: IncarnationID(rawValue: 9), offset: 100)
    let fromOne = try Self.describe(transactions, base: 4)
    #expect(fromOne.base == 4 && fromOne.baseProof == ContentHash(ofText: "base"))
    transactions[0].base = nil
    let fromNone = try Self.describe(transactions)
    #expect(fromNone.base == 0 && fromNone.baseProof == .zero)
    transactions[0].base = Base(incarnation: FrameExamples.incarnation, offset: 7)
    #expect(throws: NoHash.self) { try Self.describe(transactions, base: 4) }
    // The greatest base counts, in any transaction.
    transactions[1].base = Base(incarnation: FrameExamples.incarnation, offset: 6)
    let greatest = try Self.describe(transactions, base: 7)
    #expect(greatest.base == 7)
  }

  @Test("Transactions of another zone, replica or epoch, and gaps, are refused")
  func others() {
    #expect(Self.error { _ in } == nil)
    #expect(Self.error { $0[1].zone = ZoneID(name: "lists") }?.subject == "transaction.zone")
    #expect(Self.error { $0[1].replica = ReplicaID(rawValue: 1) }?.subject == "transaction.replica")
    #expect(Self.error { $0[1].epoch = 301 }?.subject == "transaction.epoch")
    for sequence in [1, 6, 7, 9, .max] as [UInt64] {
      #expect(Self.error { $0[1].sequence = sequence }?.subject == "transaction.sequence")
    }
    #expect(Self.error { $0.swapAt(0, 1) }?.subject == "transaction.sequence")
    #expect(
      Self.error {
        $0[0].sequence = .max - 1
        $0[1].sequence = .max
      } == nil)
    #expect(
      Self.error {
        $0[0].sequence = .max
        $0[1].sequence = 1
      }?.subject == "transaction.sequence")
    let error = Self.error { $0[1].epoch = 301 }
    #expect(error?.offset == 74 && error?.code == .invalid)
  }

  @Test("The most operations of a segment, and one more")
  func operations() {
    func error(_ count: Int) -> FormatError? {
      Self.error {
        $0[0].operations = [LogOperation](repeating: .delete(record: "note-1"), count: count - 2)
      }
    }
    #expect(error(Limits.segmentOperationsMax) == nil)
    #expect(error(Limits.segmentOperationsMax + 1)?.code == .limitExceeded)
  }

  @Test("Bytes that are not a transaction are refused with their place")
  func noTransactions() throws {
    let first = try FrameExamples.transactions[0].encoded()
    let second = try FrameExamples.transactions[1].encoded()
    for bytes in [[], [9], Array(second.dropLast()), second + [0]] {
      let error = #expect(throws: FormatError.self) {
        try SegmentHeader.describing(
          [first, bytes], incarnation: FrameExamples.incarnation, baseProof: { _ in .zero },
          previousHash: .zero)
      }
      #expect((error?.offset ?? 0) >= first.count)
    }
  }

  @Test("A body is split into exactly the transactions that were appended")
  func bodies() throws {
    var random = SeededGenerator(97)
    for _ in 0..<500 {
      let parts = (0..<(1 + random.below(5))).map { _ in random.bytes(1 + random.below(200)) }
      var writer = ByteWriter()
      for part in parts { SegmentBody.append(part.span.bytes, to: &writer) }
      let body = writer.bytes
      #expect(body.count == parts.map { SegmentBody.byteCount(ofTransactionOf: $0.count) }.reduce(0, +))
      let ranges = try SegmentBody.transactions(in: body.span.bytes, count: parts.count)
      #expect(ranges.map { Array(body[$0]) } == parts, "seed \(random.seed)")
      #expect(throws: FormatError.self) {
        try SegmentBody.transactions(in: body.span.bytes, count: parts.count + 1)
      }
      #expect(throws: FormatError.self) {
        try SegmentBody.transactions(in: body.span.bytes, count: parts.count - 1)
      }
    }
  }
}
