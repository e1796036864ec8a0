internal import Dispatch
internal import OperationFormat
public import RemoteIndex
public import Replicator
internal import Synchronization

/// An index in a database of PostgreSQL, which many servers use at one time.
///
/// PostgreSQL orders each log: who appends holds the log's row until the commit. Appends to one log that wait are one
/// transaction.
public final class PostgresIndex: IndexOfRows {
  /// The most calls of one transaction.
  private static let jobsMax = 64
  /// How often a transaction is made that met another, or lost its connection before it was to be committed.
  private static let triesMax = 8
  /// More calls are not kept waiting.
  private static let waitingMax = 10_000
  /// After a connection could not be made, none is tried for so long: all calls would wait for it.
  private static let pause = Duration.seconds(1)

  /// A call that waits for a connection.
  fileprivate struct Job: Sendable {
    /// What it changes; nil if it only reads.
    var scope: IndexScope?
    /// - Returns: why it is to be undone; nil if it is not.
    var run: @Sendable (inout IndexRules<PostgresRows>) -> (any Error)?
    var finish: @Sendable ((any Error)?) -> Void
  }

  /// A connection with its thread.
  fileprivate final class Worker: @unchecked Sendable {
    let queue: DispatchQueue
    /// Only used on the queue.
    var connection: PostgresConnection?

    init(_ number: Int) { queue = DispatchQueue(label: "tributary.postgres.\(number)") }
  }

  fileprivate struct State {
    var waiting: [Job] = []
    var idle: [Worker] = []
    /// What is being changed: another transaction of this process would only wait for it.
    var busy: Set<IndexScope> = []
    /// Until when no connection is tried; nil if the last one could be made.
    var pausedUntil: ContinuousClock.Instant?
    /// Connections that only read, whatever waits to be written.
    var readersMin: Int
  }

  public let name: String
  private let address: String
  private let state: Mutex<State>
  private let hints: PostgresHints
  private let milliseconds: @Sendable () -> UInt64
  private let makeRandom: @Sendable () -> UInt64
  private let report: @Sendable (String) -> Void

