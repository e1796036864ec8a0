import LMDB
import OperationFormat

/// Folds the log of a store into the tables of its past, from the last position that they have up to one.
struct PastFold {
  private let past: PastTables
  private let core: StoreCore

  /// The past can be read after so many entries at least, and so many bytes, one entry more or less: what lies
  /// between is folded when it is asked for.
  private static let (entriesMax, bytesMax) = (UInt64(512), 512 << 10)

  init(_ past: PastTables, _ core: StoreCore) { (self.past, self.core) = (past, core) }

  /// Folds up to a position, in steps: each is one commit, and reads the store for itself alone.
  func run(through position: Position, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void) throws {
    var isDone = try core.read { source in
      let last = try source.readView.log.lastPosition()
      guard position <= last else {
        throw StoreError(
          .positionUnknown, "the log has no position \(position)", hint: "the last is \(last)")
      }
      return try isFolded(through: position, source)
    }
    while !isDone {
      let done = try core.read { source in
        do {
          return try step(through: position, source)
        } catch {
          throw StoreError.translate(error)
        }
      }
      try progress(done.rawValue, position.rawValue)
      isDone = done == position
    }
  }

  /// Whether nothing has to be done. It waits for no writer.
  private func isFolded(through position: Position, _ source: borrowing ReadTransaction) throws -> Bool {
    guard let transaction = try past.beginRead(at: position) else { return false }
    return try isCurrent(PastOrigin(source), source, transaction)
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
  private func step(through position: Position, _ source: borrowing ReadTransaction) throws -> Position {
    let store = StoreTransaction(
      storage: TableStorage(tables: past.tables), identity: core.identity, wallMilliseconds: { 0 },
      makeRandom: { 0 })
    defer { store.abort() }
    let origin = try PastOrigin(source)
    let transaction = try past.environment.beginWrite()
    if try !isCurrent(origin, source, transaction) {
      try past.removeAll(transaction)
      try copyIndexes(of: source, transaction)
      try past.putMark(.start, 0, transaction)
    } else if try past.open(position, transaction) {
      return position
    }
    guard let last = try past.lastMark(through: Position(rawValue: .max), transaction)?.position,
      let before = try past.lastMark(through: position, transaction)?.position
    else { return .start }
    if before == position { return position }
    try copySyncState(of: source, origin, transaction)
    transaction.version = before.rawValue
    if before < last { try past.beginBranch(position, from: before, transaction) }
    try store.begin(transaction)
    let done =
      before < last
      ? try foldBranch(after: before, through: position, source, store)
      : try foldMarks(after: before, through: position, source, store)
    try store.commit()
    return done
  }

  private func foldBranch(
    after mark: Position, through position: Position, _ source: borrowing ReadTransaction, _ store: StoreTransaction
  ) throws -> Position {
    let replay = try LogReplay(store)
    for at in mark.next.rawValue...position.rawValue { _ = try replay.fold(source, at: Position(rawValue: at)) }
    try store.flush()
    return position
  }

  /// Folds up to some marks after the last one.
  private func foldMarks(
    after mark: Position, through position: Position, _ source: borrowing ReadTransaction, _ store: StoreTransaction
  ) throws -> Position {
    let replay = try LogReplay(store)
    var done = mark
    var (byteCount, entries) = (0, UInt64(16))
    while done < position, byteCount < LogReplay.stepBytesMax {
      let next = Position(rawValue: min(done.rawValue + entries, position.rawValue))
      store.storage.transaction.version = next.rawValue
      var bytes = 0
      for at in done.next.rawValue...next.rawValue { bytes += try replay.fold(source, at: Position(rawValue: at)) }
      // What comes is of another version.
      try store.flush()
      try store.storage.flush()
      store.fold.reset()
      try past.putMark(next, source.readView.checksum(at: next), store.storage.transaction)
      byteCount += bytes
      // As many entries as had about so many bytes.
      let fitting = UInt64(Self.bytesMax) * (next.rawValue - done.rawValue) / UInt64(max(bytes, 1))
      entries = min(max(1, fitting), 2 * entries, Self.entriesMax)
      done = next
    }
    return done
  }

  // MARK: What folding looks up

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

extension ReadTransaction {
  /// The last position whose transaction arrived by a time, if the clock was never set back; ``Position/start`` if
  /// none did.
  ///
  /// - Parameter milliseconds: since 1970.
  /// - Complexity: O(log n) in the transactions.
  public func lastPosition(arrivedBy milliseconds: Int64) throws -> Position {
    let reader = LogReader(view)
    var (low, high) = (UInt64(0), try view.log.lastPosition().rawValue)
    while low < high {
      let middle = low + (high - low + 1) / 2
      // What was removed arrived as the one before.
      let shown = try reader.lastPosition(before: Position(rawValue: middle).next)
      let isEarly = try shown.map { try reader.entry(at: $0).arrivedMilliseconds <= milliseconds } ?? true
      if isEarly { low = middle } else { high = middle - 1 }
    }
    return Position(rawValue: low)
  }
}
