import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Counters")
struct CounterTests {
  let directory = TemporaryDirectory()

  private func add(_ record: Name, _ field: Name, _ value: Value) -> LogOperation {
    .add(record: record, type: "note", field: field, value: value)
  }

  private func counter(_ store: LocalStore) throws -> Value? {
    try store.read { try $0.counter("n", of: note("r"))?.value }
  }

  private func heads(_ store: LocalStore) throws -> [CellHead] {
    try store.read { try $0.heads(of: "n", in: note("r"), as: .counter) }
  }

  /// How many rows hold a counter's addends apart from the record's row, and their sum.
  private func rowsApart(_ store: LocalStore) throws -> Int {
    try store.rows(\.elements).count {
      CellNumber(rawValue: try $0.key.span.bytes.bigEndian32(at: 8)).kind == .counter
        && !ElementKey(bytes: $0.key).isOfApartIndex
    }
  }

  @Test("addends are read as a sum, in the write and after it, beside a value of the same name")
  func reading() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      #expect(try tx.counter("n", of: note("r")) == nil)
      try tx.add(2, to: "n", of: note("r"))
      try tx.add(-5, to: "n", of: note("r"))
      #expect(try tx.counter("n", of: note("r"))?.value == -3)
      #expect(try tx.value(of: "n", in: note("r")) == -3)
    }
    #expect(try counter(store) == -3)
    #expect(try store.read { try $0.record(note("r")) }?["n"] == -3)
    try await store.write { try $0.set("n", of: note("r"), to: "text") }
    #expect(try counter(store) == -3)
    let record = try #require(try store.read { try $0.record(note("r")) })
    #expect(record.fields == ["n": "text"])
    try await store.write { try $0.clear("n", of: note("r")) }
    let cleared = try #require(try store.read { try $0.record(note("r")) })
    #expect(cleared.fields == ["n": -3])
    #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
    #expect(try store.read { try $0.fields(of: note("r")) } == ["n"])
    try await checkSound(store)
  }

  @Test("only integers and decimals can be added, to an existing record; a refused one changes nothing")
  func refusals() async throws {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note") }
    let before = try store.readView()
    for value in [.null, .string("1"), .double(1), .bool(true), .array([1])] as [Value] {
      let refused = await awaitedCode { try await store.write { try $0.add(value, to: "n", of: note("r")) } }
      #expect(refused == .valueInvalid)
    }
    let unknown = await awaitedCode { try await store.write { try $0.add(1, to: "n", of: note("x")) } }
    #expect(unknown == .recordUnknown)
    let name = await awaitedCode { try await store.write { try $0.add(1, to: "", of: note("r")) } }
    #expect(name == .nameInvalid)
    #expect(try store.readView() == before)
  }

  @Test("the additions of one write are one addend, unless their sum does not fit")
  func merging() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for _ in 0..<500 { try tx.add(1, to: "n", of: note("r")) }
      try tx.add(.decimal(DecimalNumber("0.5")!), to: "n", of: note("r"))
    }
    #expect(try heads(store).map(\.content) == [.addend(.decimal(DecimalNumber("500.5")!))])
    #expect(try heads(store)[0].operation.index == 501)
    try await store.write { tx in
      try tx.add(.int(.max), to: "m", of: note("r"))
      try tx.add(.int(.max), to: "m", of: note("r"))
      try tx.add(.int(-1), to: "m", of: note("r"))
    }
    let parts = try store.read { try $0.heads(of: "m", in: note("r"), as: .counter) }.map(\.content)
    #expect(parts == [.addend(.int(.max - 1)), .addend(.int(.max))])
    let sum = try #require(try store.read { try $0.counter("m", of: note("r")) })
    #expect(sum == Counter(value: .int(.max), isClamped: true))
    try await checkSound(store)
  }

  @Test("each addend of each replica counts once, in any order, however often it arrives")
  func everyOnce() async throws {
    let store = try await directory.noteStore()
    let other = try await directory.noteStore("other")
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), add("r", "n", 1)])])
    for replica in 2..<12 as Range<UInt128> {
      _ = try remote.append([
        transaction(replica, 1, base: 1, at: 1_000_000 + UInt64(replica % 3), [add("r", "n", 10)]),
        transaction(replica, 2, base: 1, [add("r", "n", .int(Int64(replica)))]),
      ])
    }
    _ = try await store.ingest(remote.segments)
    for segment in remote.segments { _ = try await other.ingest([segment]) }
    _ = try await other.ingest(remote.segments)
    #expect(try counter(store) == 166)
    #expect(try counter(other) == 166)
    #expect(try heads(store).count == 21)
    #expect(try store.digest() == other.digest())
    // Four are in the record's row, the others apart, with their sum.
    #expect(try rowsApart(store) == 18)
    try await checkSound(store)
  }

  @Test("a later create removes the addends that it has seen, and no others")
  func recreated() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), add("r", "n", 1)])])
    for replica in 2..<9 as Range<UInt128> {
      _ = try remote.append([transaction(replica, 1, base: 1, [add("r", "n", .int(1 << Int64(replica)))])])
    }
    // It has seen the first four segments.
    _ = try remote.append([transaction(9, 1, base: 4, at: 2_000_000, [.delete(record: "r"), create("r")])])
    _ = try await store.ingest(remote.segments)
    #expect(try counter(store) == .int(0b1_1110_0000))
    #expect(try heads(store).count == 4)
    #expect(try rowsApart(store) == 0)
    try await store.write { tx in
      try tx.delete(note("r"))
      #expect(try tx.counter("n", of: note("r")) == nil)
      try tx.create(note("r"), type: "note")
      #expect(try tx.counter("n", of: note("r")) == nil)
      try tx.add(7, to: "n", of: note("r"))
    }
    #expect(try counter(store) == 7)
    try await checkSound(store)
  }

  @Test("a thousand writes cost one row each, and a read reads none of them")
  func many() async throws {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note") }
    for number in 0..<1000 as Range<Int64> {
      try await store.write { try $0.add(.int(number), to: "n", of: note("r")) }
    }
    #expect(try counter(store) == 499_500)
    #expect(try rowsApart(store) == 997)
    #expect(try store.rows(\.records)[0].value.count < 200)
    try await checkSound(store)
  }

  @Test("its explanation has who added what, and what a create has seen")
  func explained() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      tx.author = "ann"
      try tx.create(note("r"), type: "note")
      try tx.add(1, to: "n", of: note("r"))
    }
    try await store.write { try $0.add(2, to: "n", of: note("r")) }
    let explanation = try #require(try store.read { try $0.explain(note("r"), field: "n") })
    #expect(explanation.kind == .counter && explanation.counter?.value == 3)
    #expect(explanation.heads.map(\.head.content) == [.addend(2), .addend(1)])
    #expect(explanation.heads[1].entry.transaction.author == "ann")
    #expect(explanation.reasons == [] && explanation.replaced == [])
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      try tx.add(9, to: "n", of: note("r"))
    }
    let again = try #require(try store.read { try $0.explain(note("r"), field: "n") })
    #expect(again.heads.map(\.head.content) == [.addend(9)])
    #expect(again.replaced.map(\.content) == [.addend(1), .addend(2)])
  }

  @Test("many addends of one transaction are explained with one copy of the transaction")
  func explainedInPieces() async throws {
    let store = try await directory.noteStore()
    let piece = Value.decimal(try #require(DecimalNumber(coefficient: .max, exponent: 0)))
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for _ in 0..<300 { try tx.add(piece, to: "n", of: note("r")) }
    }
    let explanation = try #require(try store.read { try $0.explain(note("r"), field: "n") })
    #expect(explanation.heads.count == 300)
    let copies = Set(
      explanation.heads.map { head in
        head.entry.transaction.operations.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
      })
    #expect(copies.count == 1)
    try await checkSound(store)
  }

  @Test("a receive time moves an addend, and changes no read value")
  func retimed() async throws {
    let future: Int64 = 4_070_908_800_000
    let store = try directory.store("store") { $0.wallMilliseconds = { future } }
    try await store.makeZone()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      try tx.add(5, to: "n", of: note("r"))
    }
    var remote = TestRemote()
    let now: UInt64 = 1_700_000_000_000
    for replica in 1..<7 as Range<UInt128> {
      _ = try remote.append(
        [transaction(replica, 1, at: now + 400_000, [create("r"), add("r", "n", 1)])],
        receivedMilliseconds: now + 400_000)
    }
    _ = try await store.ingest(remote.segments)
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: now))
    _ = try await store.acknowledge(acknowledgement)
    #expect(try counter(store) == 11)
    #expect(try heads(store).last?.content == .addend(5))
    try await checkSound(store)
  }
}
