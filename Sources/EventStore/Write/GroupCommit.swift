import LMDB
import OperationFormat

/// Runs waiting jobs in groups. A group shares one commit, and so one sync.
///
/// Each job has a nested transaction, so that a failure undoes only its own changes. The first job needs
/// none, and neither does a job that has written nothing by the time when only the store can fail. The
/// ``StoreWriter`` owns it.
final class GroupCommit {
  /// The most jobs of a group, so that later jobs do not wait too long, and a failed commit does not cost too
  /// much.
  static let jobsMax = 256
  /// A group ends when its transactions have so many bytes.
  static let bytesMax = 8 << 20
  /// The map grows when less than this is free, so that a write hardly ever finds it full.
  static let headroomBytesMin = 64 << 20
  /// After so much growth of the file, dead readers are looked for: LMDB itself looks for them only when a writer was
  /// killed or the table of readers is full.
  static let growthBytesMax = 1 << 20

  private let environment: Environment
  private let store: StoreTransaction
  private let write: LocalWrite
  private let configuration: StoreConfiguration
  private let didCommit: (Interned) -> Void
  /// Whether a closure found the map full. Then the map grows, even if enough is free for other jobs.
  private var wasFull = false
  /// The length of what was used when dead readers were looked for last.
  private var usedBytesChecked = -GroupCommit.growthBytesMax
  /// Whether the write lock is held, as last reported.
  private var isLockHeld = false

  private struct Done {
    var job: WriteJob
    var kept: [KeptTransaction]
    var zoneChanges: [ZoneChange]
    var written: Written?
  }

  init(
    environment: Environment, write: LocalWrite, configuration: StoreConfiguration,
    didCommit: @escaping (Interned) -> Void
  ) {
    self.environment = environment
    self.write = write
    store = write.store
    self.configuration = configuration
    self.didCommit = didCommit
  }

  func perform(_ first: WriteJob, _ more: () -> WriteJob?) {
    var next: WriteJob? = first
    while let job = next {
      next = group(from: job, more)
    }
  }

  /// Runs one group.
  ///
  /// - Returns: the first job of the next group, if it was taken from the queue already.
  private func group(from first: WriteJob, _ more: () -> WriteJob?) -> WriteJob? {
    defer { tellLock(isHeld: false) }
    do {
      try ensureHeadroom()
      try begin()
    } catch {
      abort()
      if first.start() { first.finish(StoreError.translate(error)) }
      return nil
    }
    var done: [Done] = []
    var byteCount = 0
    var next: WriteJob? = first
    while let job = next {
      next = nil
      guard job.start() else {
        next = more()
        continue
      }
      let isNested = !done.isEmpty
      if isNested {
        do {
          try store.beginNested()
        } catch {
          // Rows of earlier jobs may be half written.
          abort()
          fail(done, after: error)
          job.finish(StoreError.translate(error))
          return more()
        }
      }
      do {
        write.removeKept()
        try job.run(write)
        if isNested { try store.commitNested() }
        byteCount += store.appendedBytes
        done.append(
          Done(job: job, kept: write.kept, zoneChanges: write.zoneChanges, written: write.written))
      } catch {
        if let error = error as? LMDBError, error.code == .mapFull { wasFull = true }
        if store.storage.isNested {
          store.abortNested()
          write.dropDrafts()
          job.finish(StoreError.translate(error))
        } else {
          abort()
          fail(done, after: error)
          job.finish(StoreError.translate(error))
          return more()
        }
      }
      guard done.count < Self.jobsMax, byteCount < Self.bytesMax else { break }
      next = more()
    }
    commit(done)
    return nil
  }

  private func commit(_ done: [Done]) {
    guard !done.isEmpty else { return abort() }
    let transactionID = store.storage.transaction.id
    do {
      try commitBatch(done)
      publish(done)
    } catch let error as LMDBError where error.code == .mapFull {
      abort()
      retry(done, after: error)
    } catch {
      abort()
      resolve(done, transactionID, after: error)
    }
  }

  private func begin() throws {
    let transaction = try environment.beginWrite()
    tellLock(isHeld: true)
    try store.begin(transaction)
  }

  private func abort() {
    store.abort()
    write.dropDrafts()
  }

  /// Reports that the write lock was taken or released.
  private func tellLock(isHeld: Bool) {
    guard isHeld != isLockHeld else { return }
    isLockHeld = isHeld
    configuration.writeLockDidChange?(isHeld)
  }

  private func commitBatch(_ done: [Done]) throws {
    let failure = try CommitFault.check(configuration.commitFault, at: environment.directory)
    try store.commit(isPlain: done.allSatisfy { !$0.job.isRepeatable && $0.zoneChanges.isEmpty })
    tellLock(isHeld: false)
    if let failure { throw failure }
  }

  /// Finishes jobs whose transaction was undone before its commit.
  private func fail(_ done: [Done], after error: any Error) {
    if let error = error as? LMDBError, error.code == .mapFull { return retry(done, after: error) }
    for one in done { one.job.finish(StoreError.translate(error)) }
  }

  /// Reports success, unless the data file has lost its name: then nobody will ever read it.
  private func publish(_ done: [Done]) {
    guard !isRemoved else {
      let failure = StoreError.removed(environment.directory)
      for one in done { one.job.finish(failure) }
      return
    }
    didCommit(store.storage.interned)
    for index in done.indices {
      done[index].written?.set(done[index].kept.map(Written.Transaction.init))
      done[index].job.finish(nil)
    }
  }

