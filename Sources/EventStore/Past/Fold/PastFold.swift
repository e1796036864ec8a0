import LMDB
import OperationFormat

/// Folds the log of a store into the tables of its past, from the last position that they have up to one.
struct PastFold {
  private let past: PastTables
  private let core: StoreCore

  /// Between two marks are at most so many entries, and about so many rows of records that folding them reads, and bytes: they
  /// are folded when a position between is asked for.
  private static let (entriesMax, rowsMax, bytesMax) = (UInt64(512), UInt64(4096), UInt64(4 << 20))

  init(_ past: PastTables, _ core: StoreCore) { (self.past, self.core) = (past, core) }

  /// Folds up to a position, in steps: each is one commit, and reads the store for itself alone.
  func run(through position: Position, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void) throws {
    try StoreError.translating {
      var isDone = try core.read { try isFolded(through: position, $0) }
      while !isDone {
        let done = try step(through: position)
        try progress(done.rawValue, position.rawValue)
        isDone = done == position
      }
    }
  }

  /// Folds up to marks from which a position is near.
  ///
  /// - Parameter check: called between steps; what it throws ends the work.
  func runMarks(through position: Position, check: () throws -> Void) throws {
    try StoreError.translating {
      while try !core.read({ try isMarked(behind: position, $0) }), try step(through: position) < position {
        try check()
      }
    }
  }

  private func check(_ position: Position, _ source: borrowing ReadTransaction) throws {
    let last = try source.readView.log.lastPosition()
    guard position <= last else {
      throw StoreError(
        .positionUnknown, "the log has no position \(position)", hint: "the last is \(last)")
    }
    let begin = try source.readView.zones.historyBegin()
    guard position >= begin else {
      throw StoreError(
        .retired, "the store has no history before position \(begin): a zone begins with a snapshot there",
        hint: "ask for position \(begin) or a later one")
    }
  }

  private func isMarked(behind position: Position, _ source: borrowing ReadTransaction) throws -> Bool {
    try check(position, source)
    let transaction = try past.environment.beginRead()
    guard let last = try past.lastMark(through: Position(rawValue: .max), transaction) else { return false }
    return try last.position >= position && isCurrent(PastOrigin(source), source, transaction)
  }

  /// Whether nothing has to be done. It waits for no writer.
  private func isFolded(through position: Position, _ source: borrowing ReadTransaction) throws -> Bool {
    try check(position, source)
    guard let transaction = try past.beginRead(at: position) else { return false }
    let origin = try PastOrigin(source)
    return try isCurrent(origin, source, transaction) && past.origin(transaction)?.zones == origin.zones
  }

  /// Whether what was folded is what the log says now.
  private func isCurrent(
    _ origin: PastOrigin, _ source: borrowing ReadTransaction, _ transaction: borrowing LMDBTransaction
  ) throws -> Bool {
    guard let known = try past.origin(transaction), known.counts(for: origin),
      let last = try past.lastMark(through: Position(rawValue: .max), transaction)
    else { return false }
    // A power cut may have taken the end of the log, and other transactions have come.
    return try last.position == .start
      || last.position <= source.readView.log.lastPosition()
        && last.checksum == source.readView.checksum(at: last.position)
  }

  /// Folds a part, and returns up to where it is done.
  private func step(through position: Position) throws -> Position {
    try withStore { store, source in
      try check(position, source)
      let transaction = store.storage.transaction.alias()
      let origin = try PastOrigin(source)
      let isCurrent = try makeCurrent(origin, source, transaction)
      if isCurrent, try past.open(position, transaction) {
        // Zones came since.
        try copySyncState(of: source, origin, transaction)
        try store.commit()
        return position
      }
      let last = try past.lastMark(through: Position(rawValue: .max), transaction)?.position ?? .start
      let before = try past.lastMark(through: position, transaction)?.position ?? .start
      try copySyncState(of: source, origin, transaction)
      if !isCurrent { try loadOrigins(of: source, store) }
      transaction.version = before.rawValue
      var done = position
      if before < last {
        try past.beginBranch(position, from: before, transaction)
        try foldBranch(after: before, through: position, source, store)
      } else {
        done = try foldMarks(after: before, through: position, source, store)
      }
      try checkNames(source, transaction)
      try store.commit()
      return done
    }
  }

  /// Calls a closure with a branch of the past at a position, which is dropped again, to fold into it what comes next
  /// in another way.
  ///
  /// - Parameters:
  ///   - part: what of an operation is folded, by its kind and the name of its record.
  ///   - body: gets the fold and the store.
  func withDroppedBranch(
    through position: Position, taking part: (OperationKind, RawSpan) -> FoldedPart,
    _ body: (StoreTransaction, borrowing ReadTransaction) throws -> Void
  ) throws {
    try withStore { store, source in
      let transaction = store.storage.transaction.alias()
      let origin = try PastOrigin(source)
      let isCurrent = try makeCurrent(origin, source, transaction)
      let mark = try past.lastMark(through: position, transaction)?.position ?? .start
      try copySyncState(of: source, origin, transaction)
      if !isCurrent { try loadOrigins(of: source, store) }
      // One that no position has.
      (transaction.version, transaction.branch) = (mark.rawValue, .max)
      try withoutActuallyEscaping(part) { part in
        try foldBranch(after: mark, through: position, source, store, taking: part)
      }
      try body(store, source)
    }
  }

