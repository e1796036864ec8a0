import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("When what is offered again was received")
struct FormerTimes {
  let directory = TemporaryDirectory()

  /// Seven transactions of another replica, by the entries that they came in.
  private func log() throws -> TestRemote {
    var remote = TestRemote()
    let entries: [(ClosedRange<UInt64>, UInt64?)] = [
      (1...2, 100), (3...3, 100), (4...4, 200), (5...5, nil), (6...6, nil), (7...7, 300),
    ]
    for (sequences, received) in entries {
      _ = try remote.append(
        sequences.map { transaction(2, $0, $0 == 1 ? [create("r")] : [set("r", "f", .int(Int64($0)))]) },
        receivedMilliseconds: received)
    }
    return remote
  }

  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeAttachedZone()
    _ = try await store.ingest(log().segments)
    return store
  }

  private func keptRows(_ store: LocalStore) throws -> Int {
    try store.rows(\.replicas).filter { $0.key[0] == LaneRowKind.formerTimes.rawValue }.count
  }

  /// Ships all that is pending, and says what was cut.
  private func ship(
    _ store: LocalStore, to remote: inout TestRemote, limit: Int = .max
  ) async throws -> [(ClosedRange<UInt64>, UInt64?)] {
    var cuts: [(ClosedRange<UInt64>, UInt64?)] = []
    while cuts.count < limit, let cut = try store.nextCut(of: noteZone) {
      cuts.append((cut.header.sequences, cut.formerReceivedMilliseconds))
      // What was stored is offered with the same time.
      _ = try await store.storeCut(cut.header)
      #expect(try store.nextCut(of: noteZone)?.formerReceivedMilliseconds == cut.formerReceivedMilliseconds)
      let time = cut.formerReceivedMilliseconds ?? 900
      let acknowledgement = try #require(try await remote.shipCut(store, receivedMilliseconds: time))
      _ = try await store.acknowledge(acknowledgement)
    }
    return cuts
  }

  private func expect(
    _ cuts: [(ClosedRange<UInt64>, UInt64?)], _ expected: [(ClosedRange<UInt64>, UInt64?)],
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(cuts.map(\.0) == expected.map(\.0), "\(cuts)", sourceLocation: location)
    #expect(cuts.map(\.1) == expected.map(\.1), "\(cuts)", sourceLocation: location)
  }

  @Test("A cut has only transactions that were received when its first one was")
  func cuts() async throws {
    let store = try await makeStore()
    #expect(try await store.part(noteZone, from: 1) == 1)
    try await store.endRereading(noteZone)
    try await store.finishRenewal()
    #expect(try store.verify().isSound)
    var remote = TestRemote()
    expect(try await ship(store, to: &remote, limit: 2), [(1...3, 100), (4...4, 200)])
    // The log parts again: what has no place in it keeps its time too.
    #expect(try await store.part(noteZone, from: 2) == 2)
    try await store.endRereading(noteZone)
    try await store.finishRenewal()
    remote = TestRemote()
    _ = try remote.append([transaction(2, 1, [create("r")])])
    expect(try await ship(store, to: &remote), [(4...4, 200), (5...6, nil), (7...7, 300)])
    #expect(try keptRows(store) == 0)
    #expect(try store.verify().isSound)
    store.close()
  }

  @Test("What has its place in the log again keeps nothing", arguments: [true, false])
  func placedAgain(isParted: Bool) async throws {
    let store = try await makeStore()
    let segments = try log().segments
    for count in [2, 6] {
      _ = try await isParted ? store.part(noteZone, from: 3) : store.beginRereading(noteZone, from: 3)
      #expect(try keptRows(store) > 0)
      // It is interrupted, and starts again.
      _ = try await store.ingest(Array(segments[2..<count]))
    }
    try await store.endRereading(noteZone)
    try await store.finishRenewal()
    #expect(try keptRows(store) == 0 && store.nextCut(of: noteZone) == nil)
    #expect(try store.verify().isSound)
    store.close()
  }
}
