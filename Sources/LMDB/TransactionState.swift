import Synchronization

/// The state that a transaction shares with its cursors and its nested transaction.
///
/// It is not `Sendable`: a write transaction belongs to its thread, a read transaction to one thread at a
/// time. The properties that each step of a cursor reads are `@exclusivity(unchecked)`: accesses to them
/// never overlap, and the dynamic checks would cost more than the rest of the step.
@usableFromInline
final class TransactionState {
  let environment: Environment
  let calls: Calls
  let isReadOnly: Bool
  let thread: UInt
  let parent: TransactionState?

  /// LMDB's transaction; nil before it begins, and after it has ended.
  @exclusivity(unchecked) private(set) var handle: Calls.Handle?

  /// Whether this is a nested transaction that LMDB has not begun yet: until its first change, it reads
  /// through its parent.
  @exclusivity(unchecked) private(set) var isDeferred = false

  /// Whether a nested transaction is open; do not use this one until that has ended.
  @exclusivity(unchecked) private(set) var hasChild = false

  /// Whether a read-only transaction was reset and not yet renewed.
  @exclusivity(unchecked) private(set) var isReset = false

  /// The number of changes so far. Each change invalidates all bytes that were read before it.
  @exclusivity(unchecked) var changeCount = 0

  /// The version of the tables that keep versions, and its branch; 0 for none.
  @exclusivity(unchecked) var version = UInt64.max
  @exclusivity(unchecked) var branch: UInt64 = 0

  /// The address of page 0, for readers; 0 if not known.
  @exclusivity(unchecked) private var mapBase: UInt = 0

  /// The records of tables that a read transaction was asked for.
  @exclusivity(unchecked) private var trees: [(table: UInt32, tree: TreeRecord)] = []

  /// Tables that this transaction has opened; LMDB closes them if it is not committed.
  private(set) var openedTables: [String: UInt32] = [:]

  init(environment: Environment, handle: Calls.Handle, isReadOnly: Bool) {
    self.environment = environment
    self.calls = environment.calls
    self.handle = handle
    self.isReadOnly = isReadOnly
    self.parent = nil
    self.thread = currentThreadNumber()
  }

  /// Creates a nested transaction. LMDB begins it at its first change, because LMDB's nested transactions are
  /// expensive: each copies the pages that it and its parent change, and allocates megabytes for its lists.
  init(nestedIn parent: TransactionState) {
    precondition(!parent.isReadOnly, "the transaction is read-only")
    _ = parent.readable
    environment = parent.environment
    calls = parent.calls
    isReadOnly = false
    isDeferred = true
    self.parent = parent
    self.thread = parent.thread
    (version, branch) = (parent.version, parent.branch)
    parent.hasChild = true
  }

  deinit {
    abort()
  }

  /// LMDB's transaction, for reading.
  var readable: Calls.Handle {
    guard let handle = handle ?? deferredHandle else { preconditionFailure("the transaction has ended") }
    checkHasNoChild()
    precondition(!isReset, "the transaction was reset and not renewed")
    checkThread()
    return handle
  }

  @inline(__always)
  private func checkHasNoChild() {
    precondition(!hasChild, "the transaction's nested transaction has not ended")
  }

  @inline(__always)
  private func checkThread() {
    precondition(isReadOnly || thread == currentThreadNumber(), "a write transaction belongs to its thread")
  }

  /// The handle of the nearest outer transaction that LMDB has begun, for a deferred one.
  private var deferredHandle: Calls.Handle? {
    guard isDeferred, let parent else { return nil }
    return parent.handle ?? parent.deferredHandle
  }

  /// LMDB's transaction, for writing; counts one change.
  func writable() throws(LMDBError) -> Calls.Handle {
    precondition(!isReadOnly, "the transaction is read-only")
    if isDeferred { try begin() }
    changeCount &+= 1
    return readable
  }

  /// Makes LMDB begin a deferred transaction.
  @inline(never)
  private func begin() throws(LMDBError) {
    guard let parent else { preconditionFailure("only a nested transaction is deferred") }
    checkThread()
    if parent.isDeferred { try parent.begin() }
    guard let outer = parent.handle else { preconditionFailure("the outer transaction has ended") }
    handle = try calls.begin(environment.handle, parent: outer, readOnly: false)
    isDeferred = false
  }

  /// LMDB's transaction, for opening a cursor or a table: both belong to the transaction that opens them.
  func begun() throws(LMDBError) -> Calls.Handle {
    if isDeferred { try begin() }
    return readable
  }

