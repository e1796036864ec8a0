/// A view of one state of the store, and, unless read-only, the changes to be made to it. Ended without a commit it
/// changes nothing.
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

  /// The same transaction under another name, which does not end it. When the first one has ended, this one must not be
  /// used.
  package borrowing func alias() -> Transaction { Transaction(state: state, isAlias: true) }

  /// Whether it can only read.
  package var isReadOnly: Bool { state.isReadOnly }

  /// The id of the state that it reads; of the one that it makes, if it writes. (mdb_txn_id)
  package var id: UInt64 { state.calls.id(of: state.readable) }

  /// Makes all changes at once, and durable as the environment's sync mode says. (mdb_txn_commit)
  ///
  /// - Throws: `.noSpace`, `.inputOutput`, `.mapFull` and others. Nothing was changed then, except that after
  ///   `.inputOutput` only a newly opened environment shows whether it was.
  package consuming func commit() throws(LMDBError) {
    try state.commit()
  }

  /// Forgets all changes. (mdb_txn_abort)
  package consuming func abort() {
    state.abort()
  }

  /// Lets go of the state that a read-only transaction sees, but not of its reader slot. (mdb_txn_reset)
  package mutating func reset() {
    state.reset()
  }

  /// Lets a reset transaction see the last committed state. (mdb_txn_renew)
  package mutating func renew() throws(LMDBError) {
    try state.renew()
  }

  /// Begins a transaction inside this one, which must rest until the other has ended. (mdb_txn_begin)
  ///
  /// If it is committed, its changes are this one's. It costs nothing before it changes something or opens a cursor.
  package borrowing func beginNested() -> Transaction {
    Transaction(state: TransactionState(nestedIn: state))
  }

  /// Whether it is a nested transaction that has neither changed anything nor opened a cursor.
  package var isUntouched: Bool { state.isDeferred }

  /// Opens a table. (mdb_dbi_open)
  ///
  /// - Throws: `.notFound` if there is none of that name and `create` is false, `.tablesFull`, `.busy` if another
  ///   transaction of this process is opening a table that was not there when the environment was opened.
  package borrowing func openTable(_ name: String, create: Bool) throws(LMDBError) -> Table {
    try state.openTable(name, create: create)
  }

  /// The names of the tables, in order. (mdb_cursor_get)
  package borrowing func tableNames() throws(LMDBError) -> [String] { try state.tableNames() }

  /// Says how large a table is. (mdb_stat)
  package borrowing func statistics(of table: Table) throws(LMDBError) -> TableStatistics {
    try state.calls.statistics(state.readable, state.number(of: table))
  }
}
