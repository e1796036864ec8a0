import LMDB
import OperationFormat

/// Verifies records, elements and references: each is what a fresh fold of the log makes.
struct RecordVerification {
  private(set) var report: VerificationReport
  /// Those that zones begin with.
  private let snapshots: SnapshotFiles
  /// Where to fold the log again.
  private let scratchDirectory: String?
  /// Whether records are behind the log.
  private let isFoldingAgain: Bool
  /// How many rows the comparison has looked at, of how many in all its tables.
  private var compared: (done: UInt64, total: UInt64) = (0, 0)
  /// Counters of which rows differ: an earlier program gave each addend a row.
  private var counters: Set<CellAddress> = []
  /// The zones of states, as far as they are known.
  private var zoneOfState: [UInt32: ZoneID] = [:]

  init(
    _ report: VerificationReport, _ snapshots: SnapshotFiles, scratchDirectory: String?, isFoldingAgain: Bool
  ) {
    self.snapshots = snapshots
    self.report = report
    self.scratchDirectory = scratchDirectory
    self.isFoldingAgain = isFoldingAgain
  }

  /// Records, elements and references are what a fresh fold makes, byte for byte; lists and texts say the
  /// same.
  mutating func check(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    var (all, live): (Set<UInt32>, Set<UInt32>) = ([], [])
    for (number, zone) in try source.readView.zones.allVisible() {
      guard let row = try source.readView.zoneRowIfThere(number) else { continue }
      all.insert(row.state.rawValue)
      zoneOfState[row.state.rawValue] = zone
      // Without their places a fresh fold does not know what transactions had seen.
      let isBehind =
        try isFoldingAgain || source.readView.lanes.rereading(of: number) != nil
        || !(source.readView.states.storedRowIfThere(of: row.state)?.floor?.isDone ?? true)
      if !isBehind { live.insert(row.state.rawValue) }
    }
    report.comparesRecords = live == all
    if live.isEmpty { return try checkParts(source, all) }
    let last = try source.lastPosition()
    let fresh = try ScratchFold(
      of: source, .all(through: last, compacts: true), snapshots, in: scratchDirectory
    ) {
      done, total in
      try progress(VerificationProgress(step: .fold, done: done, total: total))
    }
    let tables = source.tables
    // The records are walked once more for their lists and texts.
    for table in [tables.states, tables.records, tables.elements, tables.references, tables.records] {
      compared.total += UInt64(try source.transaction.statistics(of: table).entries)
    }
    try fresh.read { fresh in
      try compare("state", source, source.tables.states, fresh, fresh.tables.states, live, progress)
      try compare("record", source, source.tables.records, fresh, fresh.tables.records, live, progress)
      try compare("element", source, source.tables.elements, fresh, fresh.tables.elements, live, progress)
      try compare(
        "reference", source, source.tables.references, fresh, fresh.tables.references, live, progress)
      try checkCounters(source, fresh)
      try checkUnits(source, fresh, live, progress)
      try checkParts(source, all)
    }
  }

  private mutating func checkParts(_ source: borrowing ReadTransaction, _ states: Set<UInt32>) throws {
    var parts = PartVerification(report)
    try parts.check(source, states)
    report = parts.report
  }

  private mutating func compare(
    _ what: String, _ source: borrowing ReadTransaction, _ table: Table, _ fresh: borrowing ReadTransaction,
    _ freshTable: Table, _ live: Set<UInt32>, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    var found = try RowWalk(source.transaction.openCursor(table), live, isElements: what == "element")
    var made = try RowWalk(fresh.transaction.openCursor(freshTable), live, isElements: what == "element")
    while let key = Self.least(found.key, made.key) {
      let addends = what == "element" ? try ElementKey(bytes: key).addends : nil
      if found.key != key {
        report(addends, key, what, "the \(what) is missing")
        try made.advance()
      } else if made.key != key {
        report(addends, key, what, "the \(what) is not in the log")
        try found.advance()
      } else {
        let isSame =
          found.value == made.value && !(what == "record" && Self.isInParts(found.value))
          || what == "record" && Self.isSame(found.value, source, made.value, fresh, key)
          || what == "state" && Self.comparable(state: found.value) == Self.comparable(state: made.value)
        if !isSame { report(addends, key, what, "the \(what) differs from the log") }
        try found.advance()
        try made.advance()
      }
      report.rows += 1
      try didCompare(progress)
    }
  }

  /// Notes what is wrong with a row; of addends all are compared later.
  private mutating func report(_ addends: CellAddress?, _ key: [UInt8], _ what: String, _ problem: String) {
    if let addends {
      counters.insert(addends)
    } else {
      report.add(.record, location(key, what), problem)
    }
  }

  /// The addends of counters whose rows differ are the same, each in one of the rows where it may be.
  private mutating func checkCounters(
    _ source: borrowing ReadTransaction, _ fresh: borrowing ReadTransaction
  ) throws {
    for cell in counters.sorted(by: { $0.heads < $1.heads }) {
      func heads(_ transaction: borrowing ReadTransaction) throws -> [OwnedHead] {
        var heads: [OwnedHead] = []
        try transaction.readView.forEachElement(under: cell.heads) { key, row in
          let key = ElementKey(bytes: key.bytes)
          let found = try ApartRow(row).heads
          guard found.allSatisfy({ cell.keys($0.head.id).contains(key) }) else {
            throw FormatError(
              .damaged, at: 0, in: "element", expected: "addends that belong into their row", found: "others")
          }
          heads += found
        }
        return heads.sorted { $0.head.id < $1.head.id }
      }
      do {
        if try heads(source) == heads(fresh) { continue }
        report.add(.record, location(cell.heads.bytes, "element"), "the addends differ from the log")
      } catch let error as FormatError {
        report.add(.record, location(cell.heads.bytes, "element"), Verification.text(error))
      }
    }
  }

