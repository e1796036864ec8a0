import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

/// Entries of several lanes, as they were appended: what a log with one row for each would have.
private struct Appended {
  struct Entry: Equatable {
    var header: LogEntryHeader
    var body: [UInt8]
  }

  var random: SeededGenerator
  /// By position; nil for removed ones.
  var entries: [Position: Entry?] = [:]
  var last: [Lane: UInt64] = [:]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  var lastPosition: Position { Position(rawValue: UInt64(entries.count)) }

  /// The next entries: mostly of one lane after another, mostly small.
  mutating func next(_ count: Int) -> [Entry] {
    var made: [Entry] = []
    var lane = Lane(zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0)
    var typed: UInt64 = 0
    for _ in 0..<count {
      if random.chance(4) {
        lane = Lane(
          zone: ZoneNumber(rawValue: UInt32(random.below(2)) + 1),
          replica: ReplicaNumber(rawValue: UInt32(random.below(2)) + 1), epoch: UInt32(random.below(2)))
      }
      last[lane, default: 0] += 1
      let sequence = last[lane]!
      let header = LogEntryHeader(
        zone: lane.zone, replica: lane.replica, epoch: lane.epoch, sequence: sequence,
        base: random.chance(50) ? (IncarnationNumber(rawValue: 3), sequence / 7 + 1) : nil,
        parent: sequence == 1 && random.chance(50) ? (ReplicaNumber(rawValue: 9), 1, 4) : nil,
        arrivalDelay: random.chance(20) ? Int64(random.below(9000)) - 4000 : 0)
      var body: [UInt8]
      switch random.below(30) {
      case 0: body = (0..<random.below(3000) + 1).map { UInt8(truncatingIfNeeded: $0) }
      case 1: body = (0..<random.below(120) + 1).map { UInt8(truncatingIfNeeded: $0 * 7) }
      default:
        body = keystroke(typed)
        typed += 1
      }
      made.append(Entry(header: header, body: body))
    }
    return made
  }

  private func keystroke(_ number: UInt64) -> [UInt8] {
    let transaction = LogTransaction(
      replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 1, zone: ZoneID(name: "z"),
      timestamp: Timestamp(milliseconds: 1_764_000_000_000 + 130 * number, counter: 0),
      operations: [
        .update(
          record: "n1", type: "Note", field: "body",
          .insertText("a", after: number == 0 ? nil : UnitReference(number: number - 1)))
      ])
    guard let bytes = try? transaction.encoded() else { preconditionFailure("a transaction that is valid") }
    var reader = ByteReader(bytes.span.bytes)
    guard (try? TransactionHeader.read(from: &reader)) != nil else { preconditionFailure("its own bytes") }
    return Array(bytes[reader.position...])
  }

  mutating func add(_ made: [Entry]) { for entry in made { entries[lastPosition.next] = .some(entry) } }
}

@Suite("Rows of the log that transactions share")
struct SharedLogRows {
  private struct Undone: Error {}

  let directory = TemporaryDirectory()

  private func append(_ made: [Appended.Entry], _ store: LocalStore, isUndone: Bool = false) async throws {
    try await store.perform { store in
      for entry in made {
        let body = entry.body.span
        _ = try store.storage.log.append(entry.header, body: body.bytes)
      }
      if isUndone { throw Undone() }
    }
  }

  /// Compares the log with what was appended: forwards, backwards and anywhere.
  private func check(_ store: LocalStore, _ appended: Appended, _ comment: Comment) throws {
    let transaction = try store.environment.beginRead()
    let view = ReadView(transaction, tables: store.tables, interned: Interned())
    let last = try view.log.lastPosition()
    #expect(last == appended.lastPosition, comment)
    var positions = appended.entries.keys.sorted()
    func checkAll() throws {
      for position in positions {
        let found = try view.log.withEntryUnlessRemoved(at: position) {
          Appended.Entry(header: $0, body: $1.bytes)
        }
        #expect(found == appended.entries[position]!, "\(comment), \(position)")
      }
    }
    try checkAll()
    // Each row was decoded once.
    #expect(view.logCache.decodedEntries <= positions.count, comment)
    positions.reverse()
    try checkAll()
    #expect(view.logCache.decodedEntries <= 2 * positions.count, comment)
    var random = SeededGenerator(seed: 5)
    positions = (0..<200).map { _ in positions[random.below(positions.count)] }
    try checkAll()
    for (position, entry) in appended.entries {
      guard let header = entry?.header else { continue }
      let named = try view.log.position(of: header.replica, header.epoch, header.sequence, in: header.zone)
      #expect(named == position, "\(comment), \(header)")
    }
    try view.log.checkTail()
  }

