import Testing

@testable import OperationFormat

@Suite("Transactions as bytes")
struct TransactionCodecTests {
  @Test(
    "Transactions, cut at every byte, with every bit flipped, and with a byte more",
    arguments: [Examples.minimal, Examples.full, Examples.unknown])
  func examples(transaction: LogTransaction) {
    let faults = Codec.transaction.faults(of: transaction) + Codec.header.faults(of: transaction.header)
    #expect(faults.isEmpty)
    #expect(Codec.transaction.error(NaiveTransaction(transaction).bytes) == nil)
  }

  @Test("Every combination of the optional parts")
  func combinations() throws {
    for bits in 0..<64 {
      var transaction = Examples.full
      if bits & 1 == 0 { transaction.base = nil }
      if bits & 2 == 0 { transaction.parent = nil }
      if bits & 4 == 0 { transaction.writeID = nil }
      if bits & 8 == 0 { transaction.author = nil }
      if bits & 16 == 0 { transaction.label = nil }
      if bits & 32 == 0 { transaction.schemaVersion = nil }
      let bytes = try transaction.encoded()
      #expect(bytes == NaiveTransaction(transaction).bytes)
      let again = try LogTransaction(decoding: bytes.span.bytes)
      #expect(again == transaction)
      #expect(again.hashValue == transaction.hashValue)
      #expect((transaction == Examples.full) == (bits == 63))
    }
  }

