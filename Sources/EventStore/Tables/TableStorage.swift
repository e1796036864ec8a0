import LMDB
import OperationFormat

/// One LMDB write transaction with caches of the rows that it read: where the fold and the log write.
///
/// One thread at a time uses it. The caches are dropped at each `begin`, unless the last commit left them
/// right and no process has written since, and when a transaction is undone. The rows of lanes, zones,
/// segments and so on are read and written through its views: see ``TableReading``.
final class TableStorage {
  let tables: Tables
  let interned = Interned()
  let logCache = LogCache()
  /// Makes what keeps the indexes, where records are folded.
  var makeIndexUpkeep: ((TableStorage, [StoredIndex]) throws -> any RecordUpkeep)?
  /// What the transaction has changed; nil if nobody observes its commit.
  @exclusivity(unchecked) var changeNotes: ChangeNotes?
  /// Whether a write of the app has changed something that its entries of the log do not tell.
  @exclusivity(unchecked) var changesBeyondLog = false
  // No access to a field meets another access to the same field. Dynamic checks of that took a twentieth of a
  // small commit.
  @exclusivity(unchecked) var state = State()

  struct State: ~Copyable {
    fileprivate var outer: LMDBTransaction?
    fileprivate var inner: LMDBTransaction?
    /// What was interned before each of the open transactions, to go back to.
    fileprivate var outerNumbers: Interned.Caches?
    fileprivate var innerNumbers: Interned.Caches?
    /// Lent to what writes a row, so that no row that is written allocates.
    fileprivate var writer = ByteWriter()
    /// The transaction whose commit left the caches right; nil if none did.
    fileprivate var cachedTransaction: UInt64?
    fileprivate var changedZones: Set<ZoneNumber> = []
    fileprivate var changedStates: Set<StateNumber> = []
    var caches = Caches()
    /// The kinds of operations that the log has and nobody has folded, cached.
    var unfoldedKinds: Set<OperationKind>?
    /// Changes with whatever is known of zones: their rows, placements, parents and last sequences.
    var zonesVersion = 0
    /// Rows of records that were read, and of what belongs to them, since the storage was made: what a fold
    /// really took.
    var touchedRows = 0
    /// What the last look back over a log has found.
    var lookBack: LookBack?
    /// What keeps the indexes, once it was asked for: nil in it if there are none.
    fileprivate var indexUpkeep: (any RecordUpkeep)??
    /// The run of placed sequences that was found last.
    var lastPlacement: CachedPlacement?
    /// The last row of the log; nil if it is to be read.
    fileprivate var lastRow: LastLogRow?
    /// The body of its last entry, if that may share a row.
    fileprivate var lastBody = ByteWriter()
  }

  /// Rows that the transaction has read or written.
  struct Caches {
    var zoneRows: [ZoneNumber: ZoneRow] = [:]
    var stateRows: [StateNumber: StateRow] = [:]
    var lastSequences: [Lane: SequenceRun?] = [:]
    /// Of lanes, up to which sequence a snapshot has them.
    var retired: [Lane: UInt64] = [:]
    /// Of a lane, what one transaction had seen: the one that was asked for or appended last.
    var bases: [Lane: (sequence: UInt64, base: BaseNumbers?)] = [:]
    var lineages: [Lane: [LaneParent]] = [:]
    /// Whether any transaction of a zone has a limit.
    var limits: [ZoneNumber: Bool] = [:]
    var lastPosition: Position?
    var policies: [NameNumber: ExistencePolicy]?

    mutating func removeAll() {
      zoneRows.removeAll(keepingCapacity: true)
      stateRows.removeAll(keepingCapacity: true)
      lastSequences.removeAll(keepingCapacity: true)
      retired.removeAll(keepingCapacity: true)
      bases.removeAll(keepingCapacity: true)
      lineages.removeAll(keepingCapacity: true)
      limits.removeAll(keepingCapacity: true)
      lastPosition = nil
      policies = nil
    }
  }

  init(tables: Tables) { self.tables = tables }