  /// Connects, and makes the tables that are missing.
  ///
  /// - Parameters:
  ///   - address: `postgres://USER@HOST/DATABASE`, or another connection string of libpq.
  ///   - connections: how many it uses; two more tell others what was changed, and hear it.
  ///   - milliseconds: the clock of the server, in milliseconds since 1970.
  ///   - makeRandom: gives the identities of lists.
  ///   - report: takes the errors of the database, for the server's log: clients are told less.
  /// - Throws: `RemoteError` `unreachable`, `newerFormat`, `denied`.
  public init(
    _ address: String, connections: Int = 8, milliseconds: @escaping @Sendable () -> UInt64,
    makeRandom: @escaping @Sendable () -> UInt64, report: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(RemoteError) {
    self.address = address
    (self.milliseconds, self.makeRandom, self.report) = (milliseconds, makeRandom, report)
    let workers = (0..<max(1, connections)).map { Worker($0) }
    state = Mutex(State(idle: workers, readersMin: workers.count / 4))
    let made = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          returning: Result<(String, Int64), any Error> {
            let connection = try PostgresConnection(address)
            return (connection.name, try PostgresSchema.make(connection))
          })
      }
    }
    let version: Int64
    do {
      (name, version) = try made.get()
    } catch let error as PostgresError where error.state.isEmpty {
      throw RemoteError(
        .unreachable, "the database cannot be reached: \(error)",
        hint: "check the address of --index, the user and the password, and that the database is there",
        underlying: error)
    } catch {
      throw RemoteError(ofIndex: error, "the database")
    }
    guard version == PostgresSchema.version else {
      throw RemoteError(
        .newerFormat, "\(name) has version \(version), and this program knows \(PostgresSchema.version)",
        hint: "use a newer version of the server")
    }
    hints = PostgresHints(address)
  }

  deinit { hints.stop() }

  /// Ends it, once nothing is waiting.
  public func close() { hints.stop() }

  /// What other servers on the same database change, and this one.
  public func changes() -> AsyncStream<RemoteHint> { hints.listen() }

  /// Whether the database answers now.
  public func isReachable() async -> Bool {
    do throws(RemoteError) {
      _ = try await read { try $0.rows.place() }
      return true
    } catch {
      return false
    }
  }

  // MARK: Calls

  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (inout IndexRules<PostgresRows>) throws -> Result
  ) async throws(RemoteError) -> Result { try await perform(nil, body) }

  public func write<Result: Sendable>(
    _ scope: IndexScope, _ body: @escaping @Sendable (inout IndexRules<PostgresRows>) throws -> Result
  ) async throws(RemoteError) -> Result { try await perform(scope, body) }

  private func perform<Value: Sendable>(
    _ scope: IndexScope?, _ body: @escaping @Sendable (inout IndexRules<PostgresRows>) throws -> Value
  ) async throws(RemoteError) -> Value {
    let outcome = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, any Error>, Never>) in
      let found = Mutex<Value?>(nil)
      let job = Job(scope: scope) { rules in
        do {
          let value = try body(&rules)
          found.withLock { $0 = value }
          return nil
        } catch {
          return error
        }
      } finish: { error in
        let value = found.withLock { $0 }
        switch (error, value) {
        case (let error?, _): continuation.resume(returning: .failure(error))
        case (nil, let value?): continuation.resume(returning: .success(value))
        case (nil, nil): fatalError("a call that was committed has a value")
        }
      }
      let isTaken = state.withLock { state in
        guard state.waiting.count < Self.waitingMax, state.pausedUntil.map({ $0 <= .now }) ?? true else {
          return false
        }
        state.waiting.append(job)
        return true
      }
      if !isTaken { return job.finish(PostgresError(state: "", message: "too many calls wait for it")) }
      dispatch()
    }
    do {
      return try outcome.get()
    } catch {
      throw RemoteError(ofIndex: error, name)
    }
  }

  // MARK: Transactions

  /// Gives connections that are idle what waits.
  private func dispatch() {
    while let (worker, jobs) = state.withLock({ $0.takeBatch(Self.jobsMax) }) {
      worker.queue.async { [self] in
        run(jobs, worker)
        state.withLock { state in
          if let scope = jobs[0].scope { state.busy.remove(scope) }
          state.idle.append(worker)
        }
        dispatch()
      }
    }
  }

  /// Runs calls in one transaction; each by itself if together they do not succeed.
  private func run(_ jobs: [Job], _ worker: Worker) {
    do {
      let errors = try transact(jobs, worker)
      for (job, error) in zip(jobs, errors) { job.finish(error) }
    } catch {
      report("\(error)")
      // What is wrong with the connection is wrong for all.
      if jobs.count == 1 || (error as? PostgresError)?.endsConnection ?? false {
        for job in jobs { job.finish(error) }
      } else {
        for job in jobs { run([job], worker) }
      }
    }
  }

  /// - Returns: why each of the calls was undone; nil if it was not.
  /// - Throws: if nothing was done, or if that is not known.
  private func transact(_ jobs: [Job], _ worker: Worker) throws -> [(any Error)?] {
    var tries = 0
    while true {
      tries += 1
      var isCommitting = false
      let isReused = worker.connection != nil
      do {
        return try transactOnce(jobs, worker, &isCommitting)
      } catch let error as PostgresError {
        if error.endsConnection {
          worker.connection = nil
        } else {
          do { try worker.connection?.run("rollback") } catch { worker.connection = nil }
        }
        // Nothing was done yet, or it was undone.
        let mayRepeat = error.isTransactionConflict || error.endsConnection && !isCommitting && isReused
        guard mayRepeat, tries < Self.triesMax else { throw error }
      }
    }
  }

  private func transactOnce(
    _ jobs: [Job], _ worker: Worker, _ isCommitting: inout Bool
  ) throws -> [(any Error)?] {
    let connection = try connection(of: worker)
    guard let scope = jobs[0].scope else {
      // All rows as they were at one time.
      try connection.run("begin isolation level repeatable read read only")
      var rules = rules(PostgresRows(connection, writes: false))
      let error = jobs[0].run(&rules)
      if let error = error as? PostgresError { throw error }
      try connection.commit()
      return [error]
    }
    // Each statement sees what was committed before it, so also what was waited for.
    try connection.run("begin isolation level read committed")
    // The row may not be there yet.
    switch scope {
    case .log: break
    case .list(let account): try lock("list \(account)", connection)
    case .index: try lock("index", connection)
    }
    let rows = PostgresRows(connection, writes: true)
    var rules = rules(rows)
    var errors: [(any Error)?] = []
    for job in jobs {
      let before = (rows.changedLogs, rows.hasChangedList)
      if jobs.count > 1 { try connection.run("savepoint call") }
      let error = job.run(&rules)
      if let error = error as? PostgresError { throw error }
      if error != nil {
        if jobs.count == 1 {
          try connection.run("rollback")
          return [error]
        }
        try connection.run("rollback to savepoint call")
        rows.forget(before)
      }
      errors.append(error)
    }
    isCommitting = true
    // Also if the answer is lost: it may have been committed.
    defer { hints.notify(rows.changedLogs, list: rows.hasChangedList) }
    try connection.commit()
    return errors
  }

  /// Waits for others that have the same name, to the end of the transaction.
  private func lock(_ name: String, _ connection: PostgresConnection) throws(PostgresError) {
    try connection.query(
      "select pg_advisory_xact_lock(hashtextextended(encode($1::bytea, 'hex'), 7311420231))",
      [.bytes(Array(name.utf8))])
  }

  private func connection(of worker: Worker) throws(PostgresError) -> PostgresConnection {
    if let connection = worker.connection { return connection }
    do throws(PostgresError) {
      let connection = try PostgresConnection(address)
      worker.connection = connection
      state.withLock { $0.pausedUntil = nil }
      return connection
    } catch {
      state.withLock { $0.pausedUntil = .now + Self.pause }
      throw error
    }
  }

  private func rules(_ rows: PostgresRows) -> IndexRules<PostgresRows> {
    IndexRules(rows, milliseconds: milliseconds(), random: makeRandom, index: name)
  }
}

