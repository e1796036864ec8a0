import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Rows of records of version 2")
struct PackedRows {
  let directory = TemporaryDirectory()

  /// What a reader finds in a row: of each field's cell the winner, and of those of heads all of them.
  struct Content: Equatable {
    struct Head: Equatable {
      var head: EventStore.Head
      var payload: [UInt8]
      var isApart: Bool
    }

    var number: UInt32
    var flags: RowFlags
    var type: NameNumber?
    var winners: [CellNumber: [UInt8]] = [:]
    var apart: [CellNumber: HeadID] = [:]
    var heads: [CellNumber: [Head]] = [:]
    var totals: [CellNumber: Int] = [:]

    init(_ bytes: [UInt8]) throws {
      let row = StoredRow(bytes.span.bytes)
      number = try row.recordNumber()
      flags = row.flags
      type = row.plainType?.type
      // A copy of what the closures find.
      var winners: [CellNumber: [UInt8]] = [:]
      var apart: [CellNumber: HeadID] = [:]
      var cells: [CellNumber] = [.existence]
      let fields = try row.fields()
      try row.forEachWinner(from: fields) { cell, winner in
        winners[cell] = row.extracting(winner.payload).bytes
        apart[cell] = winner.apart
        cells.append(cell)
      }
      (self.winners, self.apart) = (winners, apart)
      for cell in cells {
        if cell != .existence {
          var ways = [try row.winner(of: cell)]
          if let plain = row.plainType { ways.append(try row.winner(of: cell, from: plain.fields)) }
          for winner in ways {
            let payload = winner.map { row.extracting($0.payload).bytes }
            let head = winner?.apart
            try #require(payload == winners[cell] && head == apart[cell])
          }
        }
        guard cell.isOfHeads else { continue }
        let found = try row.heads(of: cell)
        totals[cell] = found.total
        heads[cell] = (0..<found.count).map { index in
          Head(
            head: found[index].head,
            payload: row.shortExistence(of: cell) ?? row.extracting(found[index].payload).bytes,
            isApart: found[index].isApart)
        }
      }
    }
  }

  @Test("have what their rows of version 1 have, and become those again", arguments: 0..<damagedFiles)
  func roundTrip(_ seed: UInt64) throws {
    var rows = RandomRow(seed: seed)
    for _ in 0..<10 {
      let row = try rows.make()
      #expect(try version(ofRow: row) == 1)
      guard let packed = packedRow(row) else { continue }
      #expect(packed.count < row.count)
      #expect(try version(ofRow: packed) == 2)
      #expect(packedRow(packed) == nil)
      let unpacked = try unpackedRow(packed)
      try #require(unpacked == row, "seed \(seed)")
      let (before, after) = try (Content(row), Content(packed))
      try #require(before == after, "seed \(seed): \(row)")
    }
  }

  @Test("nearly any row can be one, also of heads of many transactions")
  func manyCan() throws {
    var (rows, packed) = (0, 0)
    for seed in 0..<300 as Range<UInt64> {
      var random = RandomRow(seed: seed)
      for _ in 0..<10 {
        let row = try random.make()
        guard row.count > 40 else { continue }
        rows += 1
        if packedRow(row) != nil { packed += 1 }
      }
    }
    #expect(packed * 100 > rows * 95, "\(packed) of \(rows)")
  }

