import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Verifying a store")
struct VerificationTests {
  let directory = TemporaryDirectory()

  /// A small store with something in each table.
  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeZone()
    var remote = TestRemote()
    _ = try remote.append(
      [transaction(1, 1, [create("r"), set("r", "f", 1)]), transaction(1, 2, [set("r", "g", 2)])],
      receivedMilliseconds: 900_000)
    _ = try remote.append(
      [transaction(2, 1, [create("r"), set("r", "f", 3)])], receivedMilliseconds: 900_001)
    _ = try await store.ingest(remote.segments)
    try await store.write { try $0.set("f", of: note("r"), to: "mine") }
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: 900_002))
    _ = try await store.acknowledge(acknowledgement)
    try await store.setExistencePolicy(.updateWins, of: "note")
    try await store.write { tx in
      tx.author = "ann"
      try tx.create(note("s"), type: "task", fields: ["big": .bytes([UInt8](repeating: 1, count: 1500))])
    }
    let report = try store.verify()
    try #require(report.problems == [])
    #expect(report.transactions == 5)
    return store
  }

  @Test("a changed row that says which operations made the units of a text is found")
  func makers() async throws {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { try $0.create(note("n"), type: "note") }
    for text in ["one", "two", "three"] {
      try await store.write { tx in
        try tx.set("title", of: note("n"), to: .string(text))
        try tx.insertText(text, at: 0, in: "body", of: note("n"))
      }
    }
    let digest = try store.digest()
    let rows = try store.rows(\.runs).filter { $0.key[12] == RunKeys.makerKind }
    try #require(!rows.isEmpty)
    for row in rows {
      for bit in 0..<row.value.count * 8 {
        var value = row.value
        value[bit / 8] ^= 1 << UInt8(bit % 8)
        try store.overwrite(row.key, value, in: \.runs)
        let isFound = try !store.verify().problems.isEmpty
        let other = try? store.digest()
        #expect(isFound || other == digest, "bit \(bit)")
      }
      try store.overwrite(row.key, row.value, in: \.runs)
    }
    try await checkSound(store)
  }

  @Test("it changes nothing, also if it ends early")
  func changesNothing() async throws {
    let store = try await makeStore()
    let path = directory.path + "/store/data.mdb"
    let before = fileBytes(path)
    let readView = try store.readView()
    var steps: Set<VerificationProgress.Step> = []
    _ = try store.verify { steps.insert($0.step) }
    #expect(fileBytes(path) == before)
    let after = try store.readView()
    #expect(after == readView)
    #expect(steps.contains(.log))
    struct Stop: Error {}
    #expect(throws: Stop.self) { try store.verify { _ in throw Stop() } }
    let again = try store.verify()
    #expect(again.problems == [])
  }

  private static let bitStep = WideTests.choose(1, otherwise: 5)

  /// Flips bits of a row in turn: each in a wide run, otherwise every fifth, from one on that differs from row to row.
  ///
  /// - Returns: those that verification does not report.
  private func unreported(
    _ store: LocalStore, _ row: Row, _ table: (Tables) -> Table, kind: VerificationReport.Problem.Kind? = nil
  ) throws -> [Int] {
    var unreported: [Int] = []
    let first = row.value.reduce(0) { $0 + Int($1) } % Self.bitStep
    for bit in stride(from: first, to: row.value.count * 8, by: Self.bitStep) {
      var value = row.value
      value[bit / 8] ^= 1 << (bit % 8)
      try store.overwrite(row.key, value, in: table)
      let report = try store.verify()
      if report.isSound || kind != nil && !report.problems.contains(where: { $0.kind == kind }) {
        unreported.append(bit)
      }
    }
    try store.overwrite(row.key, row.value, in: table)
    return unreported
  }

  @Test("each flipped bit of a log entry is reported")
  func logBits() async throws {
    let store = try await makeStore()
    var flips = 0
    for row in try store.rows(\.log) where row.value.count < 1000 {
      let missed = try unreported(store, row, \.log, kind: .log)
      #expect(missed == [], "\(row)")
      flips += row.value.count * 8 / Self.bitStep
    }
    print("verification: \(flips) bits of log entries flipped, all reported")
    // Some bits in each region of the long entry.
    let long = try #require(try store.rows(\.log).first { $0.value.count > 1000 })
    for bit in stride(from: 0, to: long.value.count * 8, by: 37) {
      var value = long.value
      value[bit / 8] ^= 1 << (bit % 8)
      try store.overwrite(long.key, value, in: \.log)
      let report = try store.verify()
      #expect(report.problems.map(\.kind).contains(.log), "bit \(bit)")
    }
    try store.overwrite(long.key, long.value, in: \.log)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("a missing, moved or repeated log entry is reported")
  func logRows() async throws {
    let store = try await makeStore()
    let rows = try store.rows(\.log)
    for row in rows {
      try store.overwrite(row.key, nil, in: \.log)
      let missing = try store.verify()
      #expect(!missing.isSound, "\(row.key)")
      let moved = TableKey.log(Position(rawValue: 9)).span.bytes
      try store.overwrite(moved, row.value, in: \.log)
      let report = try store.verify()
      #expect(!report.isSound)
      try store.overwrite(row.key, row.value, in: \.log)
      let doubled = try store.verify()
      #expect(!doubled.isSound)
      try store.overwrite(moved, nil, in: \.log)
    }
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("each flipped bit of a row of another table is reported")
  func otherBits() async throws {
    let store = try await makeStore()
    typealias Case = (name: String, table: (Tables) -> Table, rows: (Row) -> Bool)
    let cases: [Case] = [
      ("records", \.records, { _ in true }), ("sequences", \.sequences, { _ in true }),
      ("placements", \.placements, { _ in true }), ("names", \.names, { _ in true }),
      ("replicas", \.replicas, { _ in true }), ("incarnations", \.incarnations, { _ in true }),
      ("states", \.states, { _ in true }), ("zones", \.zones, { $0.key[0] != 2 }),
    ]
    for one in cases {
      let rows = try store.rows(one.table).filter(one.rows)
      #expect(!rows.isEmpty, "\(one.name)")
      for row in rows {
        let missed = try unreported(store, row, one.table)
        #expect(missed == [], "\(one.name) \(row)")
        try store.overwrite(row.key, nil, in: one.table)
        let report = try store.verify()
        #expect(!report.isSound, "\(one.name) without \(row.key)")
        try store.overwrite(row.key, row.value, in: one.table)
      }
    }
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("each flipped bit of an element, of a zone's token and of its base is reported")
  func elementAndToken() async throws {
    let store = try await makeStore()
    let element = try #require(try store.rows(\.elements).first)
    for byte in [0, 7, 8, 9, 10, 11, 12, 13, 14, 700, element.value.count - 1] {
      var value = element.value
      value[byte] ^= 4
      try store.overwrite(element.key, value, in: \.elements)
      let report = try store.verify()
      #expect(report.problems.map(\.kind) == [.record], "byte \(byte)")
    }
    try store.overwrite(element.key, nil, in: \.elements)
    let missing = try store.verify()
    #expect(missing.problems.map(\.kind) == [.record])
    try store.overwrite(element.key, element.value, in: \.elements)

    let zone = try #require(try store.rows(\.zones).first { $0.key[0] == 2 })
    let missed = try unreported(store, zone, \.zones)
    #expect(missed == [], "\(zone)")
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("rows without an owner are reported")
  func strangers() async throws {
    let store = try await makeStore()
    let record = try #require(try store.rows(\.records).first)
    try store.overwrite(record.key + [120], record.value, in: \.records)
    let extra = try store.verify()
    #expect(extra.problems.map(\.kind) == [.record])
    try store.overwrite(record.key + [120], nil, in: \.records)
    for (name, table, key) in [
      ("log", \Tables.log, [1, 2, 3]), ("sequences", \Tables.sequences, [1]),
      ("placements", \Tables.placements, [0, 0, 0, 1, 5]), ("records", \Tables.records, [0]),
      ("elements", \Tables.elements, [0, 0, 0, 1]), ("names", \Tables.names, [7, 7]),
      ("runs", \Tables.runs, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 21, 4]),
      ("references", \Tables.references, [0, 0, 0, 1, 9, 0, 0, 0, 1]),
      ("references", \Tables.references, [0, 0, 0, 1, 4, 2, 0, 7, 3, 0, 0, 0, 1, 0, 0, 0, 1]),
      ("segments", \Tables.segments, [9]), ("states", \Tables.states, [0]),
    ] as [(String, KeyPath<Tables, Table>, [UInt8])] {
      try store.overwrite(key, [1, 2], in: { $0[keyPath: table] })
      let report = try store.verify()
      #expect(report.problems.map(\.kind) == [.table], "\(name)")
      try store.overwrite(key, nil, in: { $0[keyPath: table] })
    }
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("an unreadable entry is a typed error with its position; the others stay readable")
  func damagedEntry() async throws {
    let store = try await makeStore()
    let row = try #require(try store.rows(\.log).first { $0.key.last == 3 })
    var value = row.value
    value[10] ^= 1
    try store.overwrite(row.key, value, in: \.log)
    let codes = [
      code { _ = try store.read { try $0.entry(at: Position(rawValue: 3)) } },
      code { _ = try store.entries() },
      code { _ = try store.snapshotBlockingThisThread(at: Position(rawValue: 5)) },
      code { _ = try store.read { try $0.entry(at: Position(rawValue: 2)) } },
      code { _ = try store.snapshotBlockingThisThread(at: Position(rawValue: 2)) },
      code { _ = try store.read { try $0.records(in: noteZone) } },
    ]
    #expect(codes == [.damaged, .damaged, .damaged, nil, nil, nil])
    let digest = try store.digest()
    let rebuild = await awaitedCode { _ = try await store.rebuild() }
    #expect(rebuild == .damaged)
    let after = try store.digest()
    #expect(after == digest)
    try await store.write { try $0.set("f", of: note("r"), to: "goes on") }
    try store.overwrite(row.key, row.value, in: \.log)
    try await checkSound(store)
  }

  @Test("a rebuild repairs a damaged record")
  func mends() async throws {
    let store = try await makeStore()
    let digest = try store.digest()
    let row = try #require(try store.rows(\.records).first)
    try store.overwrite(row.key, [1, 0, 9], in: \.records)
    let read = code { _ = try store.read { try $0.records(in: noteZone) } }
    #expect(read == .damaged)
    _ = try await store.rebuild()
    let after = try store.digest()
    #expect(after == digest)
    let report = try store.verify()
    #expect(report.problems == [])
  }
}