extension PostgresIndex.State {
  /// Takes calls that may run now, and a connection for them: all that wait for one log go together.
  fileprivate mutating func takeBatch(_ most: Int) -> (PostgresIndex.Worker, [PostgresIndex.Job])? {
    let mayWrite = idle.count > readersMin
    guard !idle.isEmpty,
      let first = waiting.firstIndex(where: { $0.scope.map { mayWrite && !busy.contains($0) } ?? true })
    else { return nil }
    let scope = waiting[first].scope
    var jobs = [waiting.remove(at: first)]
    if let scope {
      busy.insert(scope)
      var index = first
      while index < waiting.count, jobs.count < most {
        if waiting[index].scope == scope { jobs.append(waiting.remove(at: index)) } else { index += 1 }
      }
    }
    return (idle.removeLast(), jobs)
  }
}

extension RemoteError {
  /// An error of a transaction, as one of a remote.
  init(ofIndex error: any Error, _ index: String) {
    switch error {
    case let error as RemoteError: self = error
    case let error as PostgresError where error.isTemporary:
      self.init(
        .later, "the server's database cannot be used now", hint: "it is tried again by itself",
        retryAfterMilliseconds: 1000, underlying: error)
    case let error as PostgresError where error.isStorageFull:
      self.init(
        .overQuota, "the server's database has no room", hint: "free space on the database's disk",
        underlying: error)
    case let error as PostgresError where error.isDamage:
      self.init(
        .damaged, "\(index) has a row that cannot be read: \(error)",
        hint: "restore the server's database from a backup", underlying: error)
    case let error as FormatError:
      self.init(
        .damaged, "\(index) has a row that cannot be read: \(error)",
        hint: "restore the server's database from a backup", underlying: error)
    case let error as PostgresError where ["28000", "28P01", "42501", "3D000"].contains(error.state):
      self.init(
        .denied, "\(index) does not let the server in: \(error)",
        hint: "check the user, the password and the database of --index", underlying: error)
    default:
      self.init(
        .system, "\(index) failed: \(error)", hint: "look at the database's log, and try again",
        underlying: error)
    }
  }
}
