import Synchronization

/// One open data file, with its map and its lock file. A process has at most one environment for a file.
///
/// Any thread may use it. Its transactions keep it in memory. The file is closed when `close` was called or
/// nothing holds the environment, and the last transaction has ended.
package final class Environment: Sendable {
  /// The directory that was opened.
  package let directory: String

  let calls: Calls
  let gate = Gate()
  let file: DataFile
  let tables: TableCache

  /// Identifies this environment's tables.
  let number: UInt32

  /// Whether it was opened read-only.
  let isReadOnly: Bool

  /// The address of page 0 in the map; 0 until a reader has found it.
  let mapBase = Atomic<UInt>(0)

  /// The size of a page in bytes.
  let pageBytes: Int

  /// How much address space was reserved at the open, in bytes.
  private let reservedBytes: Int

  /// So many bytes of the file are in the map, at least; the file never shrinks.
  let knownBytes = Atomic<Int>(0)

  /// The thread that has a write transaction of this environment, or waits for one.
  let writerThread = Atomic<UInt>(0)

  /// `nonisolated(unsafe)`: all threads may use LMDB's environment, and the gate ensures that none uses it
  /// after the close.
  nonisolated(unsafe) let handle: Calls.Handle

  private let forkGeneration: Int

  private static let counter = Atomic<UInt32>(0)

  /// Checks and opens `data.mdb` and `lock.mdb` in an existing directory. (mdb_env_open)
  ///
  /// - Throws: `.alreadyOpen`, `.networkFileSystem`, `.notAStore`, `.versionMismatch`, `.truncatedFile`,
  ///   `.damagedPage`, `.noSuchFile` and the operating system's errors.
  package init(directory: String, options: Options) throws(LMDBError) {
    StandardDescriptors.fill()
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
      self.pageBytes = try calls.pageBytes(of: handle)
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
    knownBytes.store(min(file.bytes, reservedBytes), ordering: .relaxed)
    AddressSpace.take(reservedBytes)
  }

  deinit {
    close()
  }

  /// Begins to close: new transactions throw `.closed`, open ones continue, and the file is closed when the
  /// last of them has ended. Later calls do nothing. (mdb_env_close)
  ///
  /// In a child process made by `fork`, it only refuses new transactions: the parent closes the file.
  package func close() {
    if isForked { return }
    if gate.close() { closeNow() }
  }

  /// Waits until all commits are on the disk. (mdb_env_sync)
  package func sync() throws(LMDBError) {
    try withGate { () throws(LMDBError) in try calls.sync(handle) }
  }

  /// Writes the data of the last commit to a file or a pipe, as a data file without free pages. Others may read and write
  /// meanwhile; the file grows as during any read. All pages must have been checked. (mdb_env_copyfd2)
  package func copy(to descriptor: Int32) throws(LMDBError) {
    try withGate { () throws(LMDBError) in try calls.copy(handle, to: descriptor) }
  }

  /// Frees the entries of readers whose processes have died, and returns how many there were. Until then no writer
  /// reuses the pages that these readers saw. (mdb_reader_check)
  @discardableResult
  package func clearDeadReaders() throws(LMDBError) -> Int {
    try withGate { () throws(LMDBError) in try calls.clearStaleReaders(handle) }
  }

  /// The id of the last transaction that any process has committed; 0 in a new store. A read may see it a moment
  /// later: see ``visibleTransactionID``. (mdb_env_info)
  package var lastTransactionID: UInt64 {
    get throws(LMDBError) {
      try information.lastTransactionID
    }
  }

  /// The id of the last transaction that a read sees. A commit is in the data file first, and then the writer tells
  /// readers of it in the lock file. (mdb_txn_begin)
  package var visibleTransactionID: UInt64 {
    get throws(LMDBError) { try beginRead().id }
  }

  /// What LMDB reports about the environment. (mdb_env_info, mdb_env_stat)
  package var information: Information {
    get throws(LMDBError) {
      try withGate { () throws(LMDBError) in
        var information = try calls.information(of: handle)
        information.pageBytes = try calls.pageBytes(of: handle)
        return information
      }
    }
  }

  /// Whether the data file was deleted or replaced by another: nobody can open it again. (fstat, stat)
  package var isRemoved: Bool {
    get throws(LMDBError) { try file.isRemoved }
  }

  /// Whether a crash interrupted the creation of a directory's data file: it is empty, or it has only some of
  /// a new file's pages and no transaction. Nothing was ever committed to such a file.
  package static func isUnfinished(directory: String) throws(LMDBError) -> Bool {
    try PageCheck.isUnfinished(directory: directory)
  }

  /// How many bytes of the data file are in use, or free again; it does not shrink. (mdb_env_info)
  package var usedBytes: Int {
    get throws(LMDBError) {
      try withGate { () throws(LMDBError) in
        (try calls.information(of: handle).lastPage + 1) * pageBytes
      }
    }
  }

  /// The length of the data file in bytes. (fstat)
  package var fileBytes: Int {
    get throws(LMDBError) { try withGate { () throws(LMDBError) in file.bytes } }
  }

  // MARK: Helpers

  /// Whether this process is a child, made by `fork`, of the process that opened the environment.
  var isForked: Bool { forkGeneration != ForkGuard.generation }

  /// Runs a call inside the gate, as a transaction would, so that the map is not moved meanwhile.
  private func withGate<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    try enter()
    defer { leave() }
    return try body()
  }

  /// Admits a transaction; throws the reason if it may not begin.
  func enter(isNew: Bool = true) throws(LMDBError) {
    if isForked { throw LMDBError(code: .forked, call: "mdb_txn_begin", path: directory) }
    do throws(Gate.Refusal) {
      try gate.enter(isNew: isNew)
    } catch {
      throw refusal(error)
    }
  }

  /// Records that a transaction has ended; the last one of a closed environment closes the files.
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
