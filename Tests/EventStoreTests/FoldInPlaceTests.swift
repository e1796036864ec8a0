import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Setting a field in place")
struct FoldInPlaceTests {
  /// Values with sizes at the limits: a byte count of one byte and of two, a value in the row and apart.
  private static let sizes = [1, 2, 50, 90, 97, 98, 99, 100, 101, 110, 127, 128, 1023, 1024, 1025]

  private func makeStorage() -> MemoryFoldStorage {
    MemoryFoldStorage(replicas: (1...3).map { ReplicaID(rawValue: UInt128($0)) }) { _, _, sequence, _, _ in
      sequence.isMultiple(of: 3) ? nil : sequence
    }
  }

  @Test(
    "gives the same bytes as the general step, whatever came before",
    arguments: WideTests.choose(0..<60, otherwise: 0..<15)
  )
  func isTheGeneralStep(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let (storage, plainStorage) = (makeStorage(), makeStorage())
    var fold = Fold(storage: storage)
    var general = Fold(storage: plainStorage)
    general.editsInPlace = false
    let state = StateNumber(rawValue: 1)
    // In one of them all numbers fit into a byte, in the other not; some seeds meet no other replica.
    let large = random.next(below: 2) == 0
    let replicas = random.next(in: 1...3)
    var sequences: [UInt64] = [0, 0, 0]
    var packed = 0
    for _ in 0..<60 {
      let replica = random.next(below: replicas)
      sequences[replica] += large ? UInt64(random.next(in: 1...3_000_000)) : 1
      var context = CausalContext(
        zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: UInt32(replica + 1)),
        epoch: large ? UInt32(random.next(below: 300)) : 0, sequence: sequences[replica],
        base: random.next(below: 3) == 0
          ? nil : (IncarnationNumber(rawValue: 1), UInt64(random.next(below: 200))))
      context.seesAllPlaced = random.next(below: 4) == 0
      let timestamp = Timestamp(milliseconds: UInt64(random.next(in: 1...50)), counter: 0)
      (fold.context, general.context) = (context, context)
      (fold.timestamp, general.timestamp) = (timestamp, timestamp)
      let first = large ? random.next(below: 60_000) : 0
      for index in first..<first + random.next(in: 1...6) {
        let index = UInt32(index)
        let record = Array("record \(random.next(below: 2))".utf8)
        let type = NameNumber(rawValue: UInt32(random.next(below: 8) == 0 ? 70_000 : 1))
        let kind = random.next(below: 10)
        let field = NameNumber(rawValue: ([1, 2, 3, 9, 600] as [UInt32])[random.next(below: 5)])
        let value = [UInt8](
          repeating: UInt8(random.next(in: 1...9)), count: Self.sizes[random.next(below: Self.sizes.count)])
        switch kind {
        case 0:
          try fold.create(record.span.bytes, in: state, type: type, index: index)
          try general.create(record.span.bytes, in: state, type: type, index: index)
        case 1:
          try fold.delete(record.span.bytes, in: state, index: index)
          try general.delete(record.span.bytes, in: state, index: index)
        case 2:
          var operand = ByteWriter()
          let change: FieldChange = random.next(below: 2) == 0 ? .add(3) : .insert("element")
          try change.encode(into: &operand)
          try fold.change(
            change.kind, field, of: record.span.bytes, in: state, type: type, operand: operand.span,
            index: index)
          try general.change(
            change.kind, field, of: record.span.bytes, in: state, type: type, operand: operand.span,
            index: index)
        default:
          try fold.change(
            .set, field, of: record.span.bytes, in: state, type: type, operand: value.span.bytes, index: index
          )
          try general.change(
            .set, field, of: record.span.bytes, in: state, type: type, operand: value.span.bytes, index: index
          )
        }
        let types = try (
          fold.aliveType(of: record.span.bytes, in: state) { [:] },
          general.aliveType(of: record.span.bytes, in: state) { [:] }
        )
        #expect(types.0 == types.1)
      }
      try fold.flush()
      try general.flush()
      try #require(storage.contents == plainStorage.contents)
      try #require(fold.conflictCount == general.conflictCount)
      for (record, row) in storage.records[state] ?? [:] {
        let unpacked = try unpackedRow(row)
        DamagedRows.checkWinners(unpacked)
        packed += row == unpacked ? 0 : 1
        guard random.next(below: 4) == 0 else { continue }
        // As a former version had written it.
        fold.reset()
        general.reset()
        let key = TableKey.record(state, record.span.bytes)
        storage.writeRecord(unpacked.span.bytes, key.span)
        plainStorage.writeRecord(unpacked.span.bytes, key.span)
      }
    }
    #expect(packed > 0)
  }

  @Test(
    "a row that is cut or has a changed byte gives the same as the general step, and never traps")
  func isAsStrictAsTheGeneralStep() throws {
    let state = StateNumber(rawValue: 1)
    let record = Array("record".utf8)
    let storage = makeStorage()
    var fold = Fold(storage: storage)
    for (index, field) in [1, 2, 600].enumerated() {
      fold.context = context(UInt64(index + 1))
      fold.timestamp = Timestamp(milliseconds: 5, counter: 0)
      try fold.change(
        .set, NameNumber(rawValue: UInt32(field)), of: record.span.bytes, in: state,
        type: NameNumber(rawValue: 1),
        operand: ([6] + [UInt8](repeating: 1, count: 40)).span.bytes, index: 0)
    }
    try fold.flush()
    let stored = try #require(storage.records[state]?[record])
    #expect(try version(ofRow: stored) == 2)
    var rows: [[UInt8]] = []
    for row in [stored, try unpackedRow(stored)] {
      rows += (0..<row.count).map { Array(row[..<$0]) }
      for offset in row.indices {
        for byte in [0, 1, 2, 0x7f, 0x80, 0xff, row[offset] ^ 1] as [UInt8] {
          var changed = row
          changed[offset] = byte
          rows.append(changed)
        }
      }
    }
    var sound = 0
    for row in rows {
      var results: [Result<[UInt8]?, FormatError>] = []
      for editsInPlace in [true, false] {
        let storage = makeStorage()
        let key = TableKey.record(state, record.span.bytes)
        storage.writeRecord(row.span.bytes, key.span)
        var fold = Fold(storage: storage)
        fold.editsInPlace = editsInPlace
        fold.context = context(9)
        fold.timestamp = Timestamp(milliseconds: 9, counter: 0)
        do {
          try fold.change(
            .set, NameNumber(rawValue: 2), of: record.span.bytes, in: state, type: NameNumber(rawValue: 1),
            operand: [1, 2, 3].span.bytes, index: 0)
          try fold.flush()
          results.append(.success(storage.records[state]?[record]))
        } catch let error as FormatError {
          results.append(.failure(error))
        }
      }
      // The general step may meet damage after the field that this one does not, or neither may.
      if case .success(let edited) = results[0], case .success(let general) = results[1] {
        #expect(edited == general, "\(row)")
        sound += 1
      }
      if case .failure = results[0] { #expect(results[0] == results[1], "\(row)") }
    }
    #expect(sound > 100)
  }

  private func context(_ sequence: UInt64) -> CausalContext {
    CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: sequence,
      base: nil)
  }
}
