import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Bytes of keystrokes")
struct BytesOfKeystrokes {
  let directory = TemporaryDirectory()

  /// A store in which someone types, one letter a transaction.
  ///
  /// - Parameter zones: typed in by turns of some letters.
  private func typed(_ count: Int, in zones: [ZoneID] = [noteZone]) async throws -> LocalStore {
    let clock = TestClock(1_764_000_000_000)
    let store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    for zone in zones {
      try await store.makeZone(zone)
      try await store.write { try $0.create(RecordID(zone: zone, name: "n1"), type: "Note") }
    }
    var random = SeededGenerator(seed: 7)
    var lengths = zones.map { _ in 0 }
    var turn = 0
    for _ in 0..<count {
      clock.milliseconds += Int64(random.below(200) + 60)
      if random.chance(5) { turn = random.below(zones.count) }
      let (record, length) = (RecordID(zone: zones[turn], name: "n1"), lengths[turn])
      try await store.write { try $0.insertText("e", at: length, in: "body", of: record) }
      lengths[turn] += 1
    }
    return store
  }

  private func bytes(_ store: LocalStore) throws -> (log: Int, sequences: Int) {
    let transaction = try store.environment.beginRead()
    return (
      Int(try transaction.statistics(of: store.tables.log).bytes),
      Int(try transaction.statistics(of: store.tables.sequences).bytes)
    )
  }

  @Test("2,000 in one lane take at most 16 bytes each beside their text, in pages of log and sequences")
  func bytesAtRest() async throws {
    let store = try await typed(2000)
    let (log, sequences) = try bytes(store)
    let each = Double(log + sequences - 2000) / 2000
    print("2,000 keystrokes: \(log) bytes of log, \(sequences) of sequences; \(each) each beside their text")
    #expect(each <= 16)
    let entries = try store.entries()
    #expect(entries.count == 2001)
    let found = try store.read { tx in
      try tx.history { _ in true }
      return tx.readView.logCache.decodedEntries
    }
    #expect(found <= entries.count)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("in two zones by turns are verified, folded again, exported and imported as they are")
  func everywhere() async throws {
    let zones = [noteZone, ZoneID(name: "other")]
    let store = try await typed(500, in: zones)
    try await store.write {
      try $0.set("large", of: note("n1"), to: .bytes([UInt8](repeating: 3, count: 5000)))
    }
    try await store.write { try $0.insertText("f", at: 0, in: "body", of: note("n1")) }
    try await checkSound(store)
    let entries = try store.entries()
    let byZone = try zones.map { try store.entries(zone: $0) }
    #expect(byZone == zones.map { zone in entries.filter { $0.transaction.zone == zone } })
    let new = try directory.store("imported")
    try await new.importLines(try store.exportedLines())
    let imported = try new.entries()
    #expect(imported.map(\.transaction) == entries.map(\.transaction))
    let (before, after) = try (zones.map { try store.digest(of: $0) }, zones.map { try new.digest(of: $0) })
    #expect(before == after)
    try await checkSound(new)
    let last = try store.lastPosition()
    let past = try store.snapshotBlockingThisThread(at: Position(rawValue: last.rawValue - 3))
    let text = try past.read { try $0.value(of: "large", in: note("n1")) }
    #expect(text == nil)
  }

  // MARK: Joining

  /// Gives each transaction rows of its own, as an earlier program did.
  private func divide(_ store: LocalStore) throws {
    let read = try store.environment.beginRead()
    let view = ReadView(read, tables: store.tables, interned: Interned())
    let transaction = try store.environment.beginWrite()
    let last = try view.log.lastPosition()
    for (table, rows) in [
      (store.tables.log, try store.rows(\.log)), (store.tables.sequences, try store.rows(\.sequences)),
    ] {
      for row in rows { _ = try transaction.delete(row.key.span.bytes, in: table) }
    }
    for number in 1...last.rawValue {
      let position = Position(rawValue: number)
      let (header, body) = try view.log.withEntry(at: position) { ($0, $1.bytes) }
      var writer = ByteWriter()
      LogEntryCodec.append(header, body: body.span.bytes, at: position, to: &writer)
      try transaction.put(writer.span, for: TableKey.log(position).span, in: store.tables.log)
      let key = TableKey.sequence(header.lane, header.sequence)
      writer.removeAll()
      writer.append(varint: number)
      writer.appendChecksum(under: key.span)
      try transaction.put(writer.span, for: key.span, in: store.tables.sequences)
    }
    try transaction.commit()
  }

  @Test(
    "that have rows of their own are read as before, and joined in steps of any size",
    arguments: [2, 3, 50, 8192])
  func joining(_ rowsMax: Int) async throws {
    let store = try await typed(250, in: [noteZone, ZoneID(name: "other")])
    try await store.write {
      try $0.set("large", of: note("n1"), to: .bytes([UInt8](repeating: 3, count: 5000)))
    }
    try await store.write { try $0.insertText("f", at: 0, in: "body", of: note("n1")) }
    let entries = try store.entries()
    let shared = try (store.rows(\.log).count, store.rows(\.sequences).count)
    try divide(store)
    #expect(try store.rows(\.log).count == entries.count)
    let divided = try store.entries()
    #expect(divided == entries)
    try await checkSound(store)
    // Later writes append after it.
    try await store.write { try $0.insertText("g", at: 0, in: "body", of: note("n1")) }
    let all = try store.entries()
    try divide(store)
    var step = JoiningStep.start
    var steps = 0
    while step != .done {
      step = try await RowJoining.run(step, store.core, rowsMax: rowsMax)
      steps += 1
      if steps % 100 == 1 { #expect(try store.entries() == all) }
    }
    #expect(try store.entries() == all)
    try await checkSound(store)
    let joined = try (store.rows(\.log), store.rows(\.sequences))
    #expect(joined.0.count <= shared.0 + 1 && joined.1.count <= shared.1 + 1)
    step = .start
    while step != .done { step = try await RowJoining.run(step, store.core, rowsMax: rowsMax) }
    #expect(try store.rows(\.log) == joined.0 && store.rows(\.sequences) == joined.1)
    try await store.write { try $0.insertText("h", at: 0, in: "body", of: note("n1")) }
    try await checkSound(store)
  }
}
