import CLMDB

/// Calls LMDB's C functions for one environment: one method for each function. No other file imports `CLMDB`.
///
/// A method throws the error that its function returned. In debug builds a `FaultPlan` can make any of them
/// fail instead.
///
/// This is a class, so that transactions and cursors hold it as one pointer.
final class Calls: Sendable {
  /// The environment's directory; messages name it.
  let path: String

  #if DEBUG
    private let faults: FaultPlan?
  #endif

  init(path: String, options: Environment.Options) {
    self.path = path
    #if DEBUG
      faults = options.faults
    #endif
  }

  /// A handle of a transaction, an environment or a cursor, as C has it.
  typealias Handle = OpaquePointer

  // MARK: Environment

  /// Creates an environment that is not yet open (mdb_env_create).
  func createEnvironment() throws(LMDBError) -> Handle {
    var environment: Handle?
    try check("mdb_env_create") { mdb_env_create(&environment) }
    return environment!
  }

  /// Opens the files and maps the data (mdb_env_open).
  func openEnvironment(_ environment: Handle, readOnly: Bool, sync: SyncMode) throws(LMDBError) {
    var flags = UInt32(MDB_NOTLS)
    if readOnly { flags |= UInt32(MDB_RDONLY) }
    switch sync {
    case .full: break
    case .noMetaSync: flags |= UInt32(MDB_NOMETASYNC)
    case .none: flags |= UInt32(MDB_NOSYNC)
    }
    try check("mdb_env_open") { mdb_env_open(environment, path, flags, 0o600) }
  }

  /// Unmaps the data and closes the files; the handle is invalid afterwards (mdb_env_close).
  func closeEnvironment(_ environment: Handle) {
    mdb_env_close(environment)
  }

  /// Sets the size of the map in bytes; 0 means the size in the data file (mdb_env_set_mapsize).
  func setMapBytes(_ environment: Handle, _ bytes: Int) throws(LMDBError) {
    try check("mdb_env_set_mapsize") { mdb_env_set_mapsize(environment, bytes) }
  }

  /// Sets how many tables can be open at the same time (mdb_env_set_maxdbs).
  func setTablesMax(_ environment: Handle, _ count: Int) throws(LMDBError) {
    try check("mdb_env_set_maxdbs") { mdb_env_set_maxdbs(environment, UInt32(clamping: count)) }
  }

  /// Sets how many reader slots there are (mdb_env_set_maxreaders).
  func setReadersMax(_ environment: Handle, _ count: Int) throws(LMDBError) {
    try check("mdb_env_set_maxreaders") { mdb_env_set_maxreaders(environment, UInt32(clamping: count)) }
  }

  /// Makes a failed assertion of LMDB print its message before the process ends (mdb_env_set_assert).
  func setAssertionMessage(_ environment: Handle) throws(LMDBError) {
    try check("mdb_env_set_assert") { mdb_env_set_assert(environment, printAssertion) }
  }

  /// Returns the data file's descriptor, which LMDB still owns (mdb_env_get_fd).
  func fileDescriptor(of environment: Handle) throws(LMDBError) -> Int32 {
    var descriptor: Int32 = -1
    try check("mdb_env_get_fd") { mdb_env_get_fd(environment, &descriptor) }
    return descriptor
  }

  /// Writes everything to the disk, and waits until it is there (mdb_env_sync).
  func sync(_ environment: Handle) throws(LMDBError) {
    try check("mdb_env_sync") { mdb_env_sync(environment, 1) }
  }

