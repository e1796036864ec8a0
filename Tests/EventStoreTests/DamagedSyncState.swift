import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Damaged sync state")
struct DamagedSyncState {
  let directory = TemporaryDirectory()

  /// A store that has sent two transactions, has folded one of another replica, and has three pending ones.
  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    for number in 0..<6 {
      try await store.write { try $0.create(note("n\(number)"), type: "note", fields: ["f": 1]) }
      guard number == 0 || number == 2 else { continue }
      if number == 2 {
        _ = try remote.append([transaction(1, 1, [create("theirs")])])
        _ = try await store.ingest(remote.segments.suffix(1))
      }
      let acknowledgement = try #require(try await remote.shipCut(store))
      _ = try await store.acknowledge(acknowledgement)
    }
    let pending = try store.sync()?.pending
    try #require(pending == 3)
    return store
  }

  /// Where a round would begin; nil if it fails.
  private func found(_ store: LocalStore) throws -> (pending: UInt64?, first: UInt64?)? {
    do {
      let state = try store.sync()
      return (state?.pending, try store.nextCut(of: noteZone)?.header.sequences.lowerBound)
    } catch let error as StoreError {
      #expect(error.code == .damaged || error.code == .newerFormat, "\(error)")
      return nil
    }
  }

  private static var tables: [(name: String, table: (Tables) -> Table)] {
    [
      ("sequences", \.sequences), ("placements", \.placements), ("segments", \.segments), ("zones", \.zones),
      ("replicas", \.replicas), ("incarnations", \.incarnations),
    ]
  }

  @Test("no flipped bit of a row makes unsent work look sent")
  func flips() async throws {
    let store = try await makeStore()
    let sound = try #require(try found(store))
    var (flips, refused) = (0, 0)
    for (name, table) in Self.tables {
      for row in try store.rows(table) {
        for bit in 0..<row.value.count * 8 {
          var value = row.value
          value[bit / 8] ^= 1 << (bit % 8)
          try store.overwrite(row.key, value, in: table)
          flips += 1
          guard let now = try found(store) else {
            refused += 1
            continue
          }
          #expect(now == sound, "\(name) \(row.key), bit \(bit)")
        }
        try store.overwrite(row.key, row.value, in: table)
      }
    }
    print("sync state: \(flips) bits flipped, \(refused) refused, the others not read")
    #expect(refused > 500)
    try await checkSound(store)
  }

  @Test("a row that moved to another key is refused")
  func moved() async throws {
    let store = try await makeStore()
    let rows = try store.rows(\.sequences)
    let last = try #require(rows.last { $0.key.prefix(8) == rows[0].key.prefix(8) })
    // As if the sequence had never been pending: the row of an earlier one is in its place.
    try store.overwrite(last.key, rows[0].value, in: \.sequences)
    let refused = try found(store)
    #expect(refused == nil)
  }

  @Test("missing rows are noticed, or the transactions are sent again")
  func missing() async throws {
    let store = try await makeStore()
    for (name, table) in Self.tables.prefix(2) {
      for row in try store.rows(table) {
        try store.overwrite(row.key, nil, in: table)
        if let now = try found(store) {
          #expect(now.pending ?? 0 >= 3, "\(name) without \(row.key)")
          #expect(now.first ?? .max <= 4, "\(name) without \(row.key)")
        }
        try store.overwrite(row.key, row.value, in: table)
      }
    }
    // The last three, which are pending; or the first, or the last of them.
    let own = try store.rows(\.sequences).filter { $0.key[7] == 1 }
    try #require(own.count == 2)
    try store.overwrite(own[1].key, nil, in: \.sequences)
    let refused = try found(store)
    #expect(refused == nil)
    try store.overwrite(own[1].key, own[1].value, in: \.sequences)
    for sequence in [4, 6] as [UInt64] {
      try await store.perform { store in
        let storage = store.storage
        let (zone, _) = try storage.zones.visible(noteZone)
        let replica = try #require(try storage.replicaNumber(of: store.identity.replica))
        try storage.log.removeSequences(
          sequence...sequence, of: Lane(zone: zone, replica: replica, epoch: 0))
      }
      let refused = try found(store)
      #expect(refused == nil)
      for row in try store.rows(\.sequences) where row.key[7] == 1 {
        try store.overwrite(row.key, nil, in: \.sequences)
      }
      for row in own { try store.overwrite(row.key, row.value, in: \.sequences) }
    }
    try await checkSound(store)
  }

  @Test("a place in the remote log beyond the last sequence is refused")
  func beyond() async throws {
    let store = try await makeStore()
    try await store.perform { store in
      let storage = store.storage
      let (zone, row) = try storage.zones.visible(noteZone)
      let replica = try #require(try storage.replicaNumber(of: store.identity.replica))
      let segment = SegmentRow(
        replica: replica, epoch: 0, first: 3, last: 9, hash: .zero, receivedMilliseconds: nil)
      try storage.segments.place(segment, in: zone, try #require(row.token).incarnation, at: 9)
    }
    let refused = try found(store)
    #expect(refused == nil)
  }
}
