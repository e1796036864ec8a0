import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A log is exported and imported")
struct ExportTests {
  let directory = TemporaryDirectory()

  /// A store with two zones, of which one has met a remote, a conflict, a policy and pending writes.
  private func makeStore() async throws -> (LocalStore, TestRemote) {
    let store = try directory.store("exported")
    try await store.makeZone()
    try await store.makeZone(ZoneID(name: "local"))
    var remote = TestRemote()
    _ = try remote.append(
      [transaction(1, 1, at: 4_070_908_800_000, [create("r"), set("r", "f", 1)])],
      receivedMilliseconds: 1_000_000)
    try await store.write { try $0.create(note("r"), type: "note", fields: ["f": "mine"]) }
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: 1_000_001))
    _ = try await store.ingest(remote.segments)
    _ = try await store.acknowledge(acknowledgement)
    try await store.setExistencePolicy(.updateWins, of: "note")
    try await store.write { tx in
      tx.label = "unshipped"
      try tx.create(note("s"), type: "note", fields: ["big": .bytes([UInt8](repeating: 1, count: 2000))])
      try tx.create(RecordID(zone: ZoneID(name: "local"), name: "l"), type: "note", fields: ["f": 1])
    }
    return (store, remote)
  }

  @Test("a log without a transaction that its segments name, or with another token or base, is refused whole")
  func changed() async throws {
    let (store, _) = try await makeStore()
    let lines = try store.exportedLines()
    let shipped = try #require(
      lines.lastIndex {
        if case .transaction(let entry) = $0 {
          entry.transaction.replica != store.identity.replica
        } else {
          false
        }
      })
    var changed: [[ExportedLine]] = [lines, lines, lines]
    changed[0].remove(at: shipped)
    for (index, line) in lines.enumerated() {
      guard case .zone(let id, let attachment, let token?, let base?, let assets) = line else { continue }
      var (further, later) = (token, base)
      further.base.offset += 1
      later.offset += 1
      changed[1][index] = .zone(id, attachment, token: further, base: base, assets: assets)
      changed[2][index] = .zone(id, attachment, token: token, base: later, assets: assets)
    }
    for (index, lines) in changed.enumerated() {
      let new = try directory.store("changed \(index)")
      await #expect(throws: StoreError.self) { try await new.importLines(lines) }
      #expect(try new.entries().isEmpty)
      new.close()
    }
  }

  @Test("the imported store has the same digests, log and tokens, and its writes have seen the old ones")
  func roundTrip() async throws {
    let (old, exportedRemote) = try await makeStore()
    var remote = exportedRemote
    let lines = try old.exportedLines()
    let new = try directory.store("imported")
    try await new.importLines(lines)
    let snapshots = (try old.readView(), try new.readView())
    #expect(snapshots.1.digests == snapshots.0.digests)
    #expect(snapshots.1.tokens == snapshots.0.tokens)
    #expect(snapshots.1.lastPosition == snapshots.0.lastPosition)
    // What the old store had not shipped is pending in the new one too.
    #expect(snapshots.0.pending == [1, 1])
    #expect(snapshots.1.pending == [1, 1])
    let logs = (try old.entries(), try new.entries())
    #expect(logs.0.map(\.transaction) == logs.1.map(\.transaction))
    #expect(logs.0.map(\.arrivedMilliseconds) == logs.1.map(\.arrivedMilliseconds))
    try await checkSound(new)
    let exportedAgain = try new.exportedLines()
    #expect(exportedAgain.dropFirst() == lines.dropFirst())

    // Both go on. What the new one writes has seen all that it imported, shipped or not.
    let conflicts = try new.read { try $0.conflicts(in: noteZone).count }
    try await new.write { tx in
      try tx.set("big", of: note("s"), to: "new")
      try tx.set("f", of: RecordID(zone: ZoneID(name: "local"), name: "l"), to: 2)
    }
    let heads = [
      try new.heads("big", note("s")), try new.heads("f", RecordID(zone: ZoneID(name: "local"), name: "l")),
    ]
    #expect(heads == [["new"], [2]])
    let same = try new.read { try $0.conflicts(in: noteZone).count }
    #expect(same == conflicts)
    try await old.write { try $0.set("f", of: note("r"), to: "old goes on") }
    for store in [new, new, old] {
      if let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    }
    for store in [old, new] {
      _ = try await store.ingest(try remote.news(for: store))
      try await checkSound(store)
    }
    let digests = (try old.digest(), try new.digest())
    #expect(digests.0 == digests.1)
    let settled = try old.heads("big", note("s"))
    #expect(settled == ["new"])
  }

  @Test("lines that do not fit are refused, and nothing of them stays")
  func refusals() async throws {
    let (old, _) = try await makeStore()
    let lines = try old.exportedLines()
    func refuse(_ expected: StoreError.Code, _ name: String, _ lines: [ExportedLine]) async throws {
      let store = try directory.store(name)
      let found = await awaitedCode { try await store.importLines(lines) }
      #expect(found == expected, "\(name)")
      let readView = try store.readView()
      #expect(readView.lastPosition == .start && readView.zones == [], "\(name)")
      store.close()
    }
    let transactions = lines.indices.filter { if case .transaction = lines[$0] { true } else { false } }
    try await refuse(
      .outOfOrder, "without the first transaction", lines.filter { $0 != lines[transactions[0]] })
    var swapped = lines
    swapped.swapAt(transactions[0], transactions[2])
    try await refuse(.outOfOrder, "swapped", swapped)
    try await refuse(.outOfOrder, "one twice", lines + [lines[transactions[0]]])
    try await refuse(
      .zoneUnknown, "without zones", lines.filter { if case .zone = $0 { false } else { true } })
    let full = await awaitedCode { try await old.importLines(lines) }
    #expect(full == .importInvalid)
  }

  @Test("a store that was imported and wrote nothing can be exported and imported in turn")
  func chain() async throws {
    let (old, _) = try await makeStore()
    let second = try directory.store("second")
    try await second.importLines(try old.exportedLines())
    let third = try directory.store("third")
    try await third.importLines(try second.exportedLines())
    try await third.write { try $0.set("big", of: note("s"), to: "third") }
    let heads = try third.heads("big", note("s"))
    #expect(heads == ["third"])
    try await checkSound(third)
  }

  @Test("what the old store had not shipped keeps an imported zone that the remote deletes")
  func withdrawal() async throws {
    let old = try directory.store("old")
    try await old.makeAttachedZone()
    var remote = TestRemote()
    for name in ["shipped", "unshipped"] {
      try await old.write { try $0.create(note(name), type: "note") }
      if remote.last > 0 { break }
      let acknowledgement = try #require(try remote.ship(old))
      _ = try await old.acknowledge(acknowledgement)
    }
    let new = try directory.store("new")
    try await new.importLines(try old.exportedLines())
    let isGone = try await new.withdraw(noteZone, testIncarnation)
    #expect(!isGone)
    let names = try new.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(names == ["shipped", "unshipped"])
    // With all of it shipped it goes.
    let rest = try #require(try remote.ship(old))
    _ = try await old.acknowledge(rest)
    let last = try directory.store("last")
    try await last.importLines(try old.exportedLines())
    let isLastGone = try await last.withdraw(noteZone, testIncarnation)
    #expect(isLastGone)
  }

  @Test(
    "an import that is cut between its commits leaves a store that is not opened; a whole one is, once it ends"
  )
  func cutImport() async throws {
    let (old, _) = try await makeStore()
    let lines = try old.exportedLines()
    // All but the last transaction; and the end alone, which has no line of its own here.
    for (name, kept) in [("by a transaction", lines.count - 1), ("by the end", lines.count), ("early", 1)] {
      let cut = try directory.store(name)
      try await cut.importLines(Array(lines.prefix(kept)), isMoreToCome: true)
      // As a process that was killed leaves it.
      cut.close()
      for readOnly in [false, true] {
        let found = code {
          _ = try directory.store(name) {
            $0.isReadOnly = readOnly
            $0.opensDamaged = readOnly
          }
        }
        #expect(found == .importUnfinished, "\(name)")
      }
    }
    var new = try directory.store("whole")
    for (index, line) in lines.enumerated() {
      try await new.importLines([line], isMoreToCome: index < lines.count - 1)
    }
    new.close()
    new = try directory.store("whole")
    #expect(try new.readView() == old.readView())
    try await checkSound(new)
    // What throws in its first commit leaves an empty store, which opens.
    let empty = try directory.store("empty")
    let found = await awaitedCode {
      try await empty.importLines(lines + [lines[lines.count - 1]], isMoreToCome: true)
    }
    #expect(found == .outOfOrder)
    empty.close()
    let again = try directory.store("empty")
    try await again.importLines(lines)
    #expect(try again.readView() == old.readView())
  }
}