  @Test("give values or typed errors if they are cut or changed", arguments: 0..<damagedFiles / 12)
  func damaged(_ seed: UInt64) throws {
    var random = RandomRow(seed: seed)
    let row = try random.make()
    guard let packed = packedRow(row), packed.count < 700 else { return }
    var damaged: [[UInt8]] = (0..<packed.count).map { Array(packed.prefix($0)) }
    for bit in 0..<packed.count * 8 {
      var flipped = packed
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      damaged.append(flipped)
    }
    for offset in packed.indices {
      for byte in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] where packed[offset] != byte {
        var changed = packed
        changed[offset] = byte
        damaged.append(changed)
      }
    }
    for bytes in damaged { try check(bytes) }
  }

  /// Reading in place and after unpacking agree, as far as both can read.
  private func check(_ bytes: [UInt8]) throws {
    let unpacked = Result { try unpackedRow(bytes) }
    let inPlace = Result { try Content(bytes) }
    if case .failure(let error) = unpacked { #expect(error is FormatError) }
    if case .failure(let error) = inPlace { #expect(error is FormatError, "\(error): \(bytes)") }
    guard case .success(let whole) = unpacked else { return }
    #expect(whole.count < 80 * (bytes.count + 2))
    guard case .success(let found) = inPlace, let general = try? Content(whole) else { return }
    try #require(found == general, "\(bytes)")
  }

  // MARK: Rows of version 1

  @Test("a row of version 1 is folded on, and is of version 2 then")
  func foldOn() throws {
    let replicas = [ReplicaID(rawValue: 1)]
    let (storage, other) = (
      MemoryFoldStorage(replicas: replicas) { _, _, _, _, _ in nil },
      MemoryFoldStorage(replicas: replicas) { _, _, _, _, _ in nil }
    )
    let state = StateNumber(rawValue: 1)
    let name = Array("record".utf8)
    let key = TableKey.record(state, name.span.bytes)
    for sequence in 1...20 as ClosedRange<UInt64> {
      for storage in [storage, other] {
        var fold = Fold(storage: storage)
        fold.context = CausalContext(
          zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: sequence,
          base: nil)
        fold.timestamp = Timestamp(milliseconds: 1_700_000_000_000 + sequence, counter: 0)
        let value = try Value.string("value \(sequence)").encoded()
        try fold.change(
          .set, NameNumber(rawValue: UInt32(2 + sequence % 5)), of: name.span.bytes, in: state,
          type: NameNumber(rawValue: 1), operand: value.span.bytes, index: 0)
        try fold.flush()
      }
      let stored = try #require(storage.records[state]?[name])
      #expect(stored == other.records[state]?[name])
      #expect(try version(ofRow: stored) == 2)
      // As an earlier version had written it.
      let first = try unpackedRow(stored)
      #expect(packedRow(first) == stored)
      storage.writeRecord(first.span.bytes, key.span)
    }
  }

  @Test("a store with rows of both versions reads the same, is sound, and writes on")
  func bothVersions() async throws {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { tx in
      for number in 0..<6 {
        let record = note("r\(number)")
        try tx.create(record, type: "note")
        try tx.set("title", of: record, to: .string("title \(number)"))
        try tx.set("body", of: record, to: .string(String(repeating: "b", count: 1100)))
        try tx.add(3, to: "count", of: record)
        try tx.insert("tag", into: "tags", of: record)
        try tx.insertText("text", at: 0, in: "text", of: record)
        if number > 0 {
          try tx.set("of", of: record, to: .reference(Reference(record: "r0", rule: .cascade)))
        }
      }
    }
    let digest = try store.digest()
    let records = try store.read { try $0.records(in: noteZone) }
    #expect(try await store.upgrade().records == 0)
    for (number, row) in try store.rows(\.records).enumerated() where number.isMultiple(of: 2) {
      let first = try unpackedRow(row.value)
      #expect(first.count > row.value.count)
      try store.overwrite(row.key, first, in: \.records)
    }
    #expect(try store.verify().problems == [])
    #expect(try store.digest() == digest)
    #expect(try store.read { try $0.records(in: noteZone) } == records)
    try await store.write { try $0.set("title", of: note("r2"), to: "changed") }
    let versions = try store.rows(\.records).map { try version(ofRow: $0.value) }
    #expect(versions == [1, 2, 2, 2, 1, 2])
    #expect(try store.read { try $0.value(of: "title", in: note("r2")) } == "changed")
    #expect(try await store.upgrade().records == 2)
    try await store.write { try $0.delete(note("r0")) }
    #expect(try store.read { try $0.records(in: noteZone) }.isEmpty)
    #expect(try store.verify().problems == [])
  }

  @Test("another version is a newer format")
  func newer() throws {
    var random = RandomRow(seed: 3)
    let packed = try #require(packedRow(try random.make()))
    for first in 0...255 as ClosedRange<UInt8>
    where ![0x20, 0x50, 0x90, 0xe0].contains(first & 0xf0) && first != 1 {
      var changed = packed
      changed[0] = first
      let error = #expect(throws: FormatError.self) { try version(ofRow: changed) }
      #expect(error?.code == .newerFormat)
    }
  }
}
