import Testing

@testable import OperationFormat

@Suite("Limits, and one more than each")
struct LimitTests {
  static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  static func name(_ count: Int) -> Name { Name(text(count)) }

  /// The errors of the encoder for a transaction, and of the decoder for its bytes, which are built by hand.
  static func codes(_ transaction: LogTransaction) -> [FormatError.Code?] {
    [
      Codec.transaction.code(encoding: transaction),
      Codec.transaction.code(NaiveTransaction(transaction).bytes),
    ]
  }

  static func minimal(_ change: (inout LogTransaction) -> Void) -> LogTransaction {
    var transaction = Examples.minimal
    change(&transaction)
    return transaction
  }

  @Test("Names of zones and owners")
  func zones() {
    #expect(Self.codes(Self.minimal { $0.zone.name = Self.name(128) }) == [nil, nil])
    #expect(Self.codes(Self.minimal { $0.zone.name = Self.name(129) }) == [.limitExceeded, .limitExceeded])
    #expect(Self.codes(Self.minimal { $0.zone.name = "" }) == [.invalid, .invalid])
    func stated(_ owner: Name) -> LogTransaction {
      Self.minimal {
        $0.zone.owner = owner
        $0.statesOwner = true
      }
    }
    #expect(Self.codes(stated(Self.name(128))) == [nil, nil])
    #expect(Self.codes(stated(Self.name(129))) == [.limitExceeded, .limitExceeded])
  }

  @Test("Names of records, types and fields")
  func names() {
    func codes(_ operation: LogOperation) -> [FormatError.Code?] {
      Self.codes(Self.minimal { $0.operations = [operation] })
    }
    let long = Self.name(128)
    let tooLong = Self.name(129)
    let limit: [FormatError.Code?] = [.limitExceeded, .limitExceeded]
    #expect(codes(.delete(record: Self.name(255))) == [nil, nil])
    #expect(codes(.delete(record: Self.name(256))) == limit)
    #expect(codes(.create(record: Self.name(255), type: long)) == [nil, nil])
    #expect(codes(.create(record: Self.name(256), type: long)) == limit)
    #expect(codes(.create(record: "r", type: tooLong)) == limit)
    #expect(codes(.set(record: Self.name(255), type: "t", field: long, value: 1)) == [nil, nil])
    #expect(codes(.set(record: "r", type: tooLong, field: "f", value: 1)) == limit)
    #expect(codes(.set(record: "r", type: "t", field: tooLong, value: 1)) == limit)
    // The same name as a record and as a type: the shorter limit holds for the second use.
    #expect(codes(.create(record: tooLong, type: tooLong)) == limit)
    #expect(codes(.delete(record: "")) == [.invalid, .invalid])
    #expect(codes(.create(record: "r", type: "")) == [.invalid, .invalid])
  }

  @Test("Author and label, also empty")
  func texts() {
    for (count, code) in [(0, nil), (255, nil), (256, .limitExceeded)] as [(Int, FormatError.Code?)] {
      #expect(Self.codes(Self.minimal { $0.author = Self.text(count) }) == [code, code])
    }
    for (count, code) in [(0, nil), (1024, nil), (1025, .limitExceeded)] as [(Int, FormatError.Code?)] {
      #expect(Self.codes(Self.minimal { $0.label = Self.text(count) }) == [code, code])
    }
    let empty = Self.minimal { $0.author = "" }
    let faults = Codec.transaction.faults(of: empty)
    #expect(faults.isEmpty)
  }

  @Test("Numbers that count from 1")
  func fromOne() {
    let invalid: [FormatError.Code?] = [.invalid, .invalid]
    #expect(Self.codes(Self.minimal { $0.sequence = 0 }) == invalid)
    #expect(Self.codes(Self.minimal { $0.sequence = .max }) == [nil, nil])
    let incarnation = IncarnationID(rawValue: 3)
    #expect(Self.codes(Self.minimal { $0.base = Base(incarnation: incarnation, offset: 0) }) == invalid)
    #expect(Self.codes(Self.minimal { $0.base = Base(incarnation: incarnation, offset: 1) }) == [nil, nil])
    let replica = ReplicaID(rawValue: 3)
    let parent = TransactionID(replica: replica, epoch: .max, sequence: 0)
    #expect(Self.codes(Self.minimal { $0.parent = parent }) == invalid)
    var naive = NaiveTransaction(Examples.minimal)
    naive.id = NaiveTransaction.bigEndian(1) + NaiveTransaction.varint(1 << 32) + [1]
    #expect(Codec.transaction.code(naive.bytes) == .invalid)
  }