  @Test("give back all entries, of any lanes and sizes, in commits that are made, undone or in a new process")
  func giveBack() async throws {
    let seed = UInt64.random(in: 0...999_999)
    var appended = Appended(seed: seed)
    var store = try directory.store()
    for round in 0..<40 {
      let before = appended
      let made = appended.next(appended.random.below(80) + 1)
      if appended.random.chance(20) {
        await #expect(throws: Undone.self) { try await append(made, store, isUndone: true) }
        let random = appended.random
        appended = before
        appended.random = random
      } else {
        appended.add(made)
        try await append(made, store)
      }
      if round % 8 == 7 {
        store.close()
        store = try directory.store()
      }
    }
    try check(store, appended, "seed \(seed)")
    let rows = try store.rows(\.log).count
    let names = try store.rows(\.sequences).count
    #expect(rows * 4 < appended.entries.count && names * 4 < appended.entries.count, "seed \(seed)")
  }

  @Test("are split where entries are removed: each alone, and any runs")
  func removal() async throws {
    for first in 1...40 as ClosedRange<UInt64> {
      let store = try directory.store("store \(first)")
      var appended = Appended(seed: first)
      let made = appended.next(40)
      appended.add(made)
      try await append(made, store)
      // Three runs: one that begins at each position, and two anywhere.
      for run in 0..<3 {
        let start = run == 0 ? first : UInt64(appended.random.below(40) + 1)
        let end = min(40, start + UInt64(appended.random.below(8)))
        let gone = (start...end).map { Position(rawValue: $0) }.filter { appended.entries[$0]! != nil }
        let names = gone.map { appended.entries[$0]!!.header }
        for position in gone { appended.entries[position] = .some(nil) }
        try await store.perform { store in
          for name in names {
            try store.storage.log.removeSequences(name.sequence...name.sequence, of: name.lane)
          }
          try store.storage.log.remove(gone)
          store.storage.forgetSequences()
        }
        try check(store, appended, "from \(first), run \(run): \(gone)")
        for name in names {
          let found = try store.read {
            try $0.readView.log.position(of: name.replica, name.epoch, name.sequence, in: name.zone)
          }
          #expect(found == nil)
        }
      }
      let more = appended.next(20)
      appended.add(more)
      try await append(more, store)
      try check(store, appended, "from \(first), appended to")
      store.close()
    }
  }