  /// Writes the data of the last commit to a file or a pipe, without free pages (mdb_env_copyfd2).
  func copy(_ environment: Handle, to descriptor: Int32) throws(LMDBError) {
    try check("mdb_env_copyfd2") { mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT)) }
  }

  /// Returns the size of the map, the last page and transaction, and the readers (mdb_env_info).
  func information(of environment: Handle) throws(LMDBError) -> Environment.Information {
    var raw = MDB_envinfo()
    try check("mdb_env_info") { mdb_env_info(environment, &raw) }
    return Environment.Information(
      mapBytes: raw.me_mapsize, lastPage: raw.me_last_pgno, lastTransactionID: UInt64(raw.me_last_txnid),
      readersMax: Int(raw.me_maxreaders), readersUsed: Int(raw.me_numreaders))
  }

  /// Returns the size of a page in bytes (mdb_env_stat).
  func pageBytes(of environment: Handle) throws(LMDBError) -> Int {
    var raw = MDB_stat()
    try check("mdb_env_stat") { mdb_env_stat(environment, &raw) }
    return Int(raw.ms_psize)
  }

  /// Frees the reader slots of dead processes, and returns their number (mdb_reader_check).
  func clearStaleReaders(_ environment: Handle) throws(LMDBError) -> Int {
    var dead: Int32 = 0
    try check("mdb_reader_check") { mdb_reader_check(environment, &dead) }
    return Int(dead)
  }

  // MARK: Transaction

  /// Begins a transaction, nested in a parent if there is one (mdb_txn_begin).
  func begin(_ environment: Handle, parent: Handle?, readOnly: Bool) throws(LMDBError) -> Handle {
    var transaction: Handle?
    try check("mdb_txn_begin") {
      mdb_txn_begin(environment, parent, readOnly ? UInt32(MDB_RDONLY) : 0, &transaction)
    }
    return transaction!
  }

  /// Commits; aborts if a planned fault forbids that. The handle is invalid afterwards in both cases
  /// (mdb_txn_commit).
  func commit(_ transaction: Handle) throws(LMDBError) {
    #if DEBUG
      if let code = faults?.register("mdb_txn_commit") {
        mdb_txn_abort(transaction)
        throw failure(code, "mdb_txn_commit")
      }
    #endif
    let code = mdb_txn_commit(transaction)
    if code != MDB_SUCCESS { throw failure(code, "mdb_txn_commit") }
  }

  /// Drops a transaction and its changes; the handle is invalid afterwards (mdb_txn_abort).
  func abort(_ transaction: Handle) {
    mdb_txn_abort(transaction)
  }

  /// Releases the state that a read transaction sees (mdb_txn_reset).
  func reset(_ transaction: Handle) {
    mdb_txn_reset(transaction)
  }

  /// Lets a read transaction see the last committed state (mdb_txn_renew).
  func renew(_ transaction: Handle) throws(LMDBError) {
    try check("mdb_txn_renew") { mdb_txn_renew(transaction) }
  }

  /// Returns a transaction's id (mdb_txn_id).
  func id(of transaction: Handle) -> UInt64 {
    UInt64(mdb_txn_id(transaction))
  }

  // MARK: Table

  /// The handle of the table of tables, which LMDB opens itself.
  static let mainTable: UInt32 = 1

  /// Opens a table (mdb_dbi_open).
  func openTable(_ transaction: Handle, _ name: String, create: Bool) throws(LMDBError) -> UInt32 {
    var table: UInt32 = 0
    try check("mdb_dbi_open") {
      mdb_dbi_open(transaction, name, create ? UInt32(MDB_CREATE) : 0, &table)
    }
    return table
  }

  /// Removes all entries of a table (mdb_drop).
  func empty(_ transaction: Handle, _ table: UInt32) throws(LMDBError) {
    try check("mdb_drop") { mdb_drop(transaction, table, 0) }
  }

  /// Returns the size of a table (mdb_stat).
  func statistics(_ transaction: Handle, _ table: UInt32) throws(LMDBError) -> TableStatistics {
    var raw = MDB_stat()
    try check("mdb_stat") { mdb_stat(transaction, table, &raw) }
    return TableStatistics(
      entries: raw.ms_entries, depth: Int(raw.ms_depth), branchPages: raw.ms_branch_pages,
      leafPages: raw.ms_leaf_pages, overflowPages: raw.ms_overflow_pages, pageBytes: Int(raw.ms_psize))
  }

  /// Returns a key's value without a copy, or nil (mdb_get).
  func get(
    _ transaction: Handle, _ table: UInt32, _ key: UnsafeRawBufferPointer
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    var rawKey = MDB_val(key)
    var rawValue = MDB_val()
    let found = try checkFound("mdb_get") { mdb_get(transaction, table, &rawKey, &rawValue) }
    return found ? UnsafeRawBufferPointer(rawValue) : nil
  }

  /// Puts an entry (mdb_put).
  func put(
    _ transaction: Handle, _ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ options: PutOptions
  ) throws(LMDBError) {
    var rawKey = MDB_val(key)
    var rawValue = MDB_val(value)
    let code = run("mdb_put") { mdb_put(transaction, table, &rawKey, &rawValue, options.flags) }
    if code != MDB_SUCCESS { throw failure(code, "mdb_put", key.count, value.count) }
  }

  /// Deletes an entry, and returns whether it existed (mdb_del).
  func delete(
    _ transaction: Handle, _ table: UInt32, _ key: UnsafeRawBufferPointer
  ) throws(LMDBError) -> Bool {
    var rawKey = MDB_val(key)
    return try checkFound("mdb_del") { mdb_del(transaction, table, &rawKey, nil) }
  }

  // MARK: Cursor

  /// Where a cursor moves to.
  enum Step {
    case first, last, next, previous, current
    case atOrAfter(UnsafeRawBufferPointer)
    case to(UnsafeRawBufferPointer)

    /// The next step in its direction; nil if it looks at one place alone.
    var further: Step? {
      switch self {
      case .first, .next, .atOrAfter: .next
      case .last, .previous: .previous
      case .current, .to: nil
      }
    }
  }

  /// Opens a cursor (mdb_cursor_open).
  func openCursor(_ transaction: Handle, _ table: UInt32) throws(LMDBError) -> Handle {
    var cursor: Handle?
    try check("mdb_cursor_open") { mdb_cursor_open(transaction, table, &cursor) }
    return cursor!
  }

  /// Closes a cursor (mdb_cursor_close).
  func closeCursor(_ cursor: Handle) {
    mdb_cursor_close(cursor)
  }

  /// Moves a cursor, and returns the entry at its new place, or nil (mdb_cursor_get).
  func move(_ cursor: Handle, _ step: Step) throws(LMDBError) -> Entry? {
    var key = MDB_val()
    var value = MDB_val()
    let operation: MDB_cursor_op
    switch step {
    case .first: operation = MDB_FIRST
    case .last: operation = MDB_LAST
    case .next: operation = MDB_NEXT
    case .previous: operation = MDB_PREV
    case .current: operation = MDB_GET_CURRENT
    case .atOrAfter(let bytes):
      operation = MDB_SET_RANGE
      key = MDB_val(bytes)
    case .to(let bytes):
      operation = MDB_SET_KEY
      key = MDB_val(bytes)
    }
    let found = try checkFound("mdb_cursor_get") { mdb_cursor_get(cursor, &key, &value, operation) }
    guard found else { return nil }
    return Entry(key: UnsafeRawBufferPointer(key), value: UnsafeRawBufferPointer(value))
  }

  /// Deletes the cursor's entry (mdb_cursor_del).
  func deleteCurrent(_ cursor: Handle) throws(LMDBError) {
    try check("mdb_cursor_del") { mdb_cursor_del(cursor, 0) }
  }

  // MARK: Memory

  /// Asks the memory for what is at an address, without waiting for it.
  @inline(__always)
  static func prefetch(_ address: UnsafeRawPointer) { tributary_prefetch(address) }

  // MARK: Running a call

  @inline(__always)
  private func run(_ name: StaticString, _ call: () -> Int32) -> Int32 {
    #if DEBUG
      if let code = faults?.register(name) { return code }
    #endif
    return call()
  }

  @inline(__always)
  private func check(_ name: StaticString, _ call: () -> Int32) throws(LMDBError) {
    let code = run(name, call)
    if code != MDB_SUCCESS { throw failure(code, name) }
  }

  /// Like `check`, but returns false for MDB_NOTFOUND.
  @inline(__always)
  private func checkFound(_ name: StaticString, _ call: () -> Int32) throws(LMDBError) -> Bool {
    let code = run(name, call)
    if code == MDB_SUCCESS { return true }
    if code == MDB_NOTFOUND { return false }
    throw failure(code, name)
  }

  @inline(never)
  private func failure(_ code: Int32, _ name: StaticString) -> LMDBError {
    LMDBError(code: LMDBError.Code(rawValue: code), call: "\(name)", path: path)
  }

  @inline(never)
  private func failure(_ code: Int32, _ name: StaticString, _ keyBytes: Int, _ valueBytes: Int) -> LMDBError {
    var error = failure(code, name)
    error.message += " (key of \(keyBytes) bytes, value of \(valueBytes) bytes)"
    return error
  }
}

/// Prints that the data file is damaged. LMDB ends the process afterwards.
private func printAssertion(_: OpaquePointer?, _ message: UnsafePointer<CChar>?) {
  let assertion = message.map { String(cString: $0) } ?? "an assertion"
  SystemCalls.printError(
    "LMDB: the data file is damaged: LMDB found an impossible page, and ends the process (\(assertion)). "
      + "Run the page check on the store, and restore a copy if it finds damage.\n")
}

extension MDB_val {
  /// The cast is safe: LMDB only reads through these pointers, although their C type allows writing.
  @inline(__always)
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate init(_ value: MDB_val) {
    self.init(start: value.mv_data, count: value.mv_size)
  }
}

extension PutOptions {
  @inline(__always)
  fileprivate var flags: UInt32 {
    (contains(.append) ? UInt32(MDB_APPEND) : 0) | (contains(.absentOnly) ? UInt32(MDB_NOOVERWRITE) : 0)
  }
}
