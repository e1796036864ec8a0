import LMDB
import OperationFormat

/// A store's records as they were at a position of its log: folded from the log into a scratch directory,
/// which is removed with this object.
///
/// It answers the same queries about records, conflicts and digests as the store. Its log is empty: the log
/// is the store's. What the store has learnt since of the remote's receive times counts here too.
public final class PastStore: Sendable {
  /// The position of the last transaction that is folded in.
  public let position: Position

  let environment: Environment
  let tables: Tables
  private let directory: String
  private let identity: StoreIdentity
  private let interned = Interned()

  /// Folds the log of a snapshot up to a position.
  ///
  /// - Parameters:
  ///   - source: the snapshot.
  ///   - position: the last position that counts.
  ///   - scratchDirectory: where to fold; nil for where the system keeps such files.
  ///   - progress: called now and then with how many transactions are done, of how many.
  init(
    of source: borrowing ReadTransaction, through position: Position, in scratchDirectory: String?,
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    self.position = position
    identity = source.identity
    directory = try SystemEnvironment.makeScratchDirectory(in: scratchDirectory)
    do {
      environment = try Environment(directory: directory, options: Environment.Options(sync: .none))
      let transaction = try environment.beginWrite()
      tables = try Tables(in: transaction, create: true)
      try Self.copySyncState(from: source, to: tables, transaction)
      try transaction.commit()
    } catch {
      SystemEnvironment.removeScratchDirectory(directory)
      throw error
    }
    try fold(source, progress)
  }

  deinit {
    environment.close()
    SystemEnvironment.removeScratchDirectory(directory)
  }

  /// Runs a closure that reads the past.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      let transaction = ReadTransaction(
        try environment.beginRead(), tables: tables, interned: interned, identity: identity)
      return try body(transaction)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Copies what folding looks up: identities, places, policies. Zones keep their numbers and start empty.
  private static func copySyncState(
    from source: borrowing ReadTransaction, to tables: Tables, _ transaction: borrowing LMDBTransaction
  ) throws {
    let pairs = [
      (source.tables.zones, tables.zones), (source.tables.replicas, tables.replicas),
      (source.tables.incarnations, tables.incarnations), (source.tables.names, tables.names),
      (source.tables.segments, tables.segments), (source.tables.placements, tables.placements),
      (source.tables.meta, tables.meta),
    ]
    for (from, to) in pairs {
      var cursor = try source.transaction.openCursor(from)
      var isThere = try cursor.first()
      while isThere {
        try cursor.withEntry { key, value in try transaction.put(value, for: key, in: to, .append) }
        isThere = try cursor.next()
      }
    }
    for (number, _) in try source.readView.zones.allVisible() {
      guard let row = try source.readView.zoneRowIfThere(number) else { continue }
      var writer = ByteWriter()
      StateRow(zone: number, status: .live).append(to: &writer)
      let key = TableKey.state(row.state)
      try transaction.put(writer.span, for: key.span, in: tables.states)
    }
  }

  private func fold(
    _ source: borrowing ReadTransaction, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    let store = StoreTransaction(
      storage: TableStorage(tables: tables), identity: identity, wallMilliseconds: { 0 }, makeRandom: { 0 })
    defer { store.abort() }
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere = try cursor.first()
    var done: UInt64 = 0
    while isThere {
      try store.begin(try environment.beginWrite())
      let replay = try LogReplay(store)
      var byteCount = 0
      while isThere, byteCount < LogReplay.stepBytesMax {
        let row = try cursor.withEntry { key, row in try LogRow(row, under: key) }
        guard row.positions.lowerBound <= position else {
          isThere = false
          break
        }
        isThere = try cursor.next()
        guard row.kind != .removed else { continue }
        for at in row.positions.lowerBound.rawValue...min(row.positions.upperBound, position).rawValue {
          try source.readView.log.withEntry(at: Position(rawValue: at)) { header, body in
            let state = try store.storage.zoneRow(header.zone).state
            // Of a zone that is gone nothing is left to be seen.
            if state != .none { try replay.fold(header, body: body, into: state) }
            byteCount += body.byteCount
          }
          done += 1
        }
      }
      try store.commit()
      try progress(done, position.rawValue)
    }
  }
}

extension PastStore {
  /// The past of a store at a position of its log.
  static func of(
    _ core: StoreCore, at position: Position, progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws -> PastStore {
    try core.read { transaction in
      let last = try transaction.lastPosition()
      guard position <= last else {
        throw StoreError(
          .positionUnknown, "the log has no position \(position)", hint: "the last is \(last)")
      }
      return try PastStore(
        of: transaction, through: position, in: core.configuration.scratchDirectory, progress: progress)
    }
  }
}