  /// Changes with whatever is known of zones: their rows, placements, parents and last sequences.
  var zonesVersion: Int { state.zonesVersion }
  /// Rows of records that were read, and of what belongs to them, since the storage was made: what a fold
  /// really took.
  var touchedRows: Int { state.touchedRows }

  /// What keeps the indexes; nil if there are none.
  func indexUpkeep() throws -> (any RecordUpkeep)? {
    if let known = state.indexUpkeep { return known }
    let indexes = try self.indexes.all()
    let upkeep = indexes.isEmpty ? nil : try makeIndexUpkeep?(self, indexes)
    state.indexUpkeep = .some(upkeep)
    return upkeep
  }

  /// Notes that the same rows may show something else than before, or that queries may read by other indexes: what was read
  /// tells nothing any more. The log does not tell it either.
  func noteOtherView() {
    changesBeyondLog = true
    changeNotes?.noteAll()
  }

  /// Drops what is known of indexes, before they change. Nothing may have changed that they do not have.
  func forgetIndexes() {
    assert(state.indexUpkeep??.isEmpty ?? true)
    state.indexUpkeep = nil
  }

  /// Writes what has changed in the indexes. The fold must have written its row before.
  func flushIndexes() throws { try state.indexUpkeep??.flush() }

  /// Counts rows that were read of tables other than those of records.
  func note(touchedRows count: Int) { state.touchedRows += count }

  /// The last row of the log; nil if it is to be read.
  var lastRow: LastLogRow? {
    _read { yield state.lastRow }
    _modify { yield &state.lastRow }
  }

  /// The body of its last entry, if that may share a row.
  var lastBody: ByteWriter {
    _read { yield state.lastBody }
    _modify { yield &state.lastBody }
  }

  // MARK: The transaction

  var transaction: LMDBTransaction {
    _read { if state.inner != nil { yield state.inner! } else { yield state.outer! } }
  }

  /// - Returns: whether nobody has written since the last commit, and that one left the caches right.
  @discardableResult
  func begin(_ transaction: consuming LMDBTransaction) -> Bool {
    precondition(state.outer == nil, "a write transaction is open")
    // Each commit that changes anything takes the next id, whichever process makes it.
    let isUnchanged = state.cachedTransaction.map { $0 + 1 == transaction.id } ?? false
    state.outer = consume transaction
    changesBeyondLog = false
    if state.outerNumbers?.changeCount != interned.changeCount { state.outerNumbers = interned.caches }
    state.cachedTransaction = nil
    if !isUnchanged { forget() }
    return isUnchanged
  }

  func beginNested() throws {
    precondition(state.inner == nil, "a nested transaction is open")
    if state.innerNumbers?.changeCount != interned.changeCount { state.innerNumbers = interned.caches }
    try flush()
    state.inner = state.outer!.beginNested()
    changeNotes?.beginNested()
  }

  func commitNested() throws {
    try flush()
    try state.inner.take()?.commit()
    changeNotes?.commitNested()
  }

  /// Whether a nested transaction is open.
  var isNested: Bool { state.inner != nil }

  /// Ends a nested transaction that has written nothing: what comes is written without one.
  func dropUntouchedNested() throws {
    state.indexUpkeep??.dropViews()
    if state.inner?.isUntouched == true {
      try state.inner.take()?.commit()
      changeNotes?.commitNested()
    }
  }

  func abortNested() {
    // A commit that failed has ended it already.
    state.inner.take()?.abort()
    changeNotes?.abortNested()
    undo(to: state.innerNumbers)
  }

  /// - Parameter cachesAreRight: whether what is cached is what is committed, which must have changed
  ///   something.
  func commit(cachesAreRight: Bool = false) throws {
    try flush()
    let id = transaction.id
    try state.outer.take()!.commit()
    if cachesAreRight { state.cachedTransaction = id }
  }

  func abort() {
    state.inner.take()?.abort()
    state.outer.take()?.abort()
    // Also after a commit that failed: the numbers that it gave out are not in the store.
    undo(to: state.outerNumbers)
  }

  private func forget() {
    state.zonesVersion += 1
    state.caches.removeAll()
    state.changedZones.removeAll(keepingCapacity: true)
    state.changedStates.removeAll(keepingCapacity: true)
    state.unfoldedKinds = nil
    state.lastPlacement = nil
    state.lookBack = nil
    state.indexUpkeep = nil
    forgetRows()
  }

