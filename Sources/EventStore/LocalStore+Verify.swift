import LMDB
import OperationFormat

extension LocalStore {
  /// Checks the pages of the data file, every entry of the log with its CRC and its sequence, every cell against a
  /// fresh fold of the log, and every asset's file against its hash. It changes nothing.
  ///
  /// - Parameter progress: called now and then; what it throws ends the work.
  /// - Throws: ``StoreError`` `closed`, `full`, `system`; what `progress` throws. What is wrong with the store is
  ///   not thrown but reported.
  /// - Complexity: linear in the log, the records and the bytes of assets. It holds a snapshot while it works.
  public func verify(
    progress: (VerificationProgress) throws -> Void = { _ in }
  ) throws -> VerificationReport {
    try read { transaction in
      var report = VerificationReport()
      for problem in try environment.pageProblems(transaction.transaction.id, progress) {
        report.add(.page, "\(problem.page)", problem.kind.rawValue)
      }
      // On damaged pages nothing further can be read with trust.
      guard report.isSound else { return report }
      var verification = Verification(report: report, scratchDirectory: configuration.scratchDirectory)
      try verification.checkKeys(transaction)
      if verification.report.isSound { try verification.checkIdentities(transaction) }
      // Without keys and identities that can be read, nothing else can.
      guard verification.report.isSound else { return verification.report }
      verification.isFoldingAgain = try transaction.isFoldingAgain()
      try verification.checkLog(transaction, progress)
      try verification.checkPlacements(transaction)
      if verification.report.isSound { try verification.checkRecords(transaction, progress) }
      try verification.checkAssets(transaction, assets, progress)
      return verification.report
    }
  }

  /// Throws if a page of the data file is damaged: for work that reaches all of it, and would end the process there.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  package func checkAllPages() throws {
    try environment.checkPages()
    hasCheckedPages.value = true
  }

  /// Throws if a page that reading the log reaches is damaged; the records' may be.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  package func checkPagesOfLog() throws {
    let others: Set = ["records", "elements", "runs", "references", "states"]
    try environment.checkPages(of: Tables.names.filter { !others.contains($0) })
  }

  /// Throws if a page that reading records reaches is damaged; the log's may be.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  package func checkPagesOfRecords() throws {
    // The order of contributions is read from segments and their places.
    let others: Set = ["log", "sequences"]
    try environment.checkPages(of: Tables.names.filter { !others.contains($0) })
  }
}

extension Environment {
  /// Checks pages of the data file: those of some tables, or all.
  ///
  /// - Parameter transactionID: the state to check, held by a read transaction.
  func pageProblems(
    _ transactionID: UInt64, of tables: [String]? = nil,
    _ progress: (VerificationProgress) throws -> Void = { _ in }
  ) throws -> [PageProblem] {
    var failure: (any Error)?
    let problems = try withoutActuallyEscaping(progress) { progress in
      func check(_ transactionID: UInt64?) throws -> [PageProblem] {
        try PageCheck.check(
          directory: directory, transactionID: transactionID, tables: tables
        ) { done, total in
          guard failure == nil else { return }
          do {
            try progress(VerificationProgress(step: .pages, done: done, total: total))
          } catch {
            failure = error
          }
        }
      }
      do {
        return try check(transactionID)
      } catch let error as LMDBError where error.code == .badTransaction {
        // Others have committed twice since the snapshot was taken: the newest state has its pages too.
        return try check(nil)
      }
    }
    if let failure { throw failure }
    return problems
  }

  /// Throws if a page of some tables, or of any, is damaged: LMDB would end the process there.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  func checkPages(of tables: [String]? = nil) throws {
    do {
      let reader = try beginRead()
      let problem = try pageProblems(reader.id, of: tables).first
      reader.abort()
      guard let problem else { return }
      throw StoreError(.damaged, "the data file is damaged: \(problem)", hint: StoreError.damageHint)
    } catch {
      throw StoreError.translate(error)
    }
  }
}