  private static func isInParts(_ row: [UInt8]) -> Bool {
    let row = StoredRow(row.span.bytes)
    return row.isWideBase || row.isDividedBase
  }

  /// A row as a version would have folded it that did not note the creation, if another row does not have it.
  private static func row(_ made: [UInt8], asIfFoldedLike row: [UInt8]) throws -> [UInt8] {
    guard try RecordRow.place(of: .creation, in: row.span.bytes).body.isEmpty else { return made }
    var made = made
    made.removeSubrange(try RecordRow.place(of: .creation, in: made.span.bytes).entry)
    return made
  }

  /// Whether two rows of one record say the same. How a large one is divided into parts depends on when it
  /// grew, and its version on when it was written last.
  private static func isSame(
    _ row: [UInt8], _ source: borrowing ReadTransaction, _ other: [UInt8], _ fresh: borrowing ReadTransaction,
    _ key: [UInt8]
  ) -> Bool {
    do {
      let state = StateNumber(rawValue: try key.span.bytes.bigEndian32(at: 0))
      guard try StoredRow(row.span.bytes).isShortest() else { return false }
      let whole = try source.readView.unpackedRow(StoredRow(row.span.bytes), state)
      let made = try fresh.readView.unpackedRow(StoredRow(other.span.bytes), state)
      return try UnitComparison.comparable(whole)
        == UnitComparison.comparable(Self.row(made, asIfFoldedLike: whole))
    } catch {
      return false
    }
  }

  /// Each list and text is what a fresh fold makes, and its rows fit each other.
  private mutating func checkUnits(
    _ source: borrowing ReadTransaction, _ fresh: borrowing ReadTransaction, _ live: Set<UInt32>,
    _ progress: (VerificationProgress) throws -> Void
  ) throws {
    for state in live.sorted() {
      let state = StateNumber(rawValue: state)
      try source.readView.forEachStoredRow(in: state, after: nil) { name, row in
        // What cannot be read was reported when rows were compared.
        if let row = try? source.readView.unpackedRow(row, state),
          let found = try? UnitComparison.problems(in: row.span.bytes, of: name, state, source, fresh)
        {
          for (cell, problem) in found {
            let record = location(ofRecord: name.bytes, in: state.rawValue)
            report.add(.record, "\(record), cell \(cell.rawValue)", problem)
          }
        }
        try didCompare(progress)
        return true
      }
    }
  }

  /// Counts a row that was compared. Rows that only a fresh fold has are more than the total.
  private mutating func didCompare(_ progress: (VerificationProgress) throws -> Void) throws {
    compared.done += 1
    guard compared.done % 4096 == 0 else { return }
    let done = min(compared.done, compared.total)
    try progress(VerificationProgress(step: .compare, done: done, total: compared.total))
  }

  /// A state's row without what depends on how its log was folded: which timestamps came late.
  private static func comparable(state row: [UInt8]) -> StateRow? {
    do {
      var state = try StateRow(row.span.bytes)
      state.retimings = 0
      state.foldedThrough = nil
      return state
    } catch {
      return nil
    }
  }

  private static func least(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
    guard let left, let right else { return left ?? right }
    return right.lexicographicallyPrecedes(left) ? right : left
  }

  private func location(_ key: [UInt8], _ what: String) -> String {
    let state = key.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    let rest = key.dropFirst(4)
    return what == "record" ? location(ofRecord: rest, in: state) : "\(location(of: state)) \(Array(rest))"
  }

  /// A record as it is named elsewhere, if the zone of its state is known.
  private func location(ofRecord name: some Collection<UInt8>, in state: UInt32) -> String {
    let name = String(decoding: name, as: UTF8.self)
    guard let zone = zoneOfState[state] else { return "\(location(of: state)) \(name)" }
    return RecordID(zone: zone, name: Name(name)).description
  }

  private func location(of state: UInt32) -> String {
    zoneOfState[state]?.description ?? "state \(state)"
  }
}

/// Walks the rows of a table whose keys begin with one of some states.
private struct RowWalk: ~Copyable {
  private(set) var key: [UInt8]?
  private(set) var value: [UInt8] = []
  private var cursor: Cursor
  private let states: Set<UInt32>
  private let isElements: Bool

  /// - Parameter isElements: whether it passes over elements that depend on how the log was folded.
  init(_ cursor: consuming Cursor, _ states: Set<UInt32>, isElements: Bool) throws {
    self.cursor = cursor
    self.states = states
    self.isElements = isElements
    try settle(try self.cursor.first())
  }

  mutating func advance() throws { try settle(try cursor.next()) }

  private mutating func settle(_ isThere: Bool) throws {
    var isThere = isThere
    while isThere {
      let row = cursor.withEntry { key, value in (key.bytes, value.bytes) }
      let element = isElements ? ElementKey(bytes: row.0) : nil
      let isPassed = element.map { $0.isOfRow || $0.isOfApartIndex } ?? false
      if !isPassed, row.0.count >= 4, states.contains(row.0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }) {
        (key, value) = row
        return
      }
      isThere = try cursor.next()
    }
    key = nil
  }
}
