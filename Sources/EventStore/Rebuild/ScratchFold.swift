import LMDB
import OperationFormat

/// The records of a store at a position of its log, folded from the whole log into a scratch directory, which is
/// removed with this object. It keeps nothing: it is what a verification compares a store with, and the oracle of
/// ``StoreSnapshot``.
final class ScratchFold {
  private let environment: Environment
  private let tables: Tables
  private let directory: String
  private let identity: StoreIdentity
  private let interned = Interned()

  /// - Parameters:
  ///   - source: the store.
  ///   - position: the last position that counts.
  ///   - snapshots: those that zones begin with.
  ///   - scratchDirectory: where to fold; nil for where the system keeps such files.
  ///   - progress: called now and then with how many transactions are done, of how many.
  init(
    of source: borrowing ReadTransaction, through position: Position, _ snapshots: SnapshotFiles,
    in scratchDirectory: String?,
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    identity = source.identity
    directory = try SystemEnvironment.makeScratchDirectory(in: scratchDirectory)
    do {
      environment = try Environment(directory: directory, options: Environment.Options(sync: .none))
      let transaction = try environment.beginWrite()
      tables = try Tables(in: transaction, create: true)
      let places = LogReplay.places(source.tables, tables)
      for (from, to) in LogReplay.identities(source.tables, tables) + places {
        try LogReplay.copy(from, of: source, to: to, transaction)
      }
      for (zone, row) in try source.readView.zones.rows() where row.state != .none {
        try LogReplay.putEmptyState(row.state, of: zone, in: tables, transaction)
      }
      try transaction.commit()
    } catch {
      SystemEnvironment.removeScratchDirectory(directory)
      throw error
    }
    try fold(source, through: position, snapshots, progress)
  }

  deinit {
    environment.close()
    SystemEnvironment.removeScratchDirectory(directory)
  }

  /// Runs a closure that reads what was folded.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try body(
      ReadTransaction(try environment.beginRead(), tables: tables, interned: interned, identity: identity))
  }

  private func fold(
    _ source: borrowing ReadTransaction, through last: Position, _ snapshots: SnapshotFiles,
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    let store = StoreTransaction(
      storage: TableStorage(tables: tables), identity: identity, wallMilliseconds: { 0 }, makeRandom: { 0 })
    defer { store.abort() }
    try store.begin(try environment.beginWrite())
    try store.loadOrigins(of: source, snapshots) {
      try store.commit()
      try store.begin(try environment.beginWrite())
    }
    try store.commit()
    var done = Position.start
    while done < last {
      try store.begin(try environment.beginWrite())
      let replay = try LogReplay(store)
      var byteCount = 0
      while done < last, byteCount < LogReplay.stepBytesMax {
        byteCount += try replay.fold(source, at: done.next)
        done = done.next
      }
      try store.commit()
      try progress(done.rawValue, last.rawValue)
    }
  }
}
