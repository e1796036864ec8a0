import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Interrupted rebuilds")
struct RebuildTests {
  struct Stop: Error {}

  let directory = TemporaryDirectory()

  /// A store whose log takes several steps to rebuild; each step folds at most 8 MiB.
  private func makeStore(_ segments: [RemoteSegment] = []) async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeZone()
    _ = try await store.ingest(segments)
    for number in 0..<22 {
      try await store.write { tx in
        let value = Value.bytes([UInt8](repeating: UInt8(number), count: (1 << 20) - 100))
        try tx.create(note("n\(number)"), type: "note", fields: ["body": value, "n": .int(Int64(number))])
      }
    }
    return store
  }

  private func states(_ store: LocalStore) throws -> [StateRow.Status] {
    try store.rows(\.states).map { try StateRow($0.value.span.bytes).status }
  }

  @Test("after any step it continues; it includes writes in between, and removes stale states")
  func interruptedByAnError() async throws {
    let store = try await makeStore()
    var interruptions = 0
    while true {
      let readView = try store.readView()
      do {
        let report = try await store.rebuild { _, _ in throw Stop() }
        Issue.record("the rebuild ended without progress: \(report)")
      } catch is Stop {}
      let after = try store.readView()
      #expect(after == readView)
      let verified = try store.verify()
      #expect(verified.problems == [])
      let isUnderWay = try store.rows(\.meta).contains { $0.key == Array("rebuild".utf8) }
      guard isUnderWay else { break }
      interruptions += 1
      let found = try states(store)
      #expect(found == [.live, .building] + Array(repeating: .live, count: interruptions - 1))
      let number = interruptions
      try await store.write { tx in
        try tx.set("n", of: note("n\(number)"), to: .int(Int64(100 + number)))
        try tx.create(note("between\(number)"), type: "note")
        // A zone that was created meanwhile is left as it is.
        let record = RecordID(zone: ZoneID(name: Name("zone\(number)")), name: "r")
        try tx.createZone(record.zone)
        try tx.create(record, type: "t", fields: ["f": 1])
      }
    }
    #expect(interruptions == 2)
    for number in 1...interruptions {
      let value = try store.value("n", note("n\(number)"))
      #expect(value == .int(Int64(100 + number)))
      let isThere = try store.read { try $0.contains(note("between\(number)")) }
      #expect(isThere)
    }
    // It was interrupted after the last step: the replaced state still exists, and the next rebuild removes
    // it.
    let stale = try states(store)
    #expect(stale.contains(.discarded))
    try await checkSound(store)
    let clean = try states(store)
    #expect(Set(clean) == [.live])
    let left = try store.rows(\.elements).count
    #expect(left == 22)
  }

  @Test("it includes receive times and segments that arrive in between")
  func learningInBetween() async throws {
    // One is before the place of the interruption, one after it.
    var remote = TestRemote()
    _ = try remote.append([transaction(3, 1, at: 4_070_908_800_000, [create("early"), set("early", "n", 7)])])
    let store = try await makeStore(remote.segments)
    _ = try remote.append([transaction(1, 1, at: 4_070_908_800_000, [create("n1"), set("n1", "n", 7)])])
    _ = try await store.ingest(try remote.news(for: store))
    await #expect(throws: Stop.self) { try await store.rebuild { _, _ in throw Stop() } }
    let before = try store.heads("n", note("n1"))
    #expect(before == [7, 1])
    var again = remote.segments
    for index in again.indices { again[index].receivedMilliseconds = 1_000_000 }
    let report = try await store.ingest(again)
    #expect(report.retimed == 1)
    _ = try remote.append([transaction(2, 1, base: 2, [create("theirs")])])
    _ = try await store.ingest(try remote.news(for: store))
    let resumed = try await store.rebuild()
    #expect(resumed.wasResumed)
    let after = try store.heads("n", note("n1"))
    #expect(after == [1, 7])
    let early = try store.read { try $0.heads(of: "n", in: note("early"))[0].timestamp.milliseconds }
    #expect(early == 1_300_000)
    try await checkSound(store)
  }

  @Test("two at the same time end, and leave nothing")
  func twoAtOnce() async throws {
    let store = try await makeStore()
    let readView = try store.readView()
    async let first = store.rebuild()
    async let second = store.rebuild()
    _ = try await (first, second)
    let after = try store.readView()
    #expect(after == readView)
    let isUnderWay = try store.rows(\.meta).contains { $0.key == Array("rebuild".utf8) }
    #expect(!isUnderWay)
    let found = try states(store)
    #expect(found == [.live])
    try await checkSound(store)
  }
}

@Suite("Folding the past")
struct PastTests {
  let directory = TemporaryDirectory()

  @Test("at every position it is what was recorded while writing")
  func everyPosition() async throws {
    let store = try directory.store()
    let zones = [noteZone, ZoneID(name: "other")]
    var generator = SeededGenerator(seed: 5)
    var recorded: [[ZoneID: ContentHash]] = [[:]]
    var records: [[Record]] = [[]]
    var remote = TestRemote()
    var sequence: UInt64 = 0
    for number in 0..<60 {
      let zone = zones[number < 5 ? 0 : generator.below(2)]
      let (record, isDeletion) = (generator.below(5), generator.chance(20))
      if number % 7 == 6 {
        sequence += 1
        let known = try store.read { try $0.token(of: noteZone)?.offset }
        _ = try remote.append([
          transaction(
            1, sequence, base: known, at: 1_000, [set(Name("n\(record)"), "f", .int(Int64(number)))])
        ])
        _ = try await store.ingest(try remote.news(for: store))
      } else {
        try await store.write { tx in
          try tx.createZone(zone)
          let id = RecordID(zone: zone, name: Name("n\(record)"))
          if try !tx.contains(id) { try tx.create(id, type: "note") }
          try tx.set("f", of: id, to: .int(Int64(number)))
          if isDeletion { try tx.delete(id) }
        }
      }
      try store.read { tx in
        var digests: [ZoneID: ContentHash] = [:]
        for zone in try tx.zones() { digests[zone] = try tx.digest(of: zone) }
        recorded.append(digests)
        records.append(try tx.records(in: noteZone))
      }
    }
    let last = try store.lastPosition()
    #expect(last.rawValue == 60)
    for position in 0...60 {
      let past = try store.snapshotBlockingThisThread(at: Position(rawValue: UInt64(position)))
      try past.read { tx in
        for (zone, digest) in recorded[position] {
          let found = try tx.digest(of: zone)
          #expect(found == digest, "position \(position)")
        }
        let found = try tx.records(in: noteZone)
        #expect(found == records[position], "position \(position)")
      }
    }
  }
}
