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
    #expect(cleared.fields == ["n": 0])
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
    // Four are in the record's row, the others apart, those of a replica in one row; and their sum.
    let apart = try rowsApart(store)
    #expect(apart == 12)
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

  /// A store whose counter got one addend from each of so many transactions.
  private func written(_ count: Int64) async throws -> LocalStore {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note") }
    for number in 0..<count {
      try await store.write { try $0.add(.int(number), to: "n", of: note("r")) }
    }
    return store
  }

  @Test("addends of a thousand transactions share rows, and a read reads none of them")
  func many() async throws {
    let store = try await written(1000)
    #expect(try counter(store) == 499_500)
    // The four greatest are in the record's row, the others have sequences from 2 to 997.
    #expect(try rowsApart(store) == 16 + 1)
    let bytes = try store.rows(\.elements).reduce(0) { $0 + $1.key.count + $1.value.count }
    #expect(bytes < 1000 * 14)
    #expect(try store.rows(\.records)[0].value.count < 200)
    let addends = (0..<1000).reversed().map { CellHead.Content.addend(.int($0)) }
    #expect(try heads(store).map(\.content) == addends)
    try await checkSound(store)
  }

  @Test("many addends of one transaction whose sum does not fit share rows too")
  func clamped() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for _ in 0..<300 { try tx.add(.int(.max), to: "n", of: note("r")) }
    }
    for _ in 0..<3 { try await store.write { try $0.add(1, to: "n", of: note("r")) } }
    #expect(try heads(store).count == 303)
    // 1 to 299 of the first transaction: up to 63 a row each, which it could share with other transactions, then
    // a row for each 64.
    #expect(try rowsApart(store) == 63 + 4 + 1)
    try await checkSound(store)
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      try tx.add(2, to: "n", of: note("r"))
    }
    #expect(try counter(store) == 2)
    #expect(try store.rows(\.elements).isEmpty)
    try await checkSound(store)
  }

  @Test("the additions of a transaction are one addend also where it loses to all others")
  func mergedApart() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    for replica in 1..<5 as Range<UInt128> {
      _ = try remote.append([transaction(replica, 1, at: 2_000_000, [add("r", "n", 1)])])
    }
    let last = transaction(9, 1, at: 1000, [add("r", "n", 1), add("r", "n", 1), add("r", "n", 1)])
    _ = try remote.append([last])
    _ = try await store.ingest(remote.segments)
    let addends = [1, 1, 1, 1, 3].map { CellHead.Content.addend($0) }
    #expect(try heads(store).map(\.content) == addends)
    try await checkSound(store)
  }

  @Test(
    "a create that has seen a part of the addends in a row removes only these",
    arguments: [70, 127, 128, 200])
  func seenInPart(seen: UInt64) async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r")])])
    for sequence in 1...250 as ClosedRange<UInt64> {
      _ = try remote.append([transaction(2, sequence, base: 1, [add("r", "n", .int(Int64(sequence)))])])
    }
    _ = try remote.append([transaction(3, 1, base: seen + 1, [create("r")])])
    _ = try await store.ingest(remote.segments)
    let rest = (Int64(seen) + 1...250).reduce(0, +)
    #expect(try counter(store) == .int(rest))
    try await checkSound(store)
  }

  /// Gives each addend that is apart a row, and each row a place in the index, as earlier programs did.
  private func writeSingleRows(_ store: LocalStore) throws {
    for (key, value) in try store.rows(\.elements).map({ ($0.key, $0.value) }) {
      let key = ElementKey(bytes: key)
      if key.kind == .apartOrder { try store.overwrite(key.bytes, nil, in: \.elements) }
      guard let cell = try key.addends else { continue }
      try store.overwrite(key.bytes, nil, in: \.elements)
      for head in try ApartRow(value.span.bytes).heads {
        var writer = ByteWriter()
        writer.append(head.head)
        writer.append(varint: UInt64(head.payload.count))
        writer.append(head.payload)
        try store.overwrite(cell.keys(head.head.id).last!.bytes, writer.bytes, in: \.elements)
        writer = ByteWriter()
        writer.append(varint: UInt64(head.head.id.replica.rawValue))
        let order = cell.order(
          of: head.head, by: try store.read { try $0.readView.replicaID(head.head.id.replica) })
        try store.overwrite(order.bytes, writer.bytes, in: \.elements)
      }
    }
  }

  @Test("addends that have a row each, as earlier programs wrote them, are read, removed and joined")
  func singleRows() async throws {
    let store = try await written(200)
    let digest = try store.digest()
    try writeSingleRows(store)
    #expect(try rowsApart(store) == 196 + 1)
    func check(_ count: Int64, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let sum = count * (count - 1) / 2
      #expect(try counter(store) == .int(sum), sourceLocation: sourceLocation)
      #expect(try heads(store).count == Int(count), sourceLocation: sourceLocation)
      let report = try store.verify()
      #expect(report.problems == [], sourceLocation: sourceLocation)
    }
    try check(200)
    #expect(try store.digest() == digest)
    // Old and new ones beside each other.
    for number in 200..<300 as Range<Int64> {
      try await store.write { try $0.add(.int(number), to: "n", of: note("r")) }
    }
    try check(300)
    let needed = try store.upgradeNeeded()
    let report = try await store.upgrade()
    #expect(needed.addends == report.addends && report.addends == 193)
    try check(300)
    #expect(try rowsApart(store) == 5 + 1)
    #expect(try store.upgradeNeeded().addends == 0)
    try await checkSound(store)
    // A damaged row, and one under another key, is reported.
    let shared = try #require(
      try store.rows(\.elements).first { try ElementKey(bytes: $0.key).addends != nil })
    for byte in [1, 12, shared.value.count - 1] {
      var value = shared.value
      value[byte] ^= 0x55
      try store.overwrite(shared.key, value, in: \.elements)
      let problems = try store.verify().problems
      #expect(problems.contains { $0.kind == .record }, "byte \(byte)")
    }
    try store.overwrite(shared.key, nil, in: \.elements)
    var other = shared.key
    other[other.count - 6] ^= 4
    try store.overwrite(other, shared.value, in: \.elements)
    let misplaced = try store.verify().problems
    #expect(misplaced.contains { $0.description.contains("addends that belong into their row") })
    try store.overwrite(other, nil, in: \.elements)
    try store.overwrite(shared.key, shared.value, in: \.elements)
    // One that is missing is reported.
    try writeSingleRows(store)
    let single = try #require(
      try store.rows(\.elements).first { try ElementKey(bytes: $0.key).addends != nil })
    try store.overwrite(single.key, nil, in: \.elements)
    let problems = try store.verify().problems
    #expect(problems.contains { $0.description.contains("the addends differ from the log") })
    try store.overwrite(single.key, single.value, in: \.elements)
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
    }
    #expect(try store.rows(\.elements).isEmpty)
  }

  @Test("an addition beside a damaged row of addends throws or not, and never traps")
  func damagedApart() async throws {
    let store = try await written(150)
    let shared = try #require(
      try store.rows(\.elements).last { try ElementKey(bytes: $0.key).addends != nil })
    var refused = 0
    for byte in shared.value.indices {
      for bits: UInt8 in [1, 0x55] {
        var value = shared.value
        value[byte] ^= bits
        try store.overwrite(shared.key, value, in: \.elements)
        do {
          try await store.write { try $0.add(1, to: "n", of: note("r")) }
        } catch {
          #expect((error as? StoreError)?.code == .damaged)
          refused += 1
        }
      }
    }
    #expect(refused > 0)
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
    #expect(explanation.heads[1].entry?.transaction.author == "ann")
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
        head.entry?.transaction.operations.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
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
