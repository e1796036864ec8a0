import LMDB
import OperationFormat

/// Records of a store, folded from its log into a scratch directory, which is removed with this object. It keeps nothing:
/// it is what a verification compares a store with, the oracle of ``StoreSnapshot``, and what a snapshot of a former offset
/// is written from.
final class ScratchFold {
  /// What is folded.
  enum Part {
    /// All zones, up to a position of the log.
    ///
    /// - Parameter compacts: whether floors count.
    case all(through: Position, compacts: Bool)
    /// One zone, and of each of its lanes the transactions up to a sequence.
    case zone(ZoneID, ZoneNumber, through: [Lane: UInt64])
  }

  private let environment: Environment
  private let tables: Tables
  private let directory: String
  private let identity: StoreIdentity
  private let interned = Interned()

  /// - Parameters:
  ///   - source: the store.
  ///   - part: what of it counts.
  ///   - snapshots: those that zones begin with.
  ///   - scratchDirectory: where to fold; nil for where the system keeps such files.
  ///   - progress: called now and then with how many transactions are done, of how many.
  init(
    of source: borrowing ReadTransaction, _ part: Part, _ snapshots: SnapshotFiles,
    in scratchDirectory: String?,
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    identity = source.identity
    directory = try SystemEnvironment.makeScratchDirectory(in: scratchDirectory)
    do {
      environment = try Environment(directory: directory, options: Environment.Options(sync: .none))
      let transaction = try environment.beginWrite()
      tables = try Tables(in: transaction, create: true)
      for (from, to) in LogReplay.identities(source.tables, tables) {
        try LogReplay.copy(from, of: source, to: to, transaction)
      }
      let zone: ZoneNumber? = if case .zone(_, let number, _) = part { number } else { nil }
      for (from, to) in LogReplay.places(source.tables, tables) {
        try LogReplay.copy(from, of: source, to: to, transaction, only: zone)
      }
      for (number, row) in try source.readView.zones.rows() where row.state != .none {
        guard zone == nil || zone == number else { continue }
        try LogReplay.putEmptyState(row.state, of: number, in: tables, transaction)
      }
      try transaction.commit()
    } catch {
      SystemEnvironment.removeScratchDirectory(directory)
      throw error
    }
    let store = StoreTransaction(
      storage: TableStorage(tables: tables), identity: identity, wallMilliseconds: { 0 }, makeRandom: { 0 })
    defer { store.abort() }
    switch part {
    case .all(let position, let compacts):
      try fold(source, through: position, compacts, into: store, snapshots, progress)
    case .zone(let zone, let number, let lanes):
      try fold(source, zone, number, through: lanes, into: store, snapshots, progress)
    }
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
    _ source: borrowing ReadTransaction, through last: Position, _ compacts: Bool,
    into store: StoreTransaction,
    _ snapshots: SnapshotFiles, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    try store.begin(try environment.beginWrite())
    try store.loadOrigins(of: source, snapshots) { try next(store) }
    let floors = compacts ? try floors(source.readView) { $0.position <= last } : [:]
    var isMore = true
    while isMore {
      let passes = compacts ? passes(over: source.readView, into: store, floors) : nil
      var done = Position.start
      while done < last {
        try next(store)
        let replay = try LogReplay(store)
        var byteCount = 0
        while done < last, byteCount < LogReplay.stepBytesMax {
          byteCount += try replay.fold(source, at: done.next, in: passes)
          done = done.next
        }
        try progress(done.rawValue, last.rawValue)
      }
      isMore = try passes?.end(at: last) ?? false
    }
    if compacts { try compact(store) }
    try store.commit()
  }

  /// Compacts all records.
  private func compact(_ store: StoreTransaction) throws {
    while try Compaction(store).step() { try next(store) }
  }

  private func fold(
    _ source: borrowing ReadTransaction, _ zone: ZoneID, _ number: ZoneNumber, through lanes: [Lane: UInt64],
    into store: StoreTransaction, _ snapshots: SnapshotFiles,
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws {
    try store.begin(try environment.beginWrite())
    try store.loadOrigins(of: source, snapshots, only: number) { try next(store) }
    let last = try source.lastPosition()
    let floors = try floors(of: number, source.readView) { $0.sequence <= lanes[$0.lane] ?? 0 }
    var isMore = true
    while isMore {
      let passes = passes(over: source.readView, into: store, floors)
      var replay = try LogReplay(store)
      var byteCount = 0
      try LogReader(source.readView).forEachPosition(after: .start, in: zone) { position in
        byteCount += try replay.fold(source, at: position, through: lanes, in: passes)
        guard byteCount >= LogReplay.stepBytesMax else { return true }
        byteCount = 0
        try next(store)
        replay = try LogReplay(store)
        try progress(position.rawValue, last.rawValue)
        return true
      }
      isMore = try passes.end(at: last)
    }
    try compact(store)
    try store.commit()
  }

  /// The floors of each zone whose transactions are folded. They are read from these, and not from the rows that say which
  /// floors count: so a verification finds out if those are wrong.
  ///
  /// - Parameter zone: nil for all zones.
  private func floors(
    of zone: ZoneNumber? = nil, _ source: ReadView, where isFolded: (LogFloors.Named) -> Bool
  ) throws -> [ZoneNumber: LogFloors] {
    var found: [ZoneNumber: LogFloors] = [:]
    for zone in try zone.map({ [$0] }) ?? source.zonesWithFloors() {
      guard let token = try source.zoneRowIfThere(zone)?.token else { continue }
      found[zone] = try source.logFloors(of: zone, token.incarnation, upTo: token.offset).filter(isFolded)
    }
    return found
  }

  private func passes(
    over source: ReadView, into store: StoreTransaction, _ floors: [ZoneNumber: LogFloors]
  ) -> FoldPasses {
    FoldPasses(
      of: source, in: store, into: { $0.state },
      nextFloor: { zone, _, floor in floors[zone]?.next(after: floor) })
  }

  /// Begins the next transaction of the scratch directory.
  private func next(_ store: StoreTransaction) throws {
    try store.commit()
    try store.begin(try environment.beginWrite())
  }
}
