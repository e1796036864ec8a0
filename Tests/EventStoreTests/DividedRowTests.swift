import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A record's row in two parts")
struct DividedRowTests {
  let directory = TemporaryDirectory()

  /// A record with registers of this many bytes in total, one of them a cascade reference, and one other
  /// thing.
  private func makeStore(registers: Int, count: Int = 10) async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { tx in
      try tx.create(note("target"), type: "note")
      try tx.create(note("large"), type: "note")
      try tx.set("field0", of: note("large"), to: .reference(Reference(record: "target", rule: .cascade)))
      for field in 1...count {
        try tx.set(
          Name("field\(field)"), of: note("large"),
          to: .string(String(repeating: "\(field % 10)", count: registers / count)))
      }
    }
    return store
  }

  /// The record's row in the table of records.
  private func base(_ store: LocalStore) throws -> Row {
    try #require(
      try store.rows(\.records).first { String(decoding: $0.key.dropFirst(4), as: UTF8.self) == "large" })
  }

  /// The rows of registers that are stored apart.
  private func registers(_ store: LocalStore) throws -> [Row] {
    try store.rows(\.elements).filter { $0.key.count == 13 && $0.key[12] == 6 }
  }

  /// Each kind of field but registers, changed by one write.
  enum Change: CaseIterable {
    case add, insert, put, append, type, contribute
  }

  private func make(_ change: Change, _ store: LocalStore, _ number: Int) async throws {
    let large = note("large")
    try await store.write { tx in
      switch change {
      case .add: try tx.add(1, to: "counter", of: large)
      case .insert: try tx.insert(.int(Int64(number)), into: "set", of: large)
      case .put: try tx.put(.int(Int64(number)), at: Name("key\(number)"), in: "map", of: large)
      case .append: try tx.insertElements([.int(Int64(number))], at: number - 1, in: "list", of: large)
      case .type: try tx.insertText("\(number)", at: number - 1, in: "text", of: large)
      case .contribute: try tx.contribute(.int(Int64(number)), to: "contributions", of: large)
      }
    }
  }

  @Test("a change of a field that merges does not write the registers again", arguments: Change.allCases)
  func leavesRegisters(_ change: Change) async throws {
    let store = try await makeStore(registers: 9000)
    #expect(try base(store).value.count > 9000)
    #expect(try registers(store) == [])
    try await make(change, store, 1)
    let first = try registers(store)
    #expect(first.count == 1 && first[0].value.count > 9000)
    // Reading or writing the registers would meet the damage.
    try store.overwrite(first[0].key, nil, in: \.elements)
    for number in 2...9 { try await make(change, store, number) }
    #expect(try base(store).value.count < 600)
    let refused = code { _ = try store.read { try $0.record(note("large")) } }
    #expect(refused == .damaged)
    #expect(try store.read { try $0.contains(note("large")) })
    try store.overwrite(first[0].key, first[0].value, in: \.elements)
    try await checkSound(store)
    let record = try #require(try store.read { try $0.record(note("large")) })
    #expect(record.fields.count == 12)
    #expect(record.fields["field3"] == .string(String(repeating: "3", count: 900)))
    let scanned = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(scanned == ["large", "target"])
    // Reading whether another record is hidden finds it too.
    let holders = try store.read { try $0.holders(of: note("target"), in: nil).map(\.record) }
    #expect(holders == [note("large")])
    try await store.write { try $0.delete(note("target")) }
    #expect(try store.read { try $0.contains(note("large")) } == false)
    try await store.write { try $0.create(note("target"), type: "note") }
    #expect(try store.read { try $0.contains(note("large")) })
    try await checkSound(store)
  }

  @Test(
    "it is one row if registers are small or nothing else is left, and two parts from 1,501 bytes on"
  )
  func becomesWhole() async throws {
    let store = try await makeStore(registers: 9000)
    try await make(.insert, store, 1)
    #expect(try registers(store).count == 1)
    try await store.write { try $0.remove(1, from: "set", of: note("large")) }
    #expect(try registers(store) == [])
    try await make(.insert, store, 2)
    #expect(try registers(store).count == 1)
    try await store.write { tx in
      try tx.delete(note("large"))
      try tx.create(note("large"), type: "note")
    }
    #expect(try registers(store) == [])
    try await checkSound(store)
    try await make(.insert, store, 3)
    try await store.write {
      try $0.set("e", of: note("large"), to: .string(String(repeating: "x", count: 900)))
    }
    var sizes: [Bool: Set<Int>] = [:]
    for count in 400..<700 {
      try await store.write {
        try $0.set("f", of: note("large"), to: .string(String(repeating: "x", count: count)))
      }
      let bytes = try store.read { tx in
        try tx.readView.withRow(of: note("large")) { row, _ in
          try row.withUnpacked { row in
            let registers = try RecordRow.cells(of: row).filter { $0.kind == .register && $0 != .existence }
            return try registers.reduce(0) { try $0 + RecordRow.place(of: $1, in: row).entry.count }
          }
        }
      }
      sizes[try !registers(store).isEmpty, default: []].insert(try #require(bytes))
    }
    #expect(sizes[false]?.max() == 1500)
    #expect(sizes[true]?.min() == 1501)
    try await checkSound(store)
  }

  @Test("several writes of one commit, one of which is undone")
  func sharesCommits() async throws {
    struct Stop: Error {}
    let store = try await makeStore(registers: 3000)
    let before = try store.rows(\.elements)
    await #expect(throws: Stop.self) {
      try await store.write { tx in
        try tx.insert(1, into: "set", of: note("large"))
        try tx.create(note("other"), type: "note")
        throw Stop()
      }
    }
    #expect(try store.rows(\.elements) == before)
    try await store.write { tx in
      for number in 0..<5 {
        try tx.insert(.int(Int64(number)), into: "set", of: note("large"))
        try tx.set("f", of: note("target"), to: .int(Int64(number)))
        try tx.set(Name("field\(number + 1)"), of: note("large"), to: 1)
        #expect(try tx.record(note("large"))?.fields["set"] == .array((0...number).map { .int(Int64($0)) }))
      }
      for number in 0..<5 { try tx.remove(.int(Int64(number)), from: "set", of: note("large")) }
      try tx.insert("last", into: "set", of: note("large"))
    }
    #expect(try registers(store).count == 1)
    try await checkSound(store)
    _ = try await store.rebuild()
    #expect(try registers(store).count == 1)
    try await checkSound(store)
  }

  @Test(
    "a missing, cut or changed part is reported as damage, found by a verification, repaired by a rebuild"
  )
  func damage() async throws {
    let store = try await makeStore(registers: 3000)
    for change in Change.allCases { try await make(change, store, 1) }
    let apart = try #require(try registers(store).first)
    var damaged: [[UInt8]?] = [nil, [], [2] + apart.value.dropFirst()]
    let step = WideTests.choose(1, otherwise: 3)
    damaged += stride(from: 1, to: apart.value.count, by: step).map { Array(apart.value[..<$0]) }
    damaged += stride(from: 1, to: apart.value.count, by: step).map { index in
      var row = apart.value
      row[index] ^= 0x81
      return row
    }
    var refusals = 0
    for row in damaged {
      try store.overwrite(apart.key, row, in: \.elements)
      // Any result but a trap.
      for read in [
        { _ = try store.read { try $0.record(note("large")) } },
        { _ = try store.read { try $0.records(in: noteZone) } },
        { _ = try store.read { try $0.holders(of: note("target"), in: nil) } },
        { _ = try store.read { try $0.digest(of: noteZone) } },
      ] {
        if let code = code(read) {
          #expect(code == .damaged || code == .newerFormat, "\(code)")
          refusals += 1
        }
      }
    }
    for row in damaged.prefix(3) {
      try store.overwrite(apart.key, row, in: \.elements)
      let refused = await awaitedCode {
        try await store.write { try $0.set("field1", of: note("large"), to: 1) }
      }
      #expect(refused == .damaged || refused == .newerFormat)
    }
    #expect(refusals > damaged.count)
    for row in [damaged[0], damaged[1], damaged[2], damaged[40]] {
      try store.overwrite(apart.key, row, in: \.elements)
      let report = try store.verify()
      #expect(!report.isSound)
    }
    _ = try await store.rebuild()
    try await checkSound(store)
    #expect(try store.read { try $0.record(note("large")) }?.fields["set"] == [1])
  }
}
