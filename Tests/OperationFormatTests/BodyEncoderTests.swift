import Testing

@testable import OperationFormat

@Suite("Bodies encoded operation by operation")
struct BodyEncoderTests {
  /// Appends the operations of a transaction as a store does.
  static func append(_ operations: [LogOperation], to builder: inout BodyEncoder) throws {
    for operation in operations {
      switch operation {
      case .create(let record, let type):
        let record = builder.nameIndex(record)
        builder.appendCreate(record: record, type: builder.nameIndex(type))
      case .delete(let record):
        builder.appendDelete(record: builder.nameIndex(record))
      case .moveAway(let record, let place):
        var other = ByteWriter()
        try place.encodeOtherPlace(into: &other)
        builder.appendMoveAway(record: builder.nameIndex(record), to: other.span)
      case .moveHere(let record, let type, let place):
        var other = ByteWriter()
        try place.encodeOtherPlace(into: &other)
        let record = builder.nameIndex(record)
        builder.appendMoveHere(record: record, type: builder.nameIndex(type), from: other.span)
      case .update(let record, let type, let field, let change):
        let record = builder.nameIndex(record)
        let type = builder.nameIndex(type)
        let field = builder.nameIndex(field)
        var operand = ByteWriter()
        try change.encode(into: &operand)
        builder.append(change.kind, record: record, type: type, field: field, operand: operand.span)
      case .compact(let floor): builder.appendCompact(floor: floor)
      case .unknown(let kind, let payload):
        builder.appendUnknown(kind: OperationKind(rawValue: kind), payload: payload.span.bytes)
      }
    }
  }

  static func steps(ofBody body: borrowing ByteWriter) throws -> Int {
    var layout = BodyDecoder()
    try layout.parse(body.span)
    var work = FoldWork()
    work.add(layout, body.span)
    return work.steps
  }

  @Test("The steps of operations are those of the format's page")
  func weights() throws {
    func steps(_ operations: LogOperation...) throws -> Int {
      var builder = BodyEncoder()
      try Self.append(operations, to: &builder)
      var writer = ByteWriter()
      builder.finish(timestamp: Timestamp(rawValue: 1), into: &writer)
      let counted = try Self.steps(ofBody: writer)
      #expect(builder.steps == counted)
      return builder.steps
    }
    func update(_ change: FieldChange) -> LogOperation {
      .update(record: "r", type: "t", field: "f", change)
    }
    let create = LogOperation.create(record: "r", type: "t")
    #expect(try steps(create, .delete(record: "r"), update(.set(1))) == 6)
    #expect(try steps(update(.set(.bytes([UInt8](repeating: 0, count: 5120))))) == 12)
    #expect(try steps(update(.add(1)), update(.contribute(1)), update(.insert(1))) == 4 + 4 + 4)
    #expect(try steps(update(.put(key: "k", 1)), update(.removeKey("k")), update(.remove(1))) == 4 + 4 + 4)
    #expect(try steps(update(.insertElements([1, 2, 3], after: nil))) == 24 + 3 * 2)
    #expect(try steps(update(.insertText(String(repeating: "x", count: 640), after: nil))) == 24 + 1)
    let reference = Value.reference(Reference(record: "r"))
    let asset = Value.asset(AssetReference(hash: .zero, byteCount: 1))
    let remove = update(.remove(asset))
    #expect(try steps(update(.set(reference)), update(.insert(asset)), remove) == 4 + 8 + 4)
    let both = Value.array([reference, .map(["a": asset, "b": 10])])
    #expect(try steps(update(.put(key: "k", both))) == 4 + 2 + 4)
    #expect(try steps(update(.insertElements([reference, 11, [asset]], after: nil))) == 24 + 6 + 2 + 4)
    let run = { (count: UInt64) in UnitSpan(first: UnitReference(number: 0), count: count) }
    #expect(try steps(update(.removeText([run(640), run(63)]))) == 24 + 16 + 320 + 16 + 31)
    #expect(try steps(update(.removeText([run(1024 + 640)]))) == 24 + 16 + 512 + 40)
    #expect(try steps(update(.removeElements([run(10)]))) == 24 + 16 + 10)
    #expect(try steps(update(.removeElements([run(.max)]))) > Limits.foldStepsMax)
    #expect(try steps(update(.removeElements([run(.max), run(.max)]))) > Limits.foldStepsMax)
    #expect(try steps(create, create, create) == 6 + 2 * 4096)
    #expect(try steps(.unknown(kind: 999, payload: [UInt8](repeating: 0, count: 1024))) == 4)
  }

