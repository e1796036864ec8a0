import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

/// An operation that contributes to the field “log”.
func contribute(_ record: Name, _ payload: Value) -> LogOperation {
  .update(record: record, type: "note", field: "log", .contribute(payload))
}

extension LocalStore {
  /// The payloads contributed to the field “log” of a record, in order.
  func contributed(_ record: RecordID = note("r")) throws -> [Value]? {
    try read { try $0.contributions(of: "log", in: record)?.map(\.payload) }
  }
}

@Suite("Contributions")
struct ContributionTests {
  let directory = TemporaryDirectory()

  @Test("are read in order, in the write and after it, beside a value of the same name")
  func reading() async throws {
    let store = try await directory.noteStore()
    let large = Value.string(String(repeating: "x", count: 3000))
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      #expect(try tx.contributions(of: "log", in: note("r")) == nil)
      for payload in [1, "two", large, .null, [3]] as [Value] {
        try tx.contribute(payload, to: "log", of: note("r"))
      }
      #expect(
        try tx.contributions(of: "log", in: note("r"))?.map(\.payload) == [1, "two", large, .null, [3]])
      #expect(try tx.value(of: "log", in: note("r")) == [1, "two", large, .null, [3]])
    }
    try await store.write { try $0.contribute(6, to: "log", of: note("r")) }
    #expect(try store.contributed() == [1, "two", large, .null, [3], 6])
    let record = try #require(try store.read { try $0.record(note("r")) })
    #expect(record["log"] == [1, "two", large, .null, [3], 6])
    let contributions = try #require(try store.read { try $0.contributions(of: "log", in: note("r")) })
    #expect(contributions.map(\.operation.index) == [1, 2, 3, 4, 5, 0])
    #expect(contributions.map(\.operation.transaction.sequence) == [1, 1, 1, 1, 1, 2])
    #expect(try store.read { try $0.count(of: "log", in: note("r"), as: .contributions) } == 6)
    #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
    let heads = try store.read { try $0.heads(of: "log", in: note("r"), as: .contributions) }
    #expect(heads.map(\.content) == contributions.reversed().map { .contribution($0.payload) })
    try await checkSound(store)
    try await store.write { try $0.set("log", of: note("r"), to: 0) }
    #expect(try store.value("log", note("r")) == 0)
    #expect(try store.contributed()?.count == 6)
    try await store.write { try $0.delete(note("r")) }
    #expect(try store.contributed() == nil)
    #expect(try store.read { try $0.contributions(of: "none", in: note("r")) } == nil)
  }

  @Test("need an existing record, a valid name and a valid value; a refused one changes nothing")
  func refusals() async throws {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note") }
    let before = try store.readView()
    let unknown = await awaitedCode {
      try await store.write { try $0.contribute(1, to: "log", of: note("x")) }
    }
    #expect(unknown == .recordUnknown)
    let name = await awaitedCode { try await store.write { try $0.contribute(1, to: "", of: note("r")) } }
    #expect(name == .nameInvalid)
    let large = Value.bytes([UInt8](repeating: 0, count: Limits.inlineValueBytesMax + 1))
    let value = await awaitedCode {
      try await store.write { try $0.contribute(large, to: "log", of: note("r")) }
    }
    #expect(value == .valueInvalid)
    #expect(try store.readView() == before)
  }

  @Test("count once each, in the same order at all stores, however often and in whatever order they arrive")
  func everyOnce() async throws {
    let store = try await directory.noteStore()
    let other = try await directory.noteStore("other")
    var remote = TestRemote()
    // Its clock is far ahead of the clocks of those that have seen it.
    _ = try remote.append([transaction(1, 1, at: 9_000_000, [create("r"), contribute("r", "first")])])
    _ = try remote.append([transaction(5, 1, at: 1_000_000, [contribute("r", "unseen")])])
    for replica in 2..<9 as Range<UInt128> {
      _ = try remote.append([
        transaction(
          replica == 5 ? 15 : replica, 1, base: 1, at: 2_000_000 - UInt64(replica) * 100_000,
          [contribute("r", .int(Int64(replica))), contribute("r", .int(Int64(-Int(replica))))])
      ])
    }
    _ = try remote.append([transaction(20, 1, base: 9, at: 1, [contribute("r", "last")])])
    _ = try await store.ingest(remote.segments)
    for segment in remote.segments { _ = try await other.ingest([segment]) }
    _ = try await other.ingest(remote.segments)
    let wanted: [Value] =
      ["unseen", "first"] + [8, -8, 7, -7, 6, -6, 5, -5, 4, -4, 3, -3, 2, -2] + ["last"]
    #expect(try store.contributed() == wanted)
    #expect(try other.contributed() == wanted)
    #expect(try store.digest() == other.digest())
    try await checkSound(store)
    try await checkSound(other)
  }

  @Test("after a later create, are those that it has not seen")
  func recreated() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), contribute("r", 1)])])
    for replica in 2..<9 as Range<UInt128> {
      _ = try remote.append([transaction(replica, 1, base: 1, [contribute("r", .int(Int64(replica)))])])
    }
    // It has seen the first four segments.
    _ = try remote.append([transaction(9, 1, base: 4, at: 2_000_000, [.delete(record: "r"), create("r")])])
    _ = try await store.ingest(remote.segments)
    #expect(try store.contributed() == [5, 6, 7, 8])
    try await checkSound(store)
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      #expect(try tx.contributions(of: "log", in: note("r")) == nil)
      try tx.contribute(7, to: "log", of: note("r"))
    }
    #expect(try store.contributed() == [7])
    try await checkSound(store)
  }

  @Test("have digests that depend on the contributions, not on a store's numbers")
  func digests() async throws {
    let store = try await directory.noteStore()
    let other = try await directory.noteStore("other")
    // Other names and replicas come first, so that all numbers differ.
    try await other.write { tx in
      try tx.createZone(ZoneID(name: "else"))
      try tx.create(RecordID(zone: ZoneID(name: "else"), name: "x"), type: "t", fields: ["a": 1, "b": 2])
    }
    try await other.makeAttachedZone(ZoneID(name: "more"), IncarnationID(rawValue: 7))
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), contribute("r", 1)])])
    _ = try remote.append([transaction(2, 1, base: 1, [contribute("r", 2)])])
    _ = try await store.ingest(remote.segments)
    _ = try await other.ingest(remote.segments)
    #expect(try store.digest() == other.digest())
    var different = TestRemote()
    _ = try different.append([transaction(1, 1, [create("r"), contribute("r", 1)])])
    _ = try different.append([transaction(2, 1, base: 1, [contribute("r", 3)])])
    let third = try await directory.noteStore("third")
    _ = try await third.ingest(different.segments)
    #expect(try store.digest() != third.digest())
  }

  @Test("are explained in order: who contributed what, and what a create has seen")
  func explained() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      tx.author = "ann"
      try tx.create(note("r"), type: "note")
      try tx.contribute("a", to: "log", of: note("r"))
    }
    try await store.write { try $0.contribute("b", to: "log", of: note("r")) }
    let explanation = try #require(try store.read { try $0.explain(note("r"), field: "log") })
    #expect(explanation.kind == .contributions)
    #expect(explanation.heads.map(\.head.content) == [.contribution("a"), .contribution("b")])
    #expect(explanation.heads[0].entry?.transaction.author == "ann")
    #expect(explanation.reasons == [] && explanation.replaced == [])
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      try tx.contribute("c", to: "log", of: note("r"))
    }
    let again = try #require(try store.read { try $0.explain(note("r"), field: "log") })
    #expect(again.heads.map(\.head.content) == [.contribution("c")])
    #expect(again.replaced.map(\.content) == [.contribution("a"), .contribution("b")])
  }

  @Test("of many bytes are assets, which stay as long as the log refers to them")
  func assets() async throws {
    let store = try directory.store("store") { $0.assetThresholdBytes = 1000 }
    try await store.makeZone()
    let content = assetBytes(5000)
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      try tx.contribute(.bytes(content), to: "log", of: note("r"))
    }
    guard case .asset(let asset)? = try store.contributed()?.first else {
      Issue.record("many bytes stayed a value")
      return
    }
    try store.forgetHolds()
    _ = try await store.collectAssets()
    #expect(try store.assetContent(asset) == content)
    try await checkSound(store)
  }

  @Test("are reordered when a receive time caps a timestamp; the state's row counts that")
  func retimed() async throws {
    let future: Int64 = 4_070_908_800_000
    let store = try directory.store("store") { $0.wallMilliseconds = { future } }
    try await store.makeZone()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      try tx.contribute("ahead", to: "log", of: note("r"))
    }
    var remote = TestRemote()
    let now: UInt64 = 1_700_000_000_000
    for replica in 1..<7 as Range<UInt128> {
      _ = try remote.append(
        [
          transaction(
            replica, 1, at: now + 400_000 * UInt64(replica),
            [create("r"), contribute("r", .int(Int64(replica)))])
        ], receivedMilliseconds: now + 400_000 * UInt64(replica))
    }
    _ = try await store.ingest(remote.segments)
    #expect(try store.contributed() == [1, 2, 3, 4, 5, 6, "ahead"])
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: now + 1_000_000))
    let report = try await store.acknowledge(acknowledgement)
    #expect(report.retimed == 1)
    // Its time is 300 s after its receipt.
    #expect(try store.contributed() == [1, 2, 3, "ahead", 4, 5, 6])
    let row = try #require(try store.rows(\.states).first)
    #expect(try StateRow(row.value.span.bytes).retimings == 1)
    try await checkSound(store)
  }

  @Test("with missing or changed rows are a typed error")
  func damaged() async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for number in 0..<12 as Range<Int64> { try tx.contribute(.int(number), to: "log", of: note("r")) }
    }
    let rows = try store.rows(\.elements)
    #expect(rows.count == 8)
    for row in rows {
      try store.overwrite(row.key, nil, in: \.elements)
      #expect(code { _ = try store.contributed() } == .damaged)
      for count in 0..<row.value.count {
        try store.overwrite(row.key, Array(row.value.prefix(count)), in: \.elements)
        #expect(code { _ = try store.contributed() } == .damaged)
      }
      for bit in 0..<row.value.count * 8 {
        var flipped = row.value
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        try store.overwrite(row.key, flipped, in: \.elements)
        // A changed bit of the timestamp or the number gives another contribution; no other bit does.
        let result = code { _ = try store.contributed() }
        #expect(result == .damaged || result == nil && (bit < 64 || bit >= row.value.count * 8 - 16))
      }
      try store.overwrite(row.key, row.value, in: \.elements)
    }
    let record = try #require(try store.rows(\.records).first)
    for bit in 0..<record.value.count * 8 {
      var flipped = record.value
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      try store.overwrite(record.key, flipped, in: \.records)
      let result = code { _ = try store.contributed() }
      #expect(result == nil || result == .damaged || result == .newerFormat, "bit \(bit)")
    }
    try store.overwrite(record.key, record.value, in: \.records)
    #expect(try store.contributed()?.count == 12)
  }

  @Test("a damaged row is a store's error already in the closure of a read, and ends", arguments: [0, 1])
  func damagedInTheClosure(_ extraBytes: Int) async throws {
    let store = try await directory.noteStore()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for number in 0..<12 as Range<Int64> { try tx.contribute(.int(number), to: "log", of: note("r")) }
    }
    let sum = ContributionReducer(of: "log", initial: Int64(0)) { sum, one in
      if case .int(let number) = one.payload { sum += number }
    }
    #expect(try store.read { try sum.result(of: note("r"), in: $0) } == 66)
    let row = try #require(try store.rows(\.elements).first)
    if extraBytes == 0 {
      try store.overwrite(row.key, nil, in: \.elements)
    } else {
      // Its key begins with that of the last contribution that the reducer knows, which is in the record's row.
      try store.overwrite(row.key.dropLast() + [12, 0, 0], row.value, in: \.elements)
      try await store.write { try $0.contribute(1, to: "log", of: note("r")) }
    }
    let new = ContributionReducer(of: "log", initial: 0) { count, _ in count += 1 }
    try store.read { tx in
      #expect(codeInClosure { _ = try tx.contributions(of: "log", in: note("r")) } == .damaged)
      #expect(codeInClosure { _ = try new.result(of: note("r"), in: tx) } == .damaged)
      if extraBytes > 0 {
        #expect(codeInClosure { _ = try sum.result(of: note("r"), in: tx) } == .damaged)
      }
    }
  }

  /// The code of a ``StoreError``; nil for any other error, or none.
  private func codeInClosure(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  @Test("a payload contains what it was contributed to, and other bytes are refused")
  func payloads() throws {
    for base in [nil, (IncarnationNumber(rawValue: 255), 300)] as [(IncarnationNumber, UInt64)?] {
      var writer = ByteWriter()
      ContributionPayload.append(base: base.map { ($0.0, $0.1) }, to: &writer)
      try Value.string("x").encode(into: &writer)
      let bytes = writer.bytes
      #expect(bytes.first != Cell.apartMark)
      let payload = try ContributionPayload(bytes.span.bytes)
      #expect(payload.base?.incarnation == base?.0 && payload.base?.offset == base?.1)
      let value = try ContributionPayload.value(in: bytes.span.bytes)
      #expect(value == "x")
      for count in 0..<bytes.count {
        let cut = Array(bytes.prefix(count))
        #expect(throws: FormatError.self) { try ContributionPayload.value(in: cut.span.bytes) }
      }
    }
    let other: [UInt8] = [2, 0]
    #expect(throws: FormatError.self) { try ContributionPayload(other.span.bytes) }
  }
}
