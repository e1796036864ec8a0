import Testing

@testable import OperationFormat

@Suite("Operations of later kinds")
struct UnknownOperationTests {
  @Test("They are kept byte for byte, with the decoded table of names")
  func kept() throws {
    let bytes = NaiveTransaction(Examples.unknown).bytes
    let transaction = try LogTransaction(decoding: bytes.span.bytes)
    #expect(transaction == Examples.unknown)
    #expect(transaction.names == ["unused", "r", "T", "also unused"])
    let again = try transaction.encoded()
    #expect(again == bytes)
  }

  @Test("Each kind from 19 on is unknown, and none up to 18")
  func kinds() {
    for kind in [19, 127, 128, 1 << 32, .max] as [UInt64] {
      var transaction = Examples.minimal
      transaction.operations = [.unknown(kind: kind, payload: [1, 2, 3])]
      transaction.names = []
      let faults = Codec.transaction.faults(of: transaction)
      #expect(faults.isEmpty)
    }
    for kind in 0...18 as ClosedRange<UInt64> {
      var transaction = Examples.minimal
      transaction.operations = [.unknown(kind: kind, payload: [0])]
      #expect(Codec.transaction.code(encoding: transaction) == .invalid)
    }
  }

  @Test("Only an integer or a decimal can be added to a counter: nothing else is written or read")
  func summands() throws {
    for (value, isSummand) in [
      (.int(1), true), (.decimal(DecimalNumber("0.5")!), true), (.null, false), (.double(1), false),
      (.string("1"), false), (.array([1]), false),
    ] as [(Value, Bool)] {
      var transaction = Examples.minimal
      transaction.operations = [.add(record: "r", type: "T", field: "n", value: value)]
      let bytes = NaiveTransaction(transaction).bytes
      if isSummand {
        #expect(try LogTransaction(decoding: bytes.span.bytes) == transaction)
      } else {
        #expect(Codec.transaction.code(encoding: transaction) == .invalid)
        #expect(throws: FormatError.self) { _ = try LogTransaction(decoding: bytes.span.bytes) }
      }
    }
  }

  @Test("Without them a decoded table of names is ignored; with them it comes first and may grow")
  func tables() throws {
    var known = Examples.minimal
    known.names = ["zzz", "r"]
    let plain = try Examples.minimal.encoded()
    let bytes = try known.encoded()
    #expect(bytes == plain)

    var grown = Examples.unknown
    grown.operations.append(.delete(record: "new"))
    let grownBytes = try grown.encoded()
    let again = try LogTransaction(decoding: grownBytes.span.bytes)
    #expect(again.names == ["unused", "r", "T", "also unused", "new"])
    #expect(again.operations == grown.operations)

    var none = Examples.unknown
    none.names = nil
    let noneBytes = try none.encoded()
    let used = try LogTransaction(decoding: noneBytes.span.bytes)
    #expect(used.names == ["r", "T"])
    #expect(used.operations == none.operations)

    var twice = Examples.unknown
    twice.names = ["r", "T", "r"]
    #expect(Codec.transaction.code(encoding: twice) == .nonCanonical)
    twice.names = ["r", ""]
    #expect(Codec.transaction.code(encoding: twice) == .invalid)
  }

  @Test("The other operations of the transaction are checked as usual")
  func others() {
    func error(_ change: (inout NaiveTransaction) -> Void) -> FormatError.Code? {
      var naive = NaiveTransaction(Examples.unknown)
      change(&naive)
      return Codec.transaction.code(naive.bytes)
    }
    #expect(error { _ in } == nil)
    #expect(error { $0.operations[1].payload = [1, 4] } == .invalid)
    #expect(error { $0.operations[1].payload = [3, 0] } == nil)
    #expect(error { $0.operations[1].payload = [1, 2, 0] } == .trailingBytes)
    #expect(error { $0.names[2] = [UInt8](repeating: 0x61, count: 129) } == .limitExceeded)
    #expect(error { $0.names[0] = [UInt8](repeating: 0x61, count: 255) } == nil)
    #expect(error { $0.names[0] = [UInt8](repeating: 0x61, count: 256) } == .limitExceeded)
  }
}