  @Test("One encoder makes many bodies, each with the bytes of the naive encoder")
  func reuse() throws {
    var random = SeededGenerator(91)
    var builder = BodyEncoder()
    var writer = ByteWriter()
    for round in 0..<1000 {
      let transaction = random.transaction(allowsUnknown: round % 5 == 0)
      builder.removeAll()
      writer.removeAll()
      try Self.append(transaction.operations, to: &builder)
      builder.finish(
        timestamp: transaction.timestamp, writeID: transaction.writeID, author: transaction.author,
        label: transaction.label, schemaVersion: transaction.schemaVersion, into: &writer)
      #expect(writer.bytes == NaiveTransaction(transaction).body, "seed \(random.seed)")
      #expect(builder.operationCount == transaction.operations.count)
      let steps = try Self.steps(ofBody: writer)
      #expect(builder.steps == steps)
      #expect(builder.byteCount >= writer.count)
      #expect(builder.byteCount <= writer.count + TransactionFormat.bodyFieldsBytesMax)
    }
  }

  @Test("The bound of the size holds for the longest parts")
  func bound() {
    var builder = BodyEncoder()
    var writer = ByteWriter()
    for index in 0..<65_536 { builder.appendDelete(record: builder.nameIndex(Name("\(index)"))) }
    builder.finish(
      timestamp: Timestamp(rawValue: .max), writeID: .max, author: String(repeating: "a", count: 255),
      label: String(repeating: "l", count: 1024), schemaVersion: .max, into: &writer)
    #expect(builder.byteCount >= writer.count)
    #expect(builder.byteCount <= writer.count + 4)
    var layout = BodyDecoder()
    #expect(throws: Never.self) { try layout.parse(writer.span) }
  }

  @Test("Misuse stops the program before wrong bytes are written")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      // An index that was requested and not used.
      var builder = BodyEncoder()
      var writer = ByteWriter()
      builder.appendDelete(record: builder.nameIndex("r"))
      _ = builder.nameIndex("unused")
      builder.finish(timestamp: Timestamp(rawValue: 0), into: &writer)
    }
    await #expect(processExitsWith: .failure) {
      // Indexes requested in another order than they are used.
      var builder = BodyEncoder()
      let type = builder.nameIndex("T")
      builder.appendCreate(record: builder.nameIndex("r"), type: type)
    }
    await #expect(processExitsWith: .failure) {
      var builder = BodyEncoder()
      let long = builder.nameIndex(Name(String(repeating: "x", count: 129)))
      builder.appendCreate(record: long, type: long)
    }
    await #expect(processExitsWith: .failure) {
      var writer = ByteWriter()
      BodyEncoder().finish(timestamp: Timestamp(rawValue: 0), into: &writer)
    }
    await #expect(processExitsWith: .failure) {
      var writer = ByteWriter()
      TransactionHeader(replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 0, zone: ZoneID(name: "z"))
        .encode(into: &writer)
    }
    await #expect(processExitsWith: .success) {
      var builder = BodyEncoder()
      var writer = ByteWriter()
      builder.appendDelete(record: builder.nameIndex("r"))
      builder.finish(timestamp: Timestamp(rawValue: 0), into: &writer)
    }
  }
}
