import LMDB
import OperationFormat

/// Compares where a store is, and how far, with what its mark notes, and notes it.
struct NotedPlace: Sendable {
  let mark: StoreMark
  let environment: Environment
  let tables: Tables
  let configuration: StoreConfiguration

  /// Marks a store that has no mark: a new one, or a data file that was copied without its mark. To be called with the
  /// directory locked.
  ///
  /// - Parameter isNew: whether this opening has made the data file.
  /// - Returns: the store's identity: a new one if it was copied.
  func make(_ identity: StoreIdentity, isNew: Bool) throws -> StoreIdentity {
    let identity = isNew || !configuration.noticesCopies ? identity : try takeNew(after: identity)
    let found = try here()
    try sync()
    try mark.write(found, isSynced: !configuration.isUnsynced)
    return identity
  }

  /// Checks a store that has a mark.
  ///
  /// - Returns: the store's identity: a new one if it is not the store that was here before, or not all of it.
  func check() throws -> StoreIdentity {
    if try mark.noted() == here() { return try read() }
    // Held until the mark is replaced: only one of two processes takes a new identity.
    let checking = try DirectoryLock(
      environment.directory, isRequired: !configuration.allowsNetworkFileSystem)
    defer { extendLifetime(checking) }
    let (noted, found) = (try mark.noted(), try here())
    let isCopy = configuration.noticesCopies && !(noted.map { found.continues($0) } ?? true)
    let identity = isCopy ? try takeNew(after: read()) : try read()
    do {
      let place = isCopy ? try here() : found
      try sync()
      try mark.replace(by: place, isSynced: !configuration.isUnsynced)
    } catch {
      // Without a place, or with an older state of this one, the mark says less, and nothing that is wrong: a store
      // opens on a full disk too.
      if isCopy { throw error }
    }
    return identity
  }

  /// Notes how far a store is that is closed: an older state that is put in its place shows then, also one from
  /// after it was opened. If that fails, the mark says less, and nothing that is wrong.
  func noteEnd() throws {
    let ending = try DirectoryLock(
      environment.directory, isRequired: !configuration.allowsNetworkFileSystem)
    defer { extendLifetime(ending) }
    let found = try here()
    guard let noted = try mark.noted(), found.isAt(noted), found.commit > noted.commit else { return }
    try sync()
    try mark.replace(by: found, isSynced: !configuration.isUnsynced)
  }

  /// What the mark notes is on the disk before: else a power cut would make the store an older one than noted.
  private func sync() throws {
    if !configuration.isUnsynced { try environment.sync() }
  }

  private func here() throws -> StorePlace {
    try mark.place(commit: environment.lastTransactionID, machineID: configuration.machineID())
  }

  /// The identity, which another process may have changed since it was read.
  private func read() throws -> StoreIdentity {
    try OpenedStore.identity(try environment.beginRead(), tables.meta, environment.directory)
  }

  private func takeNew(after old: StoreIdentity) throws -> StoreIdentity {
    try NewIdentity.take(after: old, in: environment, tables, configuration)
  }
}
