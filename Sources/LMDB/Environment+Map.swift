import Synchronization

extension Environment {
  /// Reserves more address space. (mdb_env_set_mapsize)
  ///
  /// It waits until this process's open transactions have ended, and new ones wait until it is done. So a
  /// thread with an open transaction must not call it.
  ///
  /// - Parameters:
  ///   - bytes: the new size. A size that is not larger than the present one is ignored.
  ///   - waitingSeconds: how long to wait for open transactions.
  /// - Throws: `.busy` if they did not end in time, `.outOfMemory` if there is not enough address space. In
  ///   both cases the map stays as it was.
  package func growMap(to bytes: Int, waitingSeconds: Double = 10) throws(LMDBError) {
    let bytes = Self.roundedToPages(bytes)
    if isForked { throw LMDBError(code: .forked, call: "mdb_env_set_mapsize", path: directory) }
    try moveMap(waitingSeconds: waitingSeconds) { () throws(LMDBError) in
      let present = try calls.information(of: handle).mapBytes
      if bytes <= present { return }
      guard SystemCalls.canReserve(bytes) else {
        throw LMDBError(
          code: .outOfMemory, call: "mmap", path: directory,
          message: "\(bytes) bytes of address space cannot be reserved")
      }
      try calls.setMapBytes(handle, bytes)
    }
  }

  /// Moves the map when no transaction uses it.
  func moveMap(waitingSeconds: Double, _ move: () throws(LMDBError) -> Void) throws(LMDBError) {
    switch gate.beginExclusive(waitingSeconds: waitingSeconds) {
    case .granted: break
    case .refused(let reason): throw refusal(reason)
    case .timedOut:
      throw LMDBError(
        code: .busy, call: "mdb_env_set_mapsize", path: directory,
        message: "open transactions did not end within \(waitingSeconds) seconds",
        hint: "End read transactions that nobody needs, then try again")
    }
    defer { if gate.endExclusive() { closeNow() } }
    mapBase.store(0, ordering: .relaxed)
    do throws(LMDBError) {
      try move()
    } catch {
      // LMDB unmaps the old map before it maps the new one. If that fails, there may be no map at all.
      if error.call == "mdb_env_set_mapsize" { gate.refuse(.unmapped) }
      throw error
    }
  }
}
