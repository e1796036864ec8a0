import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Transactions that are offered again, since the log has lost what they had seen")
struct LimitsOfBases {
  let directory = TemporaryDirectory()

  /// Three writes of one field: the first two of one replica, the third of another that had seen both.
  private func log(limit: UInt64?) throws -> TestRemote {
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])
    _ = try remote.append([transaction(1, 2, base: 1, [set("r", "f", 2)])])
    _ = try remote.append([transaction(2, 1, base: 2, [set("r", "f", 3)])], limit: limit)
    return remote
  }

  @Test("They have seen the log up to their limit", arguments: [nil, 0, 1, 2, 3] as [UInt64?])
  func seen(limit: UInt64?) async throws {
    let store = try directory.store()
    try await store.makeZone()
    _ = try await store.ingest(log(limit: limit).segments)
    let expected: [Value] =
      switch limit {
      case 0, 1: [2, 3]
      default: [3]
      }
    #expect(Set(try store.heads("f", note("r"))) == Set(expected))
    let digest = try store.digest(of: noteZone)
    _ = try await store.rebuild()
    #expect(try store.digest(of: noteZone) == digest)
    #expect(try store.verify().isSound)
    let id = TransactionID(replica: ReplicaID(rawValue: 2), epoch: 0, sequence: 1)
    // The log says what its writer said.
    let base = try store.read { tx in
      var found: Base?
      try tx.history(zone: noteZone) { entry in
        if entry.transaction.id == id { found = entry.transaction.base }
        return true
      }
      return found
    }
    #expect(base == Base(incarnation: testIncarnation, offset: 2))
    store.close()
  }

  @Test("The first segment that has them says the limit; one that is read again changes nothing")
  func first() async throws {
    let store = try directory.store()
    try await store.makeZone()
    var remote = try log(limit: 1)
    let again = transaction(2, 1, base: 2, [set("r", "f", 3)])
    for limit in [nil, 0, 2] as [UInt64?] { _ = try remote.append([again], limit: limit) }
    _ = try await store.ingest(remote.segments)
    _ = try await store.ingest(remote.segments)
    #expect(Set(try store.heads("f", note("r"))) == [2, 3])
    store.close()
  }

  @Test(
    "They have seen at least what the one before them in their lane had seen, or their parent",
    arguments: 0...3)
  func inherited(limit: UInt64) async throws {
    let store = try directory.store()
    try await store.makeZone()
    var remote = try log(limit: nil)
    _ = try remote.append([transaction(2, 2, base: 3, [set("r", "f", 4)])], limit: limit)
    var child = transaction(3, 1, base: 3, [set("r", "f", 5)])
    child.parent = TransactionID(replica: ReplicaID(rawValue: 2), epoch: 0, sequence: 1)
    _ = try remote.append([child], limit: limit)
    _ = try await store.ingestOrReject(remote.segments)
    #expect(try store.read { try $0.rejectedSegments(in: noteZone) }.isEmpty)
    // The child has not seen the fourth segment.
    #expect(Set(try store.heads("f", note("r"))) == [4, 5])
    let digest = try store.digest(of: noteZone)
    _ = try await store.rebuild()
    #expect(try store.digest(of: noteZone) == digest)
    #expect(try store.verify().isSound)
    store.close()
  }

  @Test(
    "A segment repeats one with a lower limit: what the log has stays as it was, and the rest has seen that")
  func repeated() async throws {
    let store = try directory.store()
    try await store.makeZone()
    var remote = try log(limit: nil)
    let first = transaction(2, 2, base: 3, [set("r", "g", 1)])
    _ = try remote.append([first], limit: 2)
    _ = try remote.append([first, transaction(2, 3, base: 4, [set("r", "f", 6)])], limit: 1)
    _ = try await store.ingestOrReject(remote.segments)
    #expect(try store.read { try $0.rejectedSegments(in: noteZone) }.isEmpty)
    #expect(try store.verify().isSound)
    #expect(try store.heads("f", note("r")) == [6])
    let digest = try store.digest(of: noteZone)
    _ = try await store.rebuild()
    #expect(try store.digest(of: noteZone) == digest)
    store.close()
  }

  @Test(
    "A limit is no excuse for naming less than the one before in the lane: that is rejected", arguments: 0...3
  )
  func goesBack(limit: UInt64) async throws {
    let store = try directory.store()
    try await store.makeZone()
    var remote = try log(limit: nil)
    _ = try remote.append([transaction(2, 2, base: 1, [set("r", "g", 1)])], limit: limit)
    _ = try await store.ingestOrReject(remote.segments)
    let rejected = try store.read { try $0.rejectedSegments(in: noteZone) }
    #expect(rejected.map(\.offset) == [4] && rejected.allSatisfy { $0.reason == .base })
    store.close()
  }

  @Test("Every way to set limits of six sequences is that of a list of six")
  func runs() async throws {
    let store = try directory.store()
    try await store.makeZone()
    let limits: [UInt64?] = [nil, 1, 2]
    try await store.perform { tx in
      let incarnation = IncarnationNumber(rawValue: 1)
      var replica: UInt32 = 0
      let ranges = (1...4).flatMap { first in (first...4).map { UInt64(first)...UInt64($0) } }
      for (a, first) in ranges.flatMap({ range in limits.map { (range, $0) } }) {
        for (b, second) in ranges.flatMap({ range in limits.map { (range, $0) } }) {
          for (c, third) in [(UInt64(2)...3, 1 as UInt64?), (1...4, nil), (3...3, 2)] {
            replica += 1
            let lane = Lane(
              zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: replica), epoch: 0)
            var expected = [UInt64?](repeating: nil, count: 7)
            for (range, limit) in [(a, first), (b, second), (c, third)] {
              try tx.storage.baseLimits.set(limit.map { (incarnation, $0) }, of: lane, range)
              for sequence in range { expected[Int(sequence)] = limit }
            }
            for sequence in 1...UInt64(6) {
              let found = try tx.storage.baseLimits.limit(of: lane, sequence)
              #expect(found?.offset == expected[Int(sequence)], "\(a) \(b) \(c)")
              let alike = expected[Int(sequence)...].prefix { $0 == expected[Int(sequence)] }.count
              let last = try tx.storage.baseLimits.last(like: sequence, of: lane, through: 6)
              #expect(last == sequence + UInt64(alike) - 1)
            }
          }
        }
      }
    }
    store.close()
  }
}
