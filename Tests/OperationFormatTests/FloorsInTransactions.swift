import Testing

@testable import OperationFormat

@Suite("Floors in bytes")
struct FloorsInTransactions {
  private func naming(_ floor: UInt64) -> LogTransaction {
    var transaction = Examples.minimal
    transaction.operations = [.compact(floor: floor)]
    return transaction
  }

  @Test(
    "are decoded again, and every cut or flipped bit gives an error or another floor",
    arguments: [1, 300, .max])
  func roundTrip(floor: UInt64) throws {
    let transaction = naming(floor)
    let bytes = try transaction.encoded()
    #expect(bytes == NaiveTransaction(transaction).bytes)
    #expect(try LogTransaction(decoding: bytes.span.bytes) == transaction)
    #expect(Codec.transaction.faults(of: transaction).isEmpty)
  }

  @Test("begin at 1")
  func zero() {
    #expect(Codec.transaction.code(encoding: naming(0)) == .invalid)
    #expect(Codec.transaction.code(NaiveTransaction(naming(0)).bytes) != nil)
  }

  @Test("count only where a transaction does nothing else")
  func alone() throws {
    func floor(_ operations: [LogOperation]) throws -> UInt64? {
      var encoder = BodyEncoder()
      try BodyEncoderTests.append(operations, to: &encoder)
      var body = ByteWriter()
      encoder.finish(timestamp: Timestamp(rawValue: 1), into: &body)
      var decoder = BodyDecoder()
      try decoder.parse(body.span)
      return decoder.floor
    }
    #expect(try floor([.compact(floor: 7)]) == 7)
    #expect(try floor([.compact(floor: 7), .compact(floor: 8)]) == nil)
    #expect(try floor([.create(record: "r", type: "t"), .compact(floor: 7)]) == nil)
    #expect(try floor([.create(record: "r", type: "t")]) == nil)
  }
}