/// The steps of a verification.
struct Verification {
  var report: VerificationReport
  /// Where to fold the log anew.
  let scratchDirectory: String?
  /// How many rows the comparison has looked at, of how many in all its tables.
  var compared: (done: UInt64, total: UInt64) = (0, 0)
  /// What the log's transactions name, counted by ``checkLog(_:_:)``.
  var assetNames: [AssetName: UInt64] = [:]
  /// The zones of states, as far as they are known.
  var zoneOfState: [UInt32: ZoneID] = [:]
  /// Whether records, and what counts assets, are behind the log.
  var isFoldingAgain = false

  init(report: VerificationReport, scratchDirectory: String?) {
    self.report = report
    self.scratchDirectory = scratchDirectory
  }

  /// Every position is there, every entry can be read, and every sequence follows the one before and is named.
  mutating func checkLog(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    let last = try Self.lastKey(source)
    var knownZones: Set<ZoneNumber> = []
    var lastSequences: [Lane: UInt64] = [:]
    var seen = SeenOffsets()
    var layout = BodyDecoder()
    var expected: Position?
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere = try cursor.first()
    while isThere {
      let position = try cursor.withEntry { key, _ in
        key.byteCount == 8 ? Position(rawValue: try key.bigEndian64(at: 0)) : nil
      }
      guard let position else {
        report.add(.log, "key", "a key of the log is not a position")
        isThere = try cursor.next()
        continue
      }
      if let expected, position != expected {
        report.add(.log, "\(expected)", "the log goes on at \(position)")
      }
      expected = position.next
      do {
        let run = try cursor.withEntry { try LogEntryCodec.removedRun($1, at: position) }
        if let run {
          expected = run.upperBound.next
          isThere = try cursor.next()
          continue
        }
        try source.readView.log.withEntry(at: position) { header, body in
          try layout.parse(body)
          try countAssets(of: layout.operations, body, header.zone)
          if !knownZones.contains(header.zone) {
            knownZones.insert(header.zone)
            let key = TableKey.zoneRow(header.zone)
            if try !source.transaction.contains(key.span, in: source.tables.zones) {
              report.add(.log, "\(position)", "its zone, number \(header.zone.rawValue), has no row")
            }
          }
          _ = try source.readView.log.header(header)
          let lane = Lane(zone: header.zone, replica: header.replica, epoch: header.epoch)
          if let before = lastSequences[lane], header.sequence != before + 1 {
            report.add(.sequence, "\(position)", "sequence \(header.sequence) follows \(before)")
          }
          lastSequences[lane] = header.sequence
          if let problem = try seen.problem(of: header, source) {
            report.add(.sequence, "\(position)", problem)
          }
          let named = try source.readView.log.position(
            of: header.replica, header.epoch, header.sequence, in: header.zone)
          if named != position {
            report.add(
              .sequence, "\(position)",
              "sequence \(header.sequence) is named at \(named.map { "\($0)" } ?? "no position")")
          }
        }
      } catch {
        report.add(.log, "\(position)", Self.text(error))
      }
      report.transactions += 1
      if report.transactions % 4096 == 0 {
        try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
      }
      isThere = try cursor.next()
    }
    let named = try source.transaction.statistics(of: source.tables.sequences).entries
    if named != report.transactions {
      report.add(.sequence, "count", "\(named) sequences name \(report.transactions) transactions")
    }
    try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
  }

  /// The greatest position that a row of the log has.
  private static func lastKey(_ source: borrowing ReadTransaction) throws -> Position {
    var cursor = try source.transaction.openCursor(source.tables.log)
    guard try cursor.last() else { return .start }
    return cursor.withEntry { key, _ in
      key.byteCount == 8
        ? Position(rawValue: UInt64(bigEndian: key.unsafeLoadUnaligned(as: UInt64.self))) : .start
    }
  }