  /// LMDB's number of a table.
  @inline(__always)
  func number(of table: Table) -> UInt32 {
    precondition(table.environment == environment.number, "the table belongs to another environment")
    return table.handle
  }

  // MARK: Ending

  func commit() throws(LMDBError) {
    let handle = readable
    if isDeferred { return endDeferred() }
    if environment.isForked {
      self.handle = nil
      throw LMDBError(code: .forked, call: "mdb_txn_commit", path: environment.directory)
    }
    self.handle = nil
    do throws(LMDBError) {
      try calls.commit(handle)
    } catch {
      if error.code == .panic { environment.gate.refuse(.panicked) }
      didEnd(keepingTables: false)
      throw error
    }
    didEnd(keepingTables: true)
  }

  func abort() {
    if isDeferred { return endDeferred() }
    guard let handle else { return }
    checkHasNoChild()
    self.handle = nil
    // After a fork, the lock and the reader slot belong to the parent process.
    if environment.isForked { return }
    checkThread()
    if isReadOnly, !isReset, !openedTables.isEmpty {
      // Only a commit keeps the opened tables; there is nothing else to commit.
      let isKept = (try? calls.commit(handle)) != nil
      didEnd(keepingTables: isKept)
    } else {
      calls.abort(handle)
      didEnd(keepingTables: false)
    }
  }

  /// Ends a transaction that LMDB has not begun, and that has changed nothing.
  private func endDeferred() {
    checkHasNoChild()
    isDeferred = false
    parent?.hasChild = false
  }

  private func didEnd(keepingTables: Bool) {
    if let parent {
      parent.hasChild = false
      parent.changeCount &+= 1
      if keepingTables { parent.openedTables.merge(openedTables) { _, new in new } }
      if parent.openedTables.isEmpty { environment.tables.release(parent, keeping: [:]) }
    } else {
      environment.tables.release(self, keeping: keepingTables ? openedTables : [:])
      if !isReadOnly { environment.writerThread.store(0, ordering: .relaxed) }
      environment.leave(wasActive: !isReset)
    }
  }

  // MARK: Reset and renewal

  func reset() {
    precondition(isReadOnly, "only a read-only transaction can be reset")
    let handle = readable
    if environment.isForked { return }
    isReset = true
    calls.reset(handle)
    environment.leave(ends: false)
  }

  func renew() throws(LMDBError) {
    precondition(isReset, "only a transaction that was reset can be renewed")
    guard let handle else { preconditionFailure("the transaction has ended") }
    try environment.admit(isNew: false) { () throws(LMDBError) in try calls.renew(handle) }
    isReset = false
    changeCount &+= 1
    trees.removeAll()
    try findMapBase()
  }

  // MARK: Tables

  func openTable(_ name: String, create: Bool) throws(LMDBError) -> Table {
    let handle = try begun()
    precondition(!create || !isReadOnly, "a read-only transaction cannot create a table")
    var root = self
    while let parent = root.parent { root = parent }
    if let known = environment.tables.handle(of: name) ?? openedHandle(of: name) {
      // LMDB returns a handle even if the table does not exist in this transaction's state.
      guard try hasTable(handle, name) else {
        throw LMDBError(
          code: .notFound, call: "mdb_dbi_open", path: environment.directory,
          message: "the transaction's state has no table of that name")
      }
      return Table(handle: known, environment: environment.number)
    }
    guard environment.tables.claim(root) else {
      throw LMDBError(
        code: .busy, call: "mdb_dbi_open", path: environment.directory,
        message: "another transaction of this process is opening a table")
    }
    do throws(LMDBError) {
      let opened = try calls.openTable(handle, name, create: create)
      openedTables[name] = opened
      if create { changeCount &+= 1 }
      return Table(handle: opened, environment: environment.number)
    } catch {
      if root.openedTables.isEmpty && openedTables.isEmpty { environment.tables.release(root, keeping: [:]) }
      throw error
    }
  }

  private func openedHandle(of name: String) -> UInt32? {
    openedTables[name] ?? parent?.openedHandle(of: name)
  }

  /// Whether a table exists in this transaction's state; its handle may be another transaction's.
  private func hasTable(_ handle: Calls.Handle, _ name: String) throws(LMDBError) -> Bool {
    try name.utf8Span.span.bytes.withUnsafeBytes { name throws(LMDBError) in
      name.isEmpty ? false : try calls.get(handle, Calls.mainTable, name) != nil
    }
  }

