package import LMDB
package import OperationFormat

/// One LMDB write transaction of a store, and the state that all who write share: tables, fold, clock, identity.
///
/// It is used by one thread at a time, and again for each transaction, so that steady work allocates nothing. Who
/// writes keeps its own state: ``LocalWrite``, ``RemoteIngest``, ``ZoneCatalog``, ``LaneRewrite``, ``Rebuild``.
package final class StoreTransaction {
  package let storage: TableStorage
  @exclusivity(unchecked) package var fold: Fold<TableStorage>
  @exclusivity(unchecked) package var clock: HybridClock
  package let identity: StoreIdentity
  /// Wall time in milliseconds since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let makeRandom: @Sendable () -> UInt64
  /// Recently used names of types and fields: most operations find theirs here.
  @exclusivity(unchecked) var recentNames = RecentNames()
  /// Bytes of transactions that the current job has appended to the log.
  @exclusivity(unchecked) var appendedBytes = 0
  /// The body that was parsed last, and the numbers of its names, as far as they were needed.
  var layout = BodyDecoder()
  var numbers: [NameNumber] = []
  /// The files of the store's assets; nil where the log is only folded.
  let assetFiles: AssetFiles?

  init(
    storage: TableStorage, identity: StoreIdentity, assetFiles: AssetFiles? = nil,
    wallMilliseconds: @escaping @Sendable () -> Int64, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.storage = storage
    self.identity = identity
    self.wallMilliseconds = wallMilliseconds
    self.makeRandom = makeRandom
    self.assetFiles = assetFiles
    fold = Fold(storage: storage)
    clock = HybridClock(last: Timestamp(rawValue: 0))
  }

  // MARK: Begin and end

  package func begin(_ transaction: consuming Transaction) throws {
    let isUnchanged = storage.begin(transaction)
    fold.reset()
    if !isUnchanged { clock.last = try storage.meta.clock() }
  }

  /// - Parameter isPlain: whether only an app's writes ran that made or deleted no zone: then the caches stay valid.
  package func commit(isPlain: Bool = false) throws {
    try fold.flush()
    try storage.meta.setClock(clock.last)
    try storage.commit(cachesAreRight: isPlain)
  }

  package func abort() {
    storage.abort()
    didAbort()
  }

  package func beginNested() throws {
    try fold.flush()
    fold.reset()
    try storage.beginNested()
  }

  package func commitNested() throws {
    try fold.flush()
    fold.reset()
    try storage.commitNested()
  }

  package func abortNested() {
    storage.abortNested()
    didAbort()
  }

  private func didAbort() {
    fold.reset()
    // Numbers that the transaction gave out are undone with it.
    recentNames.removeAll()
  }

  // MARK: Names

  /// The number of a name of a type or a field, a new one if the store has not met it.
  func internName(_ name: Name) throws -> NameNumber {
    if let number = recentNames.number(of: name) { return number }
    let number = try storage.names.makeNumber(for: name)
    recentNames.remember(name, number)
    return number
  }

  /// The name behind a number.
  func name(_ number: NameNumber) throws -> Name {
    if let name = recentNames.name(of: number) { return name }
    let name = try storage.names.identity(of: number)
    recentNames.remember(name, number)
    return name
  }
}
