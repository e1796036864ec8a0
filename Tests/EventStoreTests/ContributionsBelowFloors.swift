import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Contributions that are compacted")
struct ContributionsBelowFloors {
  private let directory = TemporaryDirectory()

  private func contribute(_ value: Int64) -> LogOperation {
    .update(record: "r", type: "note", field: "log", .contribute(.int(value)))
  }

  private func order(_ store: LocalStore) throws -> [Value]? {
    try store.read { try $0.contributions(of: "log", in: note("r"))?.map(\.payload) }
  }

  @Test("Floors do not change the order of what had seen each other, also where a clock is behind")
  func order() async throws {
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), contribute(1)])])
    _ = try remote.append([transaction(1, 2, base: 1, [.compact(floor: 1)])])
    // They have seen what is compacted.
    _ = try remote.append([transaction(2, 1, base: 1, at: 1, [contribute(2)])])
    _ = try remote.append([transaction(3, 1, base: 2, at: 2, [contribute(3)])])
    // Above it somebody has changed the record; and then nobody.
    _ = try remote.append([transaction(1, 3, base: 4, [.compact(floor: 2)])])
    _ = try remote.append([transaction(1, 4, base: 5, [.compact(floor: 5)])])
    _ = try remote.append([transaction(1, 5, base: 6, [contribute(4)])])
    _ = try remote.append([transaction(1, 6, base: 7, [.compact(floor: 7)])])
    let stepwise = try directory.store("stepwise")
    try await stepwise.makeAttachedZone()
    let wanted: [[Value]] = [
      [1], [1], [1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4],
    ]
    for (segment, order) in zip(remote.segments, wanted) {
      _ = try await stepwise.ingest([segment])
      try await stepwise.finishRenewal()
      #expect(try self.order(stepwise) == order)
      #expect(try stepwise.verify().isSound)
    }
    let atOnce = try directory.store("at once")
    try await atOnce.makeAttachedZone()
    _ = try await atOnce.ingest(remote.segments, isMoreToCome: true)
    try await atOnce.finishRenewal()
    let made = try stepwise.makeSnapshot(of: noteZone)
    #expect(try atOnce.makeSnapshot(of: noteZone) == made)
    let begun = try directory.store("begun")
    try await begun.makeAttachedZone()
    try await begun.begin(noteZone, with: made) { try stepwise.snapshotPart($0, of: made) }
    #expect(try begun.makeSnapshot(of: noteZone) == made)
    for store in [stepwise, atOnce, begun] {
      #expect(try order(store) == wanted.last)
      let digest = try store.digest()
      _ = try await store.rebuild()
      #expect(try store.digest() == digest && order(store) == wanted.last)
      store.close()
    }
  }
}