  func tableNames() throws(LMDBError) -> [String] {
    try TableCache.names(calls, readable) { entry throws(LMDBError) in
      try guardBytes(entry.key)
      return true
    }
  }

  // MARK: Bounds checks

  /// Finds the address of page 0, unless it is known or the store is empty.
  ///
  /// A committed page starts with its own number, so the address of any key in the table of tables gives it.
  func findMapBase() throws(LMDBError) {
    mapBase = environment.mapBase.load(ordering: .relaxed)
    if mapBase != 0 { return }
    let handle = readable
    let cursor = try calls.openCursor(handle, Calls.mainTable)
    defer { calls.closeCursor(cursor) }
    guard let key = try calls.move(cursor, .first)?.key.baseAddress else { return }
    let pageBytes = UInt(try calls.pageBytes(of: environment.handle))
    let page = UInt(bitPattern: key) / pageBytes * pageBytes
    guard let start = UnsafeRawPointer(bitPattern: page) else { return }
    let number = start.load(as: UInt.self)
    let (offset, overflow) = number.multipliedReportingOverflow(by: pageBytes)
    // A page may be larger than what the map is aligned to: then its start is not known.
    if pageBytes > UInt(SystemCalls.memoryPageBytes) { return }
    let isThere = try environment.file.has(
      UnsafeRawBufferPointer(start: start, count: Int(pageBytes)), at: overflow ? .max : offset)
    guard isThere, offset < page else {
      throw damaged("a page of the table of tables has the wrong number")
    }
    mapBase = page - offset
    environment.mapBase.store(mapBase, ordering: .relaxed)
  }

  /// Throws if an entry is outside the file: reading it would end the process.
  @inline(__always)
  func guardEntry(_ entry: Entry) throws(LMDBError) {
    try guardBytes(entry.key)
    try guardBytes(entry.value)
  }

  /// Throws if bytes are outside the file: reading them would end the process.
  @inline(__always)
  func guardBytes(_ bytes: UnsafeRawBufferPointer) throws(LMDBError) {
    if !isReadOnly || mapBase == 0 { return }
    let start = UInt(bitPattern: bytes.baseAddress) &- mapBase
    let known = UInt(bitPattern: environment.knownBytes.load(ordering: .relaxed))
    if start <= known && UInt(bitPattern: bytes.count) <= known &- start { return }
    try guardAgainstFile(start, UInt(bitPattern: bytes.count))
  }

  @inline(never)
  private func guardAgainstFile(_ start: UInt, _ count: UInt) throws(LMDBError) {
    // Another process may have made the file larger than this one's map.
    let bytes = min(environment.file.bytes, try calls.information(of: environment.handle).mapBytes)
    environment.knownBytes.store(bytes, ordering: .relaxed)
    if start <= UInt(bytes) && count <= UInt(bytes) - start { return }
    throw damaged("an entry of \(count) bytes is outside the data file")
  }

  /// The record of a table in a read transaction's state. Nil if only a cursor can read the table: in a write
  /// transaction, while the map or the table's name is not known, or if the record is of no plain table.
  func tree(of table: Table) throws(LMDBError) -> TreeRecord? {
    guard isReadOnly, mapBase != 0 else { return nil }
    let number = number(of: table)
    if let known = trees.first(where: { $0.table == number }) { return known.tree }
    guard let name = environment.tables.name(of: number) else { return nil }
    let (handle, key) = (readable, Array(name.utf8))
    let record = try key.span.bytes.withUnsafeBytes { key throws(LMDBError) in
      try calls.get(handle, Calls.mainTable, key)
    }
    guard let found = record, found.count == TreeRecord.byteCount else { return nil }
    try guardBytes(found)
    let tree = TreeRecord(found.bytes, at: 0)
    guard tree.flags == 0 else { return nil }
    trees.append((number, tree))
    return tree
  }

  /// Bytes of the map from the start of a page of a read transaction, which knows the map.
  func bytes(
    fromPage number: UInt64, pageBytes: Int, count: Int
  ) throws(LMDBError) -> UnsafeRawBufferPointer {
    let (offset, overflows) = UInt(number).multipliedReportingOverflow(by: UInt(pageBytes))
    let (address, isOutside) = mapBase.addingReportingOverflow(offset)
    guard !overflows, !isOutside, let start = UnsafeRawPointer(bitPattern: address) else {
      throw damaged("page \(number) is outside the data file")
    }
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    try guardBytes(bytes)
    return bytes
  }

  func damaged(_ message: String) -> LMDBError {
    LMDBError(code: .corrupted, call: "mdb_get", path: environment.directory, message: message)
  }
}