  /// A store with so many transactions of one lane.
  private func written(_ count: Int64) async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { try $0.create(note("n"), type: "note") }
    for number in 2...count {
      try await store.write { try $0.set("f", of: note("n"), to: .int(number)) }
    }
    return store
  }

  @Test("that are damaged give a typed error for each of their entries, and the others stay readable")
  func damage() async throws {
    let store = try await written(200)
    let rows = try store.rows(\.log)
    try #require(rows.count > 2)
    var value = rows[1].value
    value[20] ^= 1
    try store.overwrite(rows[1].key, value, in: \.log)
    let (key, row) = (rows[1].key, rows[1].value)
    let (keySpan, rowSpan) = (key.span, row.span)
    let damaged = try LogRow(rowSpan.bytes, under: keySpan.bytes).positions
    for position in 1...200 as ClosedRange<UInt64> {
      let found = code { _ = try store.read { try $0.entry(at: Position(rawValue: position)) } }
      #expect(found == (damaged.contains(Position(rawValue: position)) ? .damaged : nil), "\(position)")
    }
    let report = try store.verify()
    #expect(report.problems.contains { $0.kind == .log && $0.location == "\(damaged.lowerBound)" })
    for bit in stride(from: 3, to: rows[1].value.count * 8, by: 101) {
      value = rows[1].value
      value[bit / 8] ^= 1 << (bit % 8)
      try store.overwrite(rows[1].key, value, in: \.log)
      let report = try store.verify()
      #expect(report.problems.contains { $0.kind == .log }, "bit \(bit)")
    }
    try store.overwrite(rows[1].key, rows[1].value, in: \.log)
    try await checkSound(store)
  }

  @Test("whose last one is damaged get other rows after it, at the right positions")
  func damagedLast() async throws {
    let store = try await written(100)
    let last = try #require(try store.rows(\.log).last)
    var value = last.value
    value[20] ^= 1
    try store.overwrite(last.key, value, in: \.log)
    try await store.write { try $0.set("f", of: note("n"), to: 101) }
    let position = try store.lastPosition()
    #expect(position == Position(rawValue: 101))
    #expect(try store.read { try $0.value(of: "f", in: note("n")) } == 101)
  }

  @Test("continue after what another process has appended in between")
  func otherProcess() async throws {
    let store = try directory.store()
    // Another process has caches of its own.
    let writers = [TableStorage(tables: store.tables), TableStorage(tables: store.tables)]
    var appended = Appended(seed: 11)
    for _ in 0..<300 {
      let made = appended.next(appended.random.below(4) + 1)
      appended.add(made)
      let writer = writers[appended.random.chance(20) ? 1 : 0]
      writer.begin(try store.environment.beginWrite())
      for entry in made {
        let body = entry.body.span
        _ = try writer.log.append(entry.header, body: body.bytes)
      }
      try writer.commit(cachesAreRight: true)
    }
    try check(store, appended, "in turn")
    let rows = try store.rows(\.log).count
    #expect(rows * 3 < appended.entries.count)
  }

  @Test("are refused with a count or a sequence that they do not have, under the right checksum")
  func hostile() throws {
    var appended = Appended(seed: 3)
    let made = appended.next(3)
    var run = LogRun(startingWith: made[0].header)
    for entry in made {
      let body = entry.body.span
      run.append(entry.header, body: body.bytes)
    }
    var writer = ByteWriter()
    let position = Position(rawValue: 7)
    run.write(at: position, to: &writer)
    let sound = writer.bytes
    // Version, zone, replica, epoch, first sequence, incarnation, count.
    try #require(sound[6] == 3)
    func error(_ change: (inout [UInt8]) -> Void, at position: Position = position) -> FormatError? {
      var content = Array(sound.dropLast(4))
      change(&content)
      var row = ByteWriter()
      row.append(content)
      row.append(littleEndian: LogEntryCodec.checksum(of: content.span.bytes, at: position))
      do throws(FormatError) {
        _ = try DecodedRun(row.span, at: position)
        return nil
      } catch {
        return error
      }
    }
    #expect(error { _ in } == nil)
    #expect(error { $0[6] = 0 } != nil)
    #expect(error { $0[6] = 2 } != nil)
    #expect(error { $0[6] = 4 } != nil)
    #expect(error { $0.replaceSubrange(6...6, with: [0xff, 0xff, 0xff, 0xff, 0x7f]) } != nil)
    #expect(
      error { $0.replaceSubrange(4...4, with: [UInt8](repeating: 0xff, count: 9) + [1]) }?.code == .invalid)
    #expect(error({ _ in }, at: Position(rawValue: .max - 1))?.code == .invalid)
    for index in 1..<sound.count - 4 {
      for byte in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] { _ = error { $0[index] = byte } }
    }
  }

  @Test("name no sequences or positions beyond 64 bits")
  func hostileSequences() throws {
    let lane = Lane(zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0)
    func run(_ first: UInt64, _ position: UInt64, _ count: UInt64) -> SequenceRun? {
      var writer = ByteWriter()
      writer.append(varint: position)
      if count != 1 { writer.append(varint: count) }
      return try? SequenceRun(writer.span, under: TableKey.sequence(lane, first).span)
    }
    #expect(run(1, 1, 1)?.last == 1)
    #expect(run(5, 9, 3)?.position(of: 7) == Position(rawValue: 11))
    #expect(run(5, 9, 3)?.position(of: 8) == nil)
    #expect(run(5, 9, 0) == nil)
    #expect(run(.max, 1, 1) != nil && run(.max, 1, 2) == nil)
    #expect(run(1, .max, 1) == nil && run(1, .max - 1, 1) != nil && run(1, .max - 1, 2) == nil)
    #expect(run(2, 2, .max) == nil)
  }
}