  private var isRemoved: Bool {
    do {
      return try environment.isRemoved
    } catch {
      // If that cannot be read, the file counts as there: the commit itself succeeded.
      return false
    }
  }

  /// Grows a full map, and does the jobs' work again. Closures of the app do not run twice: their
  /// transactions are appended and folded again.
  private func retry(_ done: [Done], after error: any Error) {
    var again = done
    let transactionID: UInt64
    do {
      wasFull = true
      guard try grow(to: try environment.information.mapBytes * 2) else { throw error }
      wasFull = false
      while let failed = try redo(&again) {
        // Only this job fails; the others are done again without it.
        abort()
        again.remove(at: failed.index).job.finish(StoreError.translate(failed.error))
        if again.isEmpty { return }
      }
      transactionID = store.storage.transaction.id
    } catch {
      abort()
      for one in again { one.job.finish(StoreError.translate(error)) }
      return
    }
    do {
      try commitBatch(again)
      publish(again)
    } catch {
      abort()
      resolve(again, transactionID, after: error)
    }
  }

  /// Does the jobs' work again, in a new transaction.
  ///
  /// - Returns: a job that failed and may fail without the others. The caller then undoes the transaction.
  private func redo(_ done: inout [Done]) throws -> (index: Int, error: any Error)? {
    try begin()
    for index in done.indices {
      write.removeKept()
      if done[index].job.isRepeatable {
        do {
          try done[index].job.run(write)
        } catch let error where !(error is LMDBError) {
          return (index, error)
        }
      } else {
        try KeptWrite(write).append(done[index].kept, done[index].zoneChanges)
      }
      done[index].kept = write.kept
    }
    return nil
  }

  /// Finds out after a failed commit whether its transactions are in the store, and reports that.
  private func resolve(_ done: [Done], _ transactionID: UInt64, after error: any Error) {
    let translated = StoreError.translate(error)
    let cause = (translated as? StoreError)?.message ?? "\(translated)"
    let failure: StoreError
    do {
      switch try isCommitted(done, transactionID) {
      case true?:
        for one in done { one.written?.set(one.kept.map(Written.Transaction.init)) }
        failure = StoreError(
          .commitUncertain, "the commit failed, yet its transactions are in the store: \(cause)",
          hint: "close the store and open it again: whether the disk has the data only that can tell",
          underlying: error)
      case nil:
        failure = StoreError(
          .commitUncertain, "the commit failed, and what it did may be in the store or not: \(cause)",
          hint: "look whether it is there before you do it again", underlying: error)
      case false?:
        failure = StoreError(
          .commitFailed, "the commit failed and nothing of it is in the store: \(cause)",
          hint: "make room or mend the disk and write again; if that fails too, close the store and open it "
            + "again",
          underlying: error)
      }
    } catch let readError {
      failure = StoreError(
        .commitUncertain,
        "the commit failed (\(cause)), and so did reading what became of it: \(readError)",
        hint: "close the store and open it again: what is in the log then was committed", underlying: error)
    }
    for one in done { one.job.finish(failure) }
  }

  /// Whether a group's transactions are in the store: its last one is in the log with the same bytes. Another
  /// process may have written since, even under the same sequence.
  ///
  /// - Returns: nil if that cannot be found out: without a transaction to look for, the id alone says
  ///   nothing, because another process may have committed under it.
  private func isCommitted(_ done: [Done], _ transactionID: UInt64) throws -> Bool? {
    let transaction = try environment.beginRead()
    // A deletion may have removed what the group wrote to the zone.
    let deletes = done.contains { $0.zoneChanges.contains { $0.isDeletion } }
    guard !deletes, let last = done.last(where: { !$0.kept.isEmpty })?.kept.last else {
      return transaction.id < transactionID ? false : nil
    }
    let readView = ReadView(transaction, tables: store.storage.tables, interned: Interned())
    let header = last.header
    guard let zone = try readView.zones.find(header.zone)?.number,
      let replica = try readView.replicas.number(of: header.replica),
      let position = try readView.log.position(of: replica, header.epoch, header.sequence, in: zone)
    else { return false }
    return try readView.log.withEntry(at: position) { found, body in
      try readView.log.transactionHeader(of: found) == header && body.bytes == last.body
    }
  }

  /// Grows the map before it is full. If a reader blocks that, or there is no more address space, writes
  /// continue with what is free.
  ///
  /// The file may grow because a process was killed in a read: its entry keeps the pages that it saw.
  private func ensureHeadroom() throws {
    let information = try environment.information
    let used = (information.lastPage + 1) * information.pageBytes
    if used - usedBytesChecked >= Self.growthBytesMax {
      try environment.clearDeadReaders()
      usedBytesChecked = used
    }
    guard wasFull || information.mapBytes - used < Self.headroomBytesMin, information.mapBytes < 1 << 40
    else { return }
    let bytes = max(information.mapBytes * 2, used + 2 * Self.headroomBytesMin)
    if try grow(to: bytes) { wasFull = false }
  }

  /// How long a necessary growth waits for open reads. A writer on the readers' thread would wait in vain.
  private var growthWaitSeconds: Double { configuration.writesOnCallingThread ? 0 : 10 }

  /// Grows the map.
  ///
  /// - Returns: false if it is not possible now.
  private func grow(to bytes: Int) throws(LMDBError) -> Bool {
    do throws(LMDBError) {
      try environment.growMap(to: bytes, waitingSeconds: wasFull ? growthWaitSeconds : 0)
      return true
    } catch {
      if error.code == .busy || error.code == .outOfMemory { return false }
      throw error
    }
  }
}