  /// Records, elements and references are what a fresh fold makes, byte for byte; lists and texts say the same.
  mutating func checkRecords(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    var (all, live): (Set<UInt32>, Set<UInt32>) = ([], [])
    for (number, zone) in try source.readView.zones.allVisible() {
      guard let row = try source.readView.zoneRowIfThere(number) else { continue }
      all.insert(row.state.rawValue)
      zoneOfState[row.state.rawValue] = zone
      // Without their places a fresh fold does not know what transactions had seen.
      let isBehind = try isFoldingAgain || source.readView.lanes.rereading(of: number) != nil
      if !isBehind { live.insert(row.state.rawValue) }
    }
    report.comparesRecords = live == all
    if live.isEmpty { return try checkParts(source, all) }
    let last = try source.lastPosition()
    let fresh = try PastStore(of: source, through: last, in: scratchDirectory) { done, total in
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
      try checkSequences(source, fresh, live, progress)
      try checkParts(source, all)
    }
  }

  private mutating func compare(
    _ what: String, _ source: borrowing ReadTransaction, _ table: Table, _ fresh: borrowing ReadTransaction,
    _ freshTable: Table, _ live: Set<UInt32>, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    var found = try RowWalk(source.transaction.openCursor(table), live, isElements: what == "element")
    var made = try RowWalk(fresh.transaction.openCursor(freshTable), live, isElements: what == "element")
    while let key = Self.least(found.key, made.key) {
      if found.key != key {
        report.add(.record, location(key, what), "the \(what) is missing")
        try made.advance()
      } else if made.key != key {
        report.add(.record, location(key, what), "the \(what) is not in the log")
        try found.advance()
      } else {
        let isSame =
          found.value == made.value && !(what == "record" && Self.isInParts(found.value))
          || what == "record" && Self.isSame(found.value, source, made.value, fresh, key)
          || what == "state" && Self.comparable(state: found.value) == Self.comparable(state: made.value)
        if !isSame { report.add(.record, location(key, what), "the \(what) differs from the log") }
        try found.advance()
        try made.advance()
      }
      report.rows += 1
      try didCompare(progress)
    }
  }

  private static func isInParts(_ row: [UInt8]) -> Bool {
    WideRow.isBase(row.span.bytes) || DividedRow.isBase(row.span.bytes)
  }

  /// Whether two rows of one record say the same. How a large one lies in parts depends on when it grew.
  private static func isSame(
    _ row: [UInt8], _ source: borrowing ReadTransaction, _ other: [UInt8], _ fresh: borrowing ReadTransaction,
    _ key: [UInt8]
  ) -> Bool {
    do {
      let state = StateNumber(rawValue: try key.span.bytes.bigEndian32(at: 0))
      let whole = try source.readView.withWhole(row.span.bytes, state) { $0.bytes }
      let made = try fresh.readView.withWhole(other.span.bytes, state) { $0.bytes }
      return comparable(whole) == comparable(made)
    } catch {
      return false
    }
  }

  /// Counts a row that was compared. Rows that only a fresh fold has are more than the total.
  mutating func didCompare(_ progress: (VerificationProgress) throws -> Void) throws {
    compared.done += 1
    guard compared.done % 4096 == 0 else { return }
    let done = min(compared.done, compared.total)
    try progress(VerificationProgress(step: .compare, done: done, total: compared.total))
  }

  /// What is wrong, without advice: whoever shows the report gives it.
  static func text(_ error: any Error) -> String {
    let error = StoreError.translate(error)
    return (error as? StoreError)?.message ?? "\(error)"
  }

  /// A state's row without what depends on how its log was folded: which timestamps came late.
  private static func comparable(state row: [UInt8]) -> StateRow? {
    do {
      var state = try StateRow(row.span.bytes)
      state.retimings = 0
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
  func location(ofRecord name: some Collection<UInt8>, in state: UInt32) -> String {
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