  private func undo(to numbers: Interned.Caches?) {
    if let numbers { interned.caches = numbers }
    state.cachedTransaction = nil
    forget()
  }

  // MARK: Writing rows

  /// Lends the writer's buffer, empty.
  func withWriter<R>(_ body: (inout ByteWriter) throws -> R) rethrows -> R {
    var lent = ByteWriter()
    swap(&lent, &state.writer)
    defer { swap(&lent, &state.writer) }
    lent.removeAll()
    return try body(&lent)
  }

  func put(_ key: TableKey, in table: Table, _ append: (inout ByteWriter) -> Void) throws {
    try withWriter { writer in
      append(&writer)
      try transaction.put(writer.span, for: key.span, in: table)
    }
  }

  /// As ``put(_:in:_:)``, with the checksum that rows of sync state end with.
  func putChecked(_ key: TableKey, in table: Table, _ append: (inout ByteWriter) -> Void) throws {
    try put(key, in: table) { writer in
      append(&writer)
      writer.appendChecksum(under: key.span)
    }
  }

  /// Writes the zone and state rows that changed.
  func flush() throws {
    if state.changedZones.isEmpty && state.changedStates.isEmpty { return }
    for zone in state.changedZones.sorted() {
      guard let row = state.caches.zoneRows[zone] else { continue }
      try putChecked(.zoneRow(zone), in: tables.zones) { row.append(to: &$0) }
    }
    state.changedZones.removeAll(keepingCapacity: true)
    for number in state.changedStates.sorted() {
      guard let row = state.caches.stateRows[number] else { continue }
      try put(.state(number), in: tables.states) { row.append(to: &$0) }
    }
    state.changedStates.removeAll(keepingCapacity: true)
  }

  // MARK: Rows of zones and states

  func zoneRow(_ zone: ZoneNumber) throws -> ZoneRow {
    if let row = try zoneRowIfThere(zone) { return row }
    throw StoreError(
      .damaged, "zone number \(zone.rawValue) has no row", hint: "run a verification of the store")
  }

  func zoneRowIfThere(_ zone: ZoneNumber) throws -> ZoneRow? {
    if let row = state.caches.zoneRows[zone] { return row }
    guard let row = try zones.storedRow(of: zone) else { return nil }
    state.caches.zoneRows[zone] = row
    return row
  }

  func setZoneRow(_ row: ZoneRow, _ zone: ZoneNumber) {
    changeNotes?.note(zone, was: state.caches.zoneRows[zone] ?? (try? zones.storedRow(of: zone)) ?? nil)
    state.caches.zoneRows[zone] = row
    state.changedZones.insert(zone)
    state.zonesVersion += 1
  }

  /// Writes changed rows, and removes a zone's row.
  func removeZoneRow(_ zone: ZoneNumber) throws {
    try flush()
    if let changeNotes { changeNotes.note(zone, was: try zoneRowIfThere(zone)) }
    state.caches.zoneRows[zone] = nil
    state.zonesVersion += 1
    let key = TableKey.zoneRow(zone)
    _ = try transaction.delete(key.span, in: tables.zones)
  }

  func stateRow(_ number: StateNumber) throws -> StateRow {
    if let row = state.caches.stateRows[number] { return row }
    let row = try states.storedRow(of: number)
    state.caches.stateRows[number] = row
    return row
  }

  func setStateRow(_ row: StateRow, _ number: StateNumber) {
    state.caches.stateRows[number] = row
    state.changedStates.insert(number)
  }

  func removeStateRow(_ number: StateNumber) throws {
    state.caches.stateRows[number] = nil
    state.changedStates.remove(number)
    let key = TableKey.state(number)
    _ = try transaction.delete(key.span, in: tables.states)
  }

  func policies() throws -> [NameNumber: ExistencePolicy] {
    if let policies = state.caches.policies { return policies }
    let policies = try meta.policies()
    state.caches.policies = policies
    return policies
  }

  func forgetPolicies() { state.caches.policies = nil }
}

extension TableStorage: TableReading {}
