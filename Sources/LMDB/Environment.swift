import Synchronization

/// One data file with its map and its lock file, open in this process; there is at most one a file.
///
/// Any thread may use it. Transactions keep it alive; the file is really closed when it is closed or no longer
/// held, and the last transaction has ended.
package final class Environment: Sendable {
  /// The directory that it was opened at.
  package let directory: String

  let calls: Calls
  let gate = Gate()
  let file: DataFile
  let tables: TableCache

  /// Tells its tables from those of other environments.
  let number: UInt32

  /// Whether it was opened for reading alone.
  let isReadOnly: Bool

  /// The address of page 0 in the map, or 0 until a reader has found it out.
  let mapBase = Atomic<UInt>(0)

  /// How much address space it has reserved when it was opened, in bytes.
  private let reservedBytes: Int

  /// How long the file is at least, in bytes; it never shrinks.
  let knownBytes = Atomic<Int>(0)

  /// The thread that has, or waits for, a write transaction of this environment's.
  let writerThread = Atomic<UInt>(0)

  /// `nonisolated(unsafe)`: LMDB's environment may be used by all threads; the gate says until when.
  nonisolated(unsafe) let handle: Calls.Handle

  private let forkGeneration: Int

  private static let counter = Atomic<UInt32>(0)

  /// Opens `data.mdb` and `lock.mdb` in a directory, which must exist, after checking them. (mdb_env_open)
  ///
  /// - Throws: `.alreadyOpen`, `.networkFileSystem`, `.notAStore`, `.versionMismatch`, `.truncatedFile`,
  ///   `.damagedPage`, `.noSuchFile` and what the operating system refuses.
  package init(directory: String, options: Options) throws(LMDBError) {
    let calls = Calls(path: directory, options: options)
    let file = try DataFile(
      directory: directory, readOnly: options.readOnly, creates: options.createsFile,
      allowsNetworkFileSystem: options.allowsNetworkFileSystem, syncsEntry: options.sync != .none)
    guard Registry.insert(file.identity) else {
      throw LMDBError(code: .alreadyOpen, call: "open", path: directory)
    }
    var opened: Calls.Handle?
    do throws(LMDBError) {
      let isShort = try file.check()
      try file.allocateLockFile(readersMax: options.readersMax)
      try file.allocateMetaPages()
      let handle = try Self.openMapped(calls, file, options)
      opened = handle
      try Self.checkSameFile(calls, handle, file)
      if isShort && !options.readOnly { try Self.extendFile(calls, handle, file) }
      self.tables = try TableCache(calls: calls, environment: handle, tablesMax: options.tablesMax)
      if options.checkedPagesMax > 0 {
        try Self.checkStructure(calls, handle, file, pagesMax: options.checkedPagesMax)
      }
      self.reservedBytes = try calls.information(of: handle).mapBytes
      self.handle = handle
    } catch {
      if let opened { calls.closeEnvironment(opened) }
      Registry.remove(file.identity)
      throw error
    }
    self.directory = directory
    self.calls = calls
    self.file = file
    self.isReadOnly = options.readOnly
    self.number = Self.counter.add(1, ordering: .relaxed).newValue
    self.forkGeneration = ForkGuard.generation
    knownBytes.store(file.bytes, ordering: .relaxed)
    AddressSpace.take(reservedBytes)
  }

  deinit {
    close()
  }

  /// Begins to close: new transactions throw `.closed`, those that are open go on, and when the last one has
  /// ended the file is closed. More calls do nothing. (mdb_env_close)
  ///
  /// In a child made by `fork` it does nothing but refuse: all is left to the parent.
  package func close() {
    if isForked { return }
    if gate.close() { closeNow() }
  }

  /// Waits until all that is committed is on the disk. (mdb_env_sync)
  package func sync() throws(LMDBError) {
    try withGate { () throws(LMDBError) in try calls.sync(handle) }
  }

  /// The id of the last transaction that was committed, by any process; 0 in a new store. (mdb_env_info)
  package var lastTransactionID: UInt64 {
    get throws(LMDBError) {
      try information.lastTransactionID
    }
  }

  /// What LMDB says of the environment. (mdb_env_info, mdb_env_stat)
  package var information: Information {
    get throws(LMDBError) {
      try withGate { () throws(LMDBError) in
        var information = try calls.information(of: handle)
        information.pageBytes = try calls.pageBytes(of: handle)
        return information
      }
    }
  }

  /// Whether the data file has lost its name, or another one has it: no one can open it again. (fstat, stat)
  package var isRemoved: Bool {
    get throws(LMDBError) { try file.isRemoved }
  }

  /// Whether the data file of a directory is one whose making was cut short: it has no bytes, or pages of a new file
  /// of which not all were written, and no transaction. Nothing was ever committed to it.
  package static func isUnfinished(directory: String) throws(LMDBError) -> Bool {
    try PageCheck.isUnfinished(directory: directory)
  }

  /// How long the data file is, in bytes. (fstat)
  package var fileBytes: Int {
    get throws(LMDBError) { try withGate { () throws(LMDBError) in file.bytes } }
  }

  /// Frees the reader slots of processes that have died, and says how many. (mdb_reader_check)
  package func clearStaleReaders() throws(LMDBError) -> Int {
    try withGate { () throws(LMDBError) in try calls.clearStaleReaders(handle) }
  }

  /// Writes a copy of the last committed state to a directory, which must exist and hold no `data.mdb`, and waits
  /// until it is on the disk. Writers need not wait. (mdb_env_copy2)
  package func copy(to directory: String, compacting: Bool) throws(LMDBError) {
    try withGate { () throws(LMDBError) in
      try calls.copy(handle, to: directory, compacting: compacting)
    }
    try DataFile.sync(directory: directory)
  }

  // MARK: Helpers

  /// Whether this process is a child, made by fork, of the one that opened the environment.
  var isForked: Bool { forkGeneration != ForkGuard.generation }

  /// Lets a call in as if it were a transaction, so that the map stays where it is.
  private func withGate<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    try enter()
    defer { leave() }
    return try body()
  }

  /// Lets a transaction in, or says why not.
  func enter(isNew: Bool = true) throws(LMDBError) {
    if isForked { throw LMDBError(code: .forked, call: "mdb_txn_begin", path: directory) }
    do throws(Gate.Refusal) {
      try gate.enter(isNew: isNew)
    } catch {
      throw refusal(error)
    }
  }

  /// Lets a transaction out; the last one of a closed environment closes it.
  func leave(wasActive: Bool = true, ends: Bool = true) {
    if gate.leave(wasActive: wasActive, ends: ends) { closeNow() }
  }

  func refusal(_ refusal: Gate.Refusal) -> LMDBError {
    switch refusal {
    case .closed: LMDBError(code: .closed, call: "mdb_txn_begin", path: directory)
    case .panicked: LMDBError(code: .panic, call: "mdb_txn_begin", path: directory)
    case .unmapped:
      LMDBError(
        code: .outOfMemory, call: "mdb_env_set_mapsize", path: directory,
        message: "the map was lost when it was to be moved",
        hint: "Close the environment and open it again")
    }
  }

  func closeNow() {
    calls.closeEnvironment(handle)
    AddressSpace.giveBack(reservedBytes)
    Registry.remove(file.identity)
  }
}