  @Test("Zero operations, 65,536 and one more")
  func operations() {
    #expect(Self.codes(Self.minimal { $0.operations = [] }) == [.invalid, .invalid])
    var transaction = Examples.minimal
    transaction.operations = [LogOperation](repeating: .delete(record: "r"), count: 65_536)
    #expect(Self.codes(transaction) == [nil, nil])
    #expect(Codec.transaction.fault(NaiveTransaction(transaction).bytes) == nil)
    transaction.operations.append(.delete(record: "r"))
    #expect(Self.codes(transaction) == [.limitExceeded, .limitExceeded])
  }

  @Test("Names of a transaction: three for each operation, and one more")
  func nameCount() {
    // Only a table with an operation of an unknown kind can be this long and small.
    var transaction = Examples.minimal
    transaction.operations = [.unknown(kind: 99, payload: [])]
    transaction.names = (0..<196_608).map { Name(String($0, radix: 36)) }
    #expect(Codec.transaction.code(encoding: transaction) == nil)
    var naive = NaiveTransaction(Examples.minimal)
    naive.operations = [(99, [])]
    naive.names = transaction.names!.map { Array($0.rawValue.utf8) }
    #expect(Codec.transaction.code(naive.bytes) == nil)
    transaction.names!.append("one more")
    naive.names.append(Array("one more".utf8))
    #expect(Codec.transaction.code(encoding: transaction) == .limitExceeded)
    #expect(Codec.transaction.code(naive.bytes) == .limitExceeded)
  }

  @Test("Transactions of 8 MiB and a byte more")
  func transactionSize() throws {
    // Eight values of the greatest size; the last one fills the rest.
    func transaction(lastCount: Int) -> LogTransaction {
      Self.minimal {
        $0.operations = (0..<8).map { index in
          let count = index == 7 ? lastCount : (1 << 20) - 4
          return .set(record: "r", type: "t", field: "f", value: .bytes([UInt8](repeating: 1, count: count)))
        }
      }
    }
    let probe = try transaction(lastCount: 1_000_000).encoded().count
    let fitting = 1_000_000 + (8 << 20) - probe
    let bytes = try transaction(lastCount: fitting).encoded()
    #expect(bytes.count == 8 << 20)
    #expect(Codec.transaction.code(bytes) == nil)
    #expect(Codec.transaction.code(encoding: transaction(lastCount: fitting + 1)) == .limitExceeded)
    let naive = NaiveTransaction(transaction(lastCount: fitting + 1)).bytes
    #expect(naive.count == 8 << 20 + 1)
    #expect(Codec.transaction.code(naive) == .limitExceeded)
    var layout = BodyDecoder()
    let body = NaiveTransaction(transaction(lastCount: fitting + 30)).body
    #expect(throws: FormatError.self) { try layout.parse(body.span.bytes) }
  }

