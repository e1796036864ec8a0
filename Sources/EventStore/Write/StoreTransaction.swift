import LMDB
import OperationFormat

/// One LMDB write transaction of a store, and the state that all writing types share: tables, fold, clock,
/// identity.
///
/// One thread at a time uses it. It is reused for each transaction, so that steady work allocates nothing.
/// Each writing type has its own state: ``LocalWrite``, `RemoteIngest`, `ZoneCatalog`, `LaneRewrite`,
/// `Rebuild`.
final class StoreTransaction {
  let storage: TableStorage
  let identity: StoreIdentity
  /// Wall time in milliseconds since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let makeRandom: @Sendable () -> UInt64
  /// The files of the store's assets; nil if the log is only folded.
  let assetFiles: AssetFiles?

  private struct State: ~Copyable {
    var fold: Fold<TableStorage>
    var clock = HybridClock(last: Timestamp(rawValue: 0))
    var recentNames = RecentNames()
    var appendedBytes = 0
    var decoder = BodyDecoder()
    var numbers: [NameNumber] = []
  }

  // No access to a field meets another access to the same field; dynamic checks of that would cost more than
  // the accesses.
  @exclusivity(unchecked) private var current: State

  @inline(__always) var fold: Fold<TableStorage> {
    _read { yield current.fold }
    _modify { yield &current.fold }
  }

  @inline(__always) var clock: HybridClock {
    _read { yield current.clock }
    _modify { yield &current.clock }
  }

  /// Recently used names of types and fields: most operations find theirs here.
  @inline(__always) var recentNames: RecentNames {
    _read { yield current.recentNames }
    _modify { yield &current.recentNames }
  }

  /// Bytes of transactions that the current job has appended to the log.
  @inline(__always) var appendedBytes: Int {
    get { current.appendedBytes }
    set { current.appendedBytes = newValue }
  }

  /// The body that was parsed last.
  @inline(__always) var decoder: BodyDecoder {
    _read { yield current.decoder }
    _modify { yield &current.decoder }
  }

  /// The numbers of the names in ``decoder``, as far as they were needed.
  @inline(__always) var numbers: [NameNumber] {
    _read { yield current.numbers }
    _modify { yield &current.numbers }
  }

  /// Where it tells what its commits have changed; nil if nobody can observe them.
  var journal: CommitJournal?
  /// The log's last position when the transaction began.
  private var positionBefore = Position.start

  /// The kinds that the app has declared for fields; nil for none.
  var declaredKinds: DeclaredKinds?

  init(
    storage: TableStorage, identity: StoreIdentity, assetFiles: AssetFiles? = nil,
    wallMilliseconds: @escaping @Sendable () -> Int64, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.storage = storage
    self.identity = identity
    self.wallMilliseconds = wallMilliseconds
    self.makeRandom = makeRandom
    self.assetFiles = assetFiles
    current = State(fold: Fold(storage: storage))
    storage.makeIndexUpkeep = { try IndexUpkeep($0, $1) }
  }

  // MARK: Begin and end

  func begin(_ transaction: consuming LMDBTransaction) throws {
    let isUnchanged = storage.begin(transaction)
    fold.reset()
    if !isUnchanged {
      clock.last = try storage.meta.clock()
      // Nobody would send what is written under another identity. What only folds writes nothing.
      if assetFiles != nil, let stored = try storage.meta.identity(), stored != identity {
        throw StoreError.identityChanged
      }
    }
    guard let journal, journal.isRead else {
      storage.changeNotes = nil
      return
    }
    if storage.changeNotes == nil { storage.changeNotes = ChangeNotes() }
    storage.changeNotes?.begin()
    positionBefore = try storage.lastPosition()
  }

  /// - Parameter isPlain: whether only writes of the app ran, and made or deleted no zone. Then the caches
  ///   stay valid.
  func commit(isPlain: Bool = false) throws {
    try flush()
    try storage.meta.setClock(clock.last)
    let isInLog = isPlain && !storage.changesBeyondLog
    if !isInLog { try storage.meta.countOtherCommit() }
    // A commit whose changes cannot be named is read from the log.
    guard let journal, let note = try? note(isInLog: isInLog) else {
      return try storage.commit(cachesAreRight: isPlain)
    }
    // It is there before anybody can see the commit, and counts once it is certain.
    journal.add(note)
    do {
      try storage.commit(cachesAreRight: isPlain)
      journal.settle(note.id, isCommitted: true)
    } catch {
      journal.settle(note.id, isCommitted: false)
      throw error
    }
  }

  /// What the transaction has changed; nil if nobody wants to know.
  private func note(isInLog: Bool) throws -> CommitJournal.Note? {
    guard let notes = storage.changeNotes else { return nil }
    return CommitJournal.Note(
      id: storage.transaction.id, isInLog: isInLog, before: positionBefore,
      position: try storage.lastPosition(), zones: try changes(notes), states: notes.outer.states,
      records: notes.outer.records, assets: notes.outer.assets, origins: try origins(notes),
      indexKeys: notes.outer.indexKeys)
  }

  func abort() {
    storage.abort()
    didAbort()
  }

  /// Writes the rows of the records that changed, and what changed in the indexes.
  func flush() throws {
    try fold.flush()
    try storage.flushIndexes()
  }

  /// Writes all that was folded, before it is read by others or another version is written.
  func settle() throws {
    try flush()
    try storage.flush()
    fold.reset()
  }

  func beginNested() throws {
    try flush()
    fold.reset()
    try storage.beginNested()
  }

  func commitNested() throws {
    try flush()
    fold.reset()
    try storage.commitNested()
  }

  func abortNested() {
    storage.abortNested()
    didAbort()
  }

  private func didAbort() {
    fold.reset()
    // Numbers that the transaction gave out are undone with it.
    recentNames.removeAll()
    declaredKinds?.removeAll()
  }

  // MARK: Names

  /// - Throws: ``StoreError`` `kindMismatch`.
  @inline(__always)
  func checkKind(_ kind: OperationKind, _ field: NameNumber, of type: NameNumber) throws {
    try declaredKinds?.check(kind, field, of: type) { try name($0) }
  }

  /// The number of a type's or field's name; a new one if it has none.
  func internName(_ name: Name) throws -> NameNumber {
    if let number = recentNames.number(of: name) { return number }
    let number = try storage.names.makeNumber(for: name)
    recentNames.remember(name, number)
    return number
  }

  /// The name of a number.
  func name(_ number: NameNumber) throws -> Name {
    if let name = recentNames.name(of: number) { return name }
    let name = try storage.names.identity(of: number)
    recentNames.remember(name, number)
    return name
  }
}