  /// Runs a closure in a write transaction of the past, which is dropped unless it is committed. The store is read from
  /// after its begin on: it is not older than what another one has folded.
  private func withStore<R>(
    _ body: (StoreTransaction, borrowing ReadTransaction) throws -> R
  ) throws -> R {
    let store = makeStore()
    defer { store.abort() }
    try store.begin(try past.environment.beginWrite())
    return try core.read { source in try body(store, source) }
  }

  /// While the log is folded again, it may have names that the store has not: those would get numbers here that others
  /// get there.
  private func checkNames(
    _ source: borrowing ReadTransaction, _ transaction: borrowing LMDBTransaction
  ) throws {
    let known = try source.transaction.statistics(of: source.tables.names).entries
    guard try transaction.statistics(of: past.tables.names).entries == known else {
      throw StoreError.foldingAgain("the past cannot be read")
    }
  }

  private func makeStore() -> StoreTransaction {
    StoreTransaction(
      storage: TableStorage(tables: past.tables), identity: core.identity, wallMilliseconds: { 0 },
      makeRandom: { 0 })
  }

  /// Begins again if what was folded is not what the log says now. Returns whether it is.
  private func makeCurrent(
    _ origin: PastOrigin, _ source: borrowing ReadTransaction, _ transaction: borrowing LMDBTransaction
  ) throws -> Bool {
    if try isCurrent(origin, source, transaction) { return true }
    try past.removeAll(transaction)
    try copyIndexes(of: source, transaction)
    try past.putMark(.start, 0, transaction)
    return false
  }

  private func foldBranch(
    after mark: Position, through position: Position, _ source: borrowing ReadTransaction,
    _ store: StoreTransaction, taking part: ((OperationKind, RawSpan) -> FoldedPart)? = nil
  ) throws {
    let replay = try LogReplay(store)
    if mark < position {
      for at in mark.next.rawValue...position.rawValue {
        try replay.fold(source, at: Position(rawValue: at), taking: part)
      }
    }
    try store.settle()
  }

  /// Folds up to some marks after the last one.
  private func foldMarks(
    after mark: Position, through position: Position, _ source: borrowing ReadTransaction,
    _ store: StoreTransaction
  ) throws -> Position {
    let replay = try LogReplay(store)
    var done = mark
    var (byteCount, entries) = (0, UInt64(16))
    while done < position, byteCount < LogReplay.stepBytesMax {
      let next = Position(rawValue: min(done.rawValue + entries, position.rawValue))
      store.storage.transaction.version = next.rawValue
      let (rowsBefore, bytesBefore) = (store.storage.touchedRows, byteCount)
      for at in done.next.rawValue...next.rawValue {
        byteCount += try replay.fold(source, at: Position(rawValue: at))
      }
      // What comes is of another version.
      try store.settle()
      try past.putMark(next, source.readView.checksum(at: next), store.storage.transaction)
      // As many entries as would have taken so many rows, and bytes.
      let rows = UInt64(max(1, store.storage.touchedRows - rowsBefore))
      let bytes = UInt64(max(1, byteCount - bytesBefore))
      let count = next.rawValue - done.rawValue
      let fitting = min(Self.rowsMax * count / rows, Self.bytesMax * count / bytes)
      entries = min(max(1, fitting), 2 * entries, Self.entriesMax)
      done = next
    }
    return done
  }

  // MARK: What folding looks up

  /// Loads the snapshots that zones begin with, for all positions.
  private func loadOrigins(of source: borrowing ReadTransaction, _ store: StoreTransaction) throws {
    store.storage.transaction.version = 0
    try store.loadOrigins(of: source, core.snapshots)
    try store.settle()
  }

  /// Copies identities, places and policies, as far as they may be others now. Zones keep their numbers and start
  /// empty.
  private func copySyncState(
    of source: borrowing ReadTransaction, _ origin: PastOrigin, _ transaction: borrowing LMDBTransaction
  ) throws {
    let known = try past.origin(transaction)
    var pairs = LogReplay.identities(source.tables, past.tables)
    if known?.others != origin.others { pairs += LogReplay.places(source.tables, past.tables) }
    for (from, to) in pairs {
      try transaction.removeAll(in: to)
      try LogReplay.copy(from, of: source, to: to, transaction)
    }
    transaction.version = 0
    for (zone, state) in origin.zones where known?.zones[zone] != state {
      try LogReplay.putEmptyState(state, of: zone, in: past.tables, transaction)
    }
    try past.setOrigin(origin, transaction)
  }

  private func copyIndexes(
    of source: borrowing ReadTransaction, _ transaction: borrowing LMDBTransaction
  ) throws {
    guard let table = past.tables.indexes else { return }
    transaction.version = 0
    for index in try source.readView.pastIndexes() {
      let key = IndexEntry.prefix(.none, index.number)
      var writer = ByteWriter()
      try index.append(to: &writer)
      writer.appendChecksum(under: key.span.bytes)
      try transaction.put(writer.span, for: key.span.bytes, in: table)
    }
  }
}

extension ReadView {
  /// What tells the transaction at a position from others; 0 if there is none.
  fileprivate func checksum(at position: Position) throws -> UInt64 {
    try log.withEntryUnlessRemoved(at: position) { header, body in
      var writer = ByteWriter()
      writer.append(varint: UInt64(header.zone.rawValue))
      writer.append(varint: UInt64(header.replica.rawValue))
      writer.append(varint: UInt64(header.epoch))
      writer.append(varint: header.sequence)
      return UInt64(crc32c(writer.span)) << 32 | UInt64(crc32c(body))
    } ?? 0
  }
}
