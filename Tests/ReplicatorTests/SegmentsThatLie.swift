import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Segments that are damaged, or differ from their header")
struct SegmentsThatLie {
  @Test("A segment that is cut anywhere, has any bit flipped, or is followed by other bytes")
  func damage() throws {
    let packed = try SegmentPacker.pack(SegmentExamples.cut(SegmentExamples.transactions(4)))
    #expect(packed.header.codec == .shared)
    for count in 0..<packed.bytes.count {
      let code = unpackingError(Array(packed.bytes.prefix(count)))?.code
      #expect(code == .truncated)
    }
    for bit in 0..<(8 * packed.bytes.count) {
      var bytes = packed.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let code = unpackingError(bytes)?.code
      #expect(code == .damaged || code == .truncated || (bit < 32 && code == .invalid), "bit \(bit)")
    }
    #expect(unpackingError(packed.bytes + [0])?.code == .trailingBytes)
  }

  /// The error of a segment whose header was changed after it was computed, with matching hashes.
  static func error(_ change: (inout SegmentHeader) -> Void) throws -> FormatError? {
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(5, from: 3))
    var header = cut.header
    change(&header)
    return unpackingError(try SegmentExamples.segment(header, cut.transactions))
  }

  @Test("A header that differs from its transactions, field by field")
  func header() throws {
    #expect(try Self.error { _ in } == nil)
    let other = Timestamp(rawValue: 1)
    let cases: [(String, (inout SegmentHeader) -> Void)] = [
      ("segment.zone", { $0.zone = ZoneID(name: "Notes") }),
      ("segment.replica", { $0.replica = ReplicaID(rawValue: 1) }),
      ("segment.epoch", { $0.epoch = 2 }),
      ("segment.firstSequence", { $0.sequences = 2...6 }),
      ("segment.firstSequence", { $0.sequences = 4...8 }),
      ("segment.body", { $0.sequences = 3...6 }),
      ("segment.transaction", { $0.sequences = 3...8 }),
      ("segment.base", { $0.base = 1 }),
      ("segment.base", { $0.base = 3 }),
      ("segment.base", { $0.incarnation = IncarnationID(rawValue: 1) }),
      ("segment.operationCount", { $0.operationCount -= 1 }),
      ("segment.operationCount", { $0.operationCount += 1 }),
      ("segment.leastTimestamp", { $0.timestamps = other...$0.timestamps.upperBound }),
      ("segment.greatestTimestamp", { $0.timestamps = $0.timestamps.lowerBound...Timestamp(rawValue: .max) }),
    ]
    for (subject, change) in cases {
      let error = try Self.error(change)
      #expect(error?.subject == subject)
      #expect(error?.code == .invalid || error?.code == .trailingBytes || error?.code == .truncated)
    }
    let damaged = try Self.error { $0.contentHash = $0.baseProof }
    #expect(damaged?.code == .damaged && damaged?.subject == "segment.contentHash")
    // Only the log shows which segment comes before it.
    #expect(try Self.error { $0.previousHash = $0.contentHash } == nil)
  }

  @Test("A transaction of another zone, replica, epoch or sequence among the others")
  func transactions() throws {
    let good = try SegmentExamples.transactions(3)
    let cut = try SegmentExamples.cut(good)
    let strangers = [
      ("transaction.zone", try SegmentExamples.transaction(2, zone: ZoneID(name: "other"))),
      ("transaction.replica", try SegmentExamples.transaction(2, replica: ReplicaID(rawValue: 9))),
      ("transaction.epoch", try SegmentExamples.transaction(2, epoch: 9)),
      ("transaction.sequence", try SegmentExamples.transaction(1)),
      ("transaction.sequence", try SegmentExamples.transaction(4)),
      ("transaction.replica", Array(good[1].dropLast(good[1].count - 10))),
      ("transaction", good[1] + [0]),
    ]
    for (subject, stranger) in strangers {
      var transactions = good
      transactions[1] = stranger
      let error = unpackingError(try SegmentExamples.segment(cut.header, transactions))
      #expect(error?.subject == subject)
    }
  }

  @Test("Mutated bodies with matching hashes give an error, or the same transactions")
  func mutatedBodies() throws {
    let seed: UInt64 = 21
    var random = SeededRandom(seed: seed)
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(6))
    var accepted = 0
    let count = WideTests.choose(4000, otherwise: 1000)
    for _ in 0..<count {
      var transactions = cut.transactions
      for _ in 0...random.next(below: 3) {
        let place = random.next(below: transactions.count)
        let index = random.next(below: transactions[place].count)
        switch random.next(below: 4) {
        case 0: transactions[place].remove(at: index)
        case 1: transactions[place].insert(UInt8(random.next(below: 256)), at: index)
        default: transactions[place][index] = UInt8(random.next(below: 256))
        }
      }
      let bytes = try SegmentExamples.segment(cut.header, transactions)
      do throws(FormatError) {
        let unpacked = try SegmentPacker.unpack(bytes)
        accepted += 1
        #expect(unpacked.transactions == transactions, "seed \(seed)")
        for transaction in unpacked.transactions {
          _ = try LogTransaction(decoding: transaction.span.bytes)
        }
      } catch {
        #expect(error.offset >= 0)
      }
    }
    #expect(accepted > count / 40 && accepted < count - count / 40, "\(accepted) of \(count), seed \(seed)")
  }

  @Test("Mutated packed bodies with a matching hash give an error, or the same transactions")
  func mutatedFrames() throws {
    let seed: UInt64 = 22
    var random = SeededRandom(seed: seed)
    let cut = try SegmentExamples.cut(SegmentExamples.transactions(30))
    let packed = try SegmentPacker.pack(cut)
    let (header, range) = try SegmentFrame.read(packed.bytes.span.bytes)
    let frame = Array(packed.bytes[range])
    for _ in 0..<WideTests.choose(20_000, otherwise: 4000) {
      var mutated = frame
      for _ in 0...random.next(below: 3) {
        let index = random.next(below: mutated.count)
        switch random.next(below: 6) {
        case 0: mutated.remove(at: index)
        case 1: mutated.insert(UInt8(random.next(below: 256)), at: index)
        default: mutated[index] ^= 1 << UInt8(random.next(below: 8))
        }
      }
      let bytes = try SegmentExamples.segment(header, packedBody: mutated)
      do throws(FormatError) {
        let unpacked = try SegmentPacker.unpack(bytes)
        #expect(unpacked.transactions == cut.transactions, "seed \(seed)")
      } catch {
        // A run also has these.
        let codes: [FormatError.Code] = [
          .invalid, .damaged, .truncated, .nonCanonical, .limitExceeded, .trailingBytes, .unknownTag,
        ]
        #expect(codes.contains(error.code), "\(error), seed \(seed)")
      }
    }
  }
}
