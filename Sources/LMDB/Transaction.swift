/// A view of one state of the store, and in a write transaction the changes to it. If it ends without a
/// commit, nothing changes.
package struct Transaction: ~Copyable {
  @usableFromInline let state: TransactionState
  private let isAlias: Bool

  init(state: TransactionState, isAlias: Bool = false) {
    self.state = state
    self.isAlias = isAlias
  }

  deinit {
    if !isAlias { state.abort() }
  }

  /// The same transaction in a second variable, which does not end it. Do not use it after the first one has
  /// ended.
  package borrowing func alias() -> Transaction { Transaction(state: state, isAlias: true) }

  /// Whether it is read-only.
  package var isReadOnly: Bool { state.isReadOnly }

  /// The id of the state that a read transaction sees, or that a write transaction makes. (mdb_txn_id)
  package var id: UInt64 { state.calls.id(of: state.readable) }

  /// Commits all changes together; the environment's sync mode says when they are durable. (mdb_txn_commit)
  ///
  /// - Throws: `.noSpace`, `.inputOutput`, `.mapFull` and others. Nothing was changed then. Exception: after
  ///   `.inputOutput` the commit may have succeeded; open the environment again to see.
  package consuming func commit() throws(LMDBError) {
    try state.commit()
  }

  /// Drops all changes. (mdb_txn_abort)
  package consuming func abort() {
    state.abort()
  }

  /// Releases the state that a read transaction sees, but keeps its reader slot. (mdb_txn_reset)
  package mutating func reset() {
    state.reset()
  }

  /// Lets a reset transaction see the last committed state. (mdb_txn_renew)
  package mutating func renew() throws(LMDBError) {
    try state.renew()
  }

  /// Begins a transaction inside this one. Do not use this one until the nested one has ended.
  /// (mdb_txn_begin)
  ///
  /// A commit of the nested one adds its changes to this one. Until it changes something or opens a cursor,
  /// it costs nothing.
  package borrowing func beginNested() -> Transaction {
    Transaction(state: TransactionState(nestedIn: state))
  }

  /// Whether it is a nested transaction without any change or cursor so far.
  package var isUntouched: Bool { state.isDeferred }

  /// Opens a table. (mdb_dbi_open)
  ///
  /// - Throws: `.notFound` if the table does not exist and `create` is false, `.tablesFull`, `.busy` if
  ///   another transaction of this process is opening a table that did not exist when the environment was
  ///   opened.
  package borrowing func openTable(_ name: String, create: Bool) throws(LMDBError) -> Table {
    try state.openTable(name, create: create)
  }

  /// Opens a table that keeps the values that its keys had. A transaction reads it as it was at its ``version``, and
  /// writes to that one: no version may be less than one that was written before. See `Versions.swift`.
  package borrowing func openTable(
    keepingVersions name: String, create: Bool
  ) throws(LMDBError) -> Table {
    var table = try state.openTable(name, create: create)
    table.versions = try state.openTable("\(name) versions", create: create).handle
    table.branches = try state.openTable("\(name) branches", create: create).handle
    return table
  }

  /// The version of the tables that keep versions. What was written to later ones does not show.
  package var version: UInt64 {
    get { state.version }
    nonmutating set {
      state.version = newValue
      state.changeCount &+= 1
    }
  }

  /// A branch of the version: it is read, and written to, on top of the version. No other version and branch has
  /// anything of it. 0 for none.
  package var branch: UInt64 {
    get { state.branch }
    nonmutating set {
      state.branch = newValue
      state.changeCount &+= 1
    }
  }

  /// Removes all entries of a table, with their versions. (mdb_drop)
  package borrowing func removeAll(in table: Table) throws(LMDBError) {
    let handle = try state.writable()
    try state.calls.empty(handle, state.number(of: table))
    guard table.keepsVersions else { return }
    try state.calls.empty(handle, table.versions)
    try state.calls.empty(handle, table.branches)
  }

  /// Removes all branches of a table that keeps versions. (mdb_drop)
  package borrowing func removeBranches(in table: Table) throws(LMDBError) {
    let handle = try state.writable()
    if table.keepsVersions { try state.calls.empty(handle, table.branches) }
  }

  /// The names of the tables, in order. (mdb_cursor_get)
  package borrowing func tableNames() throws(LMDBError) -> [String] { try state.tableNames() }

  /// Returns the size of a table. (mdb_stat)
  package borrowing func statistics(of table: Table) throws(LMDBError) -> TableStatistics {
    try state.calls.statistics(state.readable, state.number(of: table))
  }
}