  @Test("Values of 1 MiB and of a byte more, of each kind")
  func valueSize() {
    func codes(_ value: Value, _ bytes: [UInt8]) -> [FormatError.Code?] {
      [Codec.value.code(encoding: value), Codec.value.code(bytes), validationError(bytes)?.code]
    }
    // A tag, a count of three bytes, and the rest.
    for (extra, code) in [(0, nil), (1, .limitExceeded)] as [(Int, FormatError.Code?)] {
      let count = (1 << 20) - 4 + extra
      let size = NaiveTransaction.varint(UInt64(count))
      #expect(
        codes(.string(Self.text(count)), [6] + size + Array(Self.text(count).utf8)) == [code, code, code])
      let zeros = [UInt8](repeating: 0, count: count)
      #expect(codes(.bytes(zeros), [7] + size + zeros) == [code, code, code])
      #expect(
        codes(.array([Value](repeating: .null, count: count)), [12] + size + zeros) == [code, code, code])
      // In an array the whole counts: its head, the bytes with their head, and an empty array after them.
      let innerCount = (1 << 20) - 8 + extra
      let inner = [UInt8](repeating: 0, count: innerCount)
      let innerSize = NaiveTransaction.varint(UInt64(innerCount))
      #expect(codes([.bytes(inner), []], [12, 2, 7] + innerSize + inner + [12, 0]) == [code, code, code])
    }
  }

  @Test("Values 32 deep and one deeper, of arrays and of maps")
  func depth() {
    func array(_ depth: Int) -> Value { depth == 1 ? 1 : [array(depth - 1)] }
    func map(_ depth: Int) -> Value { depth == 1 ? 1 : ["k": map(depth - 1)] }
    func arrayBytes(_ depth: Int) -> [UInt8] { depth == 1 ? [3, 2] : [12, 1] + arrayBytes(depth - 1) }
    func mapBytes(_ depth: Int) -> [UInt8] { depth == 1 ? [3, 2] : [13, 1, 1, 0x6b] + mapBytes(depth - 1) }
    for (depth, code) in [(31, nil), (32, nil), (33, .limitExceeded)] as [(Int, FormatError.Code?)] {
      #expect(Codec.value.code(encoding: array(depth)) == code)
      #expect(Codec.value.code(encoding: map(depth)) == code)
      #expect(Codec.value.code(arrayBytes(depth)) == code)
      #expect(Codec.value.code(mapBytes(depth)) == code)
      #expect(validationError(arrayBytes(depth))?.code == code)
      #expect(validationError(mapBytes(depth))?.code == code)
    }
    // An empty array is as deep as a scalar.
    let empty = (0..<31).reduce([] as Value) { value, _ in [value] }
    #expect(Codec.value.code(encoding: empty) == nil)
  }

  @Test("Names within values")
  func namesInValues() {
    func code(_ value: Value, _ bytes: [UInt8]) -> [FormatError.Code?] {
      [Codec.value.code(encoding: value), Codec.value.code(bytes), validationError(bytes)?.code]
    }
    for (count, code) in [(0, nil), (255, nil), (256, .limitExceeded)] as [(Int, FormatError.Code?)] {
      let bytes = [13, 1] + NaiveTransaction.text(Self.text(count)) + [0]
      #expect(Codec.value.code(encoding: .map([Self.name(count): .null])) == code)
      #expect(Codec.value.code(bytes) == code)
      #expect(validationError(bytes)?.code == code)
    }
    for (count, expected) in [(0, .invalid), (1, nil), (255, nil), (256, .limitExceeded)]
      as [(Int, FormatError.Code?)]
    {
      let reference = Value.reference(Reference(record: Self.name(count)))
      let bytes = [10, 0, 0] + NaiveTransaction.text(Self.text(count))
      #expect(code(reference, bytes) == [expected, expected, expected])
    }
    for (count, expected) in [(0, .invalid), (1, nil), (128, nil), (129, .limitExceeded)]
      as [(Int, FormatError.Code?)]
    {
      let reference = Value.reference(Reference(zone: ZoneID(name: Self.name(count)), record: "r"))
      let bytes = [10, 0, 1, 0] + NaiveTransaction.text(Self.text(count)) + [1, 0x72]
      #expect(code(reference, bytes) == [expected, expected, expected])
      let owner: FormatError.Code? = count == 0 ? nil : expected
      let owned = Value.reference(Reference(zone: ZoneID(owner: Self.name(count), name: "z"), record: "r"))
      let ownedBytes = [10, 0, 1] + NaiveTransaction.text(Self.text(count)) + [1, 0x7a, 1, 0x72]
      #expect(code(owned, ownedBytes) == [owner, owner, owner])
    }
  }
}
