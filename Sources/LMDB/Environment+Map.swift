import Synchronization

extension Environment {
  /// Reserves more address space. New transactions wait until it is done, and it waits until those of this process
  /// that are open have ended, so a thread that has one open must not call it. (mdb_env_set_mapsize)
  ///
  /// - Parameters:
  ///   - bytes: the new size; a smaller one than the present is ignored.
  ///   - waitingSeconds: how long to wait for open transactions.
  /// - Throws: `.busy` if they did not end in time, `.outOfMemory` if there is not so much address space: then the
  ///   map is as before.
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

  /// Moves the map while no transaction uses it.
  func moveMap(waitingSeconds: Double, _ move: () throws(LMDBError) -> Void) throws(LMDBError) {
    switch gate.beginExclusive(waitingSeconds: waitingSeconds) {
    case .granted: break
    case .refused(let reason): throw refusal(reason)
    case .timedOut:
      throw LMDBError(
        code: .busy, call: "mdb_env_set_mapsize", path: directory,
        message: "open transactions did not end within \(waitingSeconds) seconds",
        hint: "End read transactions that wait for nothing, then try again")
    }
    defer { if gate.endExclusive() { closeNow() } }
    mapBase.store(0, ordering: .relaxed)
    do throws(LMDBError) {
      try move()
    } catch {
      // LMDB unmaps before it maps anew, so after a refusal of that there may be no map at all.
      if error.call == "mdb_env_set_mapsize" { gate.refuse(.unmapped) }
      throw error
    }
  }
}