  @Test("Random transactions have the naive encoder's bytes; a mutation gives an error or a transaction")
  func randomTransactions() throws {
    var random = SeededGenerator(81)
    var faults: [String] = []
    var accepted = 0
    let rounds = WideTests.choose(1000, otherwise: 250)
    for round in 0..<rounds {
      let transaction = random.transaction(allowsUnknown: round % 3 == 0)
      let bytes = try transaction.encoded()
      if bytes != NaiveTransaction(transaction).bytes { faults.append("\(transaction) is \(hex(bytes))") }
      if round.isMultiple(of: 16) {
        faults += Codec.transaction.faults(of: try LogTransaction(decoding: bytes.span.bytes))
      }
      if round.isMultiple(of: 5) { faults += Codec.header.faults(of: transaction.header) }
      for input in [bytes] + (0..<10).map({ _ in mutated(bytes, using: &random) }) {
        if let fault = Codec.transaction.fault(input) { faults.append(fault) }
        if Codec.transaction.code(input) == nil { accepted += 1 }
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
    #expect(accepted > rounds * 3 / 2 && accepted < rounds * 10, "\(accepted) of \(11 * rounds)")
  }

  @Test("Random bytes give an error, or a transaction with these bytes")
  func fuzz() {
    var random = SeededGenerator(82)
    let head = NaiveTransaction(Examples.minimal).header
    var faults: [String] = []
    for round in 0..<50_000 {
      var bytes = random.bytes(random.below(60))
      switch round % 4 {
      case 0: break
      case 1: bytes = [1, UInt8(random.below(4))] + bytes
      case 2: bytes = head + [1, UInt8(random.below(16))] + bytes
      default: bytes = head + [1, 0] + random.bytes(8) + bytes.map { $0 % 8 }
      }
      if let fault = Codec.transaction.fault(bytes) { faults.append(fault) }
      if let fault = Codec.header.fault(bytes) { faults.append(fault) }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  /// Breaks one rule of `Examples.full` and returns the error.
  static func error(_ change: (inout NaiveTransaction) -> Void) -> FormatError? {
    var naive = NaiveTransaction(Examples.full)
    change(&naive)
    return Codec.transaction.error(naive.bytes)
  }

  @Test("Later and impossible versions and flags")
  func versions() {
    #expect(Self.error { $0.headerVersion = 2 }?.code == .newerFormat)
    #expect(Self.error { $0.headerVersion = 255 }?.code == .newerFormat)
    #expect(Self.error { $0.headerVersion = 0 }?.code == .invalid)
    #expect(Self.error { $0.bodyVersion = 2 }?.code == .newerFormat)
    #expect(Self.error { $0.bodyVersion = 0 }?.code == .invalid)
    for bit in 2..<8 as Range<UInt8> {
      #expect(Self.error { $0.headerFlags |= 1 << bit }?.code == .newerFormat)
    }
    for bit in 4..<8 as Range<UInt8> {
      #expect(Self.error { $0.bodyFlags |= 1 << bit }?.code == .newerFormat)
    }
    let headerCount = NaiveTransaction(Examples.full).header.count
    let error = Self.error { $0.bodyFlags |= 128 }
    #expect(error?.offset == headerCount + 1)
    #expect(error?.subject == "transaction.body")
    #expect(error?.description.contains("at byte \(headerCount + 1)") == true)
    #expect(error?.hint.contains("upgrade") == true)
  }

  @Test("Names: twice, unused, in another order, empty, not UTF-8, index out of range")
  func names() {
    // The table of the full example: note-1, Note, title, done, note-2.
    #expect(Self.error { _ in } == nil)
    #expect(Self.error { $0.names[3] = $0.names[1] }?.code == .nonCanonical)
    #expect(Self.error { $0.names.append(Array("unused".utf8)) }?.code == .nonCanonical)
    #expect(Self.error { $0.names.swapAt(0, 1) }?.code == nil)
    #expect(Self.error { $0.operations.swapAt(1, 2) }?.code == .nonCanonical)
    #expect(Self.error { $0.operations[0].payload = [1, 0] }?.code == .nonCanonical)
    #expect(Self.error { $0.names[2] = [] }?.code == .invalid)
    #expect(Self.error { $0.names[2] = [0xff] }?.code == .invalidUTF8)
    #expect(Self.error { $0.operations[3].payload = [5] }?.code == .invalid)
    #expect(Self.error { $0.operations[3].payload = NaiveTransaction.varint(.max) }?.code == .invalid)
    #expect(Self.error { $0.names.removeLast() }?.code == .invalid)
  }

  @Test(
    "Equal names next to each other are found in tables of any size", arguments: [2, 8, 9, 100, 5000])
  func distinctNames(count: Int) {
    var naive = NaiveTransaction(Examples.minimal)
    naive.names = (0..<count).map { Array("name \($0)".utf8) }
    naive.operations = (0..<count).map { (2, NaiveTransaction.varint(UInt64($0))) }
    #expect(Codec.transaction.fault(naive.bytes) == nil)
    #expect(Codec.transaction.code(naive.bytes) == nil)
    for (a, b) in [(0, 1), (0, count - 1), (count / 2, count - 1)] where a != b {
      var broken = naive
      broken.names[b] = broken.names[a]
      #expect(Codec.transaction.code(broken.bytes) == .nonCanonical)
      // With an unknown kind, names must still differ.
      broken.operations[0] = (99, [])
      #expect(Codec.transaction.code(broken.bytes) == .nonCanonical)
    }
  }

  @Test("Payloads: too short, too long, of kind 0, and bytes after the last operation")
  func payloads() {
    #expect(Self.error { $0.operations[0].payload.append(0) }?.code == .trailingBytes)
    #expect(Self.error { $0.operations[3].payload.append(0) }?.code == .trailingBytes)
    #expect(Self.error { $0.operations[1].payload.append(0) }?.code == .trailingBytes)
    for index in 0..<4 {
      #expect(Self.error { _ = $0.operations[index].payload.popLast() }?.code == .truncated)
      #expect(Self.error { $0.operations[index].payload = [] }?.code == .truncated)
      #expect(Self.error { $0.operations[index].kind = 0 }?.code == .invalid)
    }
    #expect(Self.error { $0.operationCount = 3 }?.code == .trailingBytes)
    #expect(Self.error { $0.operationCount = 5 }?.code == .truncated)
    #expect(Self.error { $0.operationCount = 0 }?.code == .invalid)
    #expect(Self.error { $0.operations[1].payload = [0, 1, 2, 14] }?.code == .unknownTag)
  }

  @Test("One decoder parses many bodies, also after errors, like a new one")
  func reuse() throws {
    var random = SeededGenerator(83)
    var layout = BodyDecoder()
    for round in 0..<500 {
      var bytes = NaiveTransaction(random.transaction(allowsUnknown: round % 4 == 0)).body
      if round % 3 == 0 { bytes = mutated(bytes, using: &random) }
      var fresh = BodyDecoder()
      var errors: [FormatError?] = [nil, nil]
      do throws(FormatError) { try layout.parse(bytes.span.bytes) } catch { errors[0] = error }
      do throws(FormatError) { try fresh.parse(bytes.span.bytes) } catch { errors[1] = error }
      #expect(errors[0] == errors[1], "seed \(random.seed)")
      guard errors[0] == nil else { continue }
      #expect(layout.timestamp == fresh.timestamp && layout.writeID == fresh.writeID, "seed \(random.seed)")
      #expect(layout.author == fresh.author && layout.label == fresh.label, "seed \(random.seed)")
      #expect(layout.schemaVersion == fresh.schemaVersion, "seed \(random.seed)")
      #expect(layout.names == fresh.names && layout.operations == fresh.operations, "seed \(random.seed)")
      #expect(layout.hasUnknown == fresh.hasUnknown, "seed \(random.seed)")
    }
  }

  @Test("The decoder of a body has the ranges of all parts")
  func layout() throws {
    let transaction = Examples.full
    let body = NaiveTransaction(transaction).body
    var layout = BodyDecoder()
    try layout.parse(body.span.bytes)
    func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: body[$0], as: UTF8.self) } }
    #expect(layout.timestamp == transaction.timestamp)
    #expect(layout.writeID == transaction.writeID && layout.schemaVersion == transaction.schemaVersion)
    #expect(text(layout.author) == "ann@laptop" && text(layout.label) == "Tidy up")
    #expect(layout.names.map { text($0)! } == ["note-1", "Note", "title", "done", "note-2"])
    #expect(layout.operations.map(\.kind) == [.create, .set, .set, .delete])
    #expect(layout.operations.map(\.record) == [0, 0, 0, 4])
    #expect(layout.operations.map(\.type) == [1, 1, 1, -1])
    #expect(layout.operations.map(\.field) == [-1, 2, 3, -1])
    #expect(layout.operations.map { Array(body[$0.operand]) } == [[], [6, 4] + Array("Milk".utf8), [1], []])
    #expect(Array(body[layout.operations[2].payload]) == [0, 1, 3, 1])
    #expect(layout.hasUnknown == false)
  }
}
