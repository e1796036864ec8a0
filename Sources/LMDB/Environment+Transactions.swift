import Synchronization

extension Environment {
  /// How long a begin waits for this process's transactions when another process has grown the map.
  private static let remapWaitSeconds = 10.0

  /// How often a begin tries again when another process has grown the map.
  private static let remapsMax = 8

  /// Begins a transaction that sees the last committed state until it ends. (mdb_txn_begin)
  ///
  /// End it soon: until then, no writer can reuse the pages that later commits free.
  ///
  /// - Throws: `.closed`, `.forked`, `.panic`, `.readersFull`.
  package func beginRead() throws(LMDBError) -> Transaction {
    let begun = try admit { () throws(LMDBError) in
      try calls.begin(handle, parent: nil, readOnly: true)
    }
    let state = TransactionState(environment: self, handle: begun, isReadOnly: true)
    do throws(LMDBError) {
      try state.findMapBase()
    } catch {
      state.abort()
      throw error
    }
    return Transaction(state: state)
  }

  /// Begins the only transaction that may write. It waits until other writers, also in other processes, have
  /// ended. The transaction belongs to the calling thread. (mdb_txn_begin)
  ///
  /// - Throws: `.closed`, `.forked`, `.panic`, `.accessDenied` in a read-only environment.
  package func beginWrite() throws(LMDBError) -> Transaction {
    if isReadOnly {
      throw LMDBError(
        code: .accessDenied, call: "mdb_txn_begin", path: directory,
        message: "the environment was opened read-only", hint: "Open it without readOnly")
    }
    precondition(
      isForked || writerThread.load(ordering: .relaxed) != currentThreadNumber(),
      "this thread already has a write transaction: it would wait for itself without end")
    let begun = try admit { () throws(LMDBError) in
      try calls.begin(handle, parent: nil, readOnly: false)
    }
    writerThread.store(currentThreadNumber(), ordering: .relaxed)
    return Transaction(
      state: TransactionState(environment: self, handle: begun, isReadOnly: false))
  }

  /// Enters the gate and runs a begin or a renewal. If that fails for a reason that can be removed, removes
  /// it and tries again.
  func admit<R>(isNew: Bool = true, _ begin: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    var hasClearedReaders = false
    var remaps = 0
    while true {
      try enter(isNew: isNew)
      do throws(LMDBError) {
        return try begin()
      } catch {
        switch error.code {
        case .readersFull where !hasClearedReaders:
          defer { leave(ends: isNew) }
          hasClearedReaders = true
          _ = try calls.clearStaleReaders(handle)
        case .mapResized where remaps < Self.remapsMax:
          leave(ends: isNew)
          remaps += 1
          try adoptMap()
        default:
          if error.code == .panic { gate.refuse(.panicked) }
          leave(ends: isNew)
          throw error
        }
      }
    }
  }

  /// Adopts the map size that another process has set.
  private func adoptMap() throws(LMDBError) {
    try moveMap(waitingSeconds: Self.remapWaitSeconds) { () throws(LMDBError) in
      try calls.setMapBytes(handle, 0)
    }
  }
}
