public import EventStore
import Logging
import Synchronization

/// Syncs a store with a remote: ships what was written here, and folds in what others shipped.
///
/// ```swift
/// let remote = FolderRemote(directory: "/mnt/team/notes")
/// let replicator = LogReplicator(store: store, remote: remote)
/// let report = try await replicator.syncOnce()
/// ```
///
/// A round can be cut short anywhere, by cancellation or a crash. What it folded is stored with its token,
/// what it shipped is recognised, and the next round continues. Several replicators may work at one store at
/// the same time, in one process or in many.
public final class LogReplicator: Sendable {
  public let store: LocalStore
  public let remote: any RemoteLog
  public let zones: ZoneSelection
  let configuration: ReplicatorConfiguration
  /// What its rounds have found.
  let board = StatusBoard()
  /// Whether the log was told that a clock is wrong, since it was last right.
  private let hasWarnedOfClock = Mutex(false)
  /// The events of each ``run(_:)`` that runs.
  private let running = Mutex<[UInt64: AsyncStream<ReplicatorEvent>.Continuation]>([:])

  public init(
    store: LocalStore, remote: any RemoteLog, zones: ZoneSelection = .all,
    configuration: ReplicatorConfiguration = ReplicatorConfiguration()
  ) {
    self.store = store
    self.remote = remote
    self.zones = zones
    self.configuration = configuration
  }

  /// Makes one round: fetches and ships until neither moves.
  ///
  /// - Parameters:
  ///   - steps: which halves of it.
  ///   - zones: the only zones of this round, such as the one that the user has opened; nil for those of the replicator. To
  ///     name a zone that the remote offers attaches it: it is fetched, and is synced from then on.
  /// - Returns: what it did in each zone. If a zone could not be synced, its status says why; the others went
  ///   on.
  /// - Throws: ``SyncFailure`` if the remote or the store as a whole failed; `StoreError` `zoneUnknown` if neither side has
  ///   a zone of `zones`; `CancellationError`. What was done before is kept, and the next round continues.
  @discardableResult
  public func syncOnce(_ steps: SyncSteps = .all, zones: Set<ZoneID>? = nil) async throws -> SyncReport {
    let last = Latest()
    await drive(.syncRequested(steps), only: zones, isRunning: false) { last.report = $0 }
    try Task.checkCancellation()
    guard let report = last.report else { throw CancellationError() }
    if let failure = report.failure { throw failure }
    // An event that cannot be read may name the zone: then the report says so.
    if let zones, report.listProblems.isEmpty {
      let unknown = zones.subtracting(report.zones.lazy.map(\.zone)).sorted()
      if let zone = unknown.first { throw unknownZone(zone) }
    }
    return report
  }

  private func unknownZone(_ zone: ZoneID) -> StoreError {
    StoreError(
      .zoneUnknown, "neither the store nor \(remote.name) has a zone “\(zone)”",
      hint: "check its name. If another device has just made it, sync again when that has sent it")
  }

  /// Syncs until the task is cancelled or the store is closed: at once, after each commit here, when the remote
  /// notifies of a change, and periodically. If the remote fails it retries without end, with exponential backoff up
  /// to a bound. A ``syncOnce(_:zones:)`` of this replicator that succeeds ends a wait: call it after the user has signed in
  /// again.
  ///
  /// - Parameter didSync: called after each round, also one that failed: see ``SyncReport/failure``.
  public func run(_ didSync: @escaping @Sendable (SyncReport) -> Void = { _ in }) async {
    await drive(.started, isRunning: true, didSync)
  }

  /// Drives a machine: performs its effects, and gives it their results.
  ///
  /// - Parameter only: the only zones to sync; nil for all of the replicator.
  private func drive(
    _ first: ReplicatorEvent, only: Set<ZoneID>? = nil, isRunning: Bool,
    _ didSync: @escaping @Sendable (SyncReport) -> Void
  ) async {
    let selection = only.map { ZoneSelection.only($0) } ?? zones
    let rules = configuration.zoneRules
    var machine = ReplicatorMachine(policy: configuration.policy, selection: selection, rules: rules)
    let runner = EffectRunner(
      store: store, remote: remote, selection: selection, rules: rules,
      pageBytesMax: configuration.pageBytesMax, makeRandom: configuration.makeRandom,
      assetProgress: noting(configuration.assetProgress))
    let (events, feed) = AsyncStream.makeStream(of: ReplicatorEvent.self)
    let number = running.withLock { running in
      let number = (running.keys.max() ?? 0) + 1
      if isRunning { running[number] = feed }
      return number
    }
    defer { running.withLock { running in if isRunning { running[number] = nil } } }
    let steps: SyncSteps = if case .syncRequested(let steps) = first { steps } else { .all }
    if isRunning { board.count(runs: 1) }
    defer { if isRunning { board.count(runs: -1) } }
    // A discarding group: any other keeps the result of every effect until it is asked for.
    await withDiscardingTaskGroup { group in
      if isRunning {
        // Both are watched before the first round reads anything, so that no later change is missed.
        let (commits, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observation = store.onCommit { wake.yield() }
        group.addTask {
          defer { observation.cancel() }
          await self.watch(commits, wake, feed)
        }
        let changes = remote.changes()
        group.addTask { await self.watch(changes, feed) }
      }
      feed.yield(first)
      var timers: [ReplicatorTimer: Task<Void, Never>] = [:]
      var isInRound = false
      defer { if isInRound { board.endRound() } }
      for await event in events {
        if case .completed(let result) = event { board.note(result) }
        for effect in machine.step(event) {
          switch effect {
          case .round(let effect):
            if !isInRound { board.beginRound(ofRun: isRunning) }
            isInRound = true
            board.note(effect)
            group.addTask { feed.yield(.completed(await runner.perform(effect))) }
          case .setTimer(let timer, let range):
            timers[timer]?.cancel()
            let milliseconds = drawMilliseconds(range)
            if timer == .next {
              let (time, isTooLate) = store.wallMilliseconds().addingReportingOverflow(milliseconds)
              board.planRetry(at: isTooLate ? .max : time)
            }
            timers[timer] = startTimer(timer, milliseconds, feed)
          case .announce:
            if isRunning { group.addTask { await runner.announce() } } else { await runner.announce() }
          case .report(var report):
            report.clockOffset = runner.clock.take()
            log(report)
            if isInRound { board.endRound() }
            isInRound = false
            // The report of a cancelled round says nothing about the remote or the store.
            if !Task.isCancelled {
              board.take(report, of: steps, isWhole: only == nil, at: store.wallMilliseconds())
              didSync(report)
            }
            if !isRunning {
              if report.failure == nil { tellRunning() }
              feed.finish()
            } else if report.failure?.errorCode == SyncFailure.Code(StoreError.Code.closed) {
              feed.finish()
            }
          }
        }
      }
      for timer in ReplicatorTimer.allCases { timers[timer]?.cancel() }
      group.cancelAll()
    }
  }

  /// Lets what runs know that the remote works again: it may wait after a failure.
  private func tellRunning() {
    for feed in running.withLock({ Array($0.values) }) { feed.yield(.remoteWorks) }
  }

  private func drawMilliseconds(_ range: ClosedRange<Int64>) -> Int64 {
    let spread = UInt64(range.upperBound - range.lowerBound) + 1
    return range.lowerBound + Int64(configuration.makeRandom() % spread)
  }

  /// Has the bytes of assets counted that move.
  private func noting(_ told: (@Sendable (AssetProgress) -> Void)?) -> @Sendable (AssetProgress) -> Void {
    { [board] progress in
      board.note(progress)
      told?(progress)
    }
  }

  private func startTimer(
    _ timer: ReplicatorTimer, _ milliseconds: Int64, _ feed: AsyncStream<ReplicatorEvent>.Continuation
  ) -> Task<Void, Never> {
    let sleep = configuration.sleep
    return Task {
      // A cancelled timer does not fire.
      guard (try? await sleep(milliseconds)) != nil else { return }
      feed.yield(.timerFired(timer))
    }
  }

  /// Feeds commits after which there is something to ship: this process's as they come, others' by polling.
  private func watch(
    _ commits: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation,
    _ feed: AsyncStream<ReplicatorEvent>.Continuation
  ) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var last = try? self.store.lastCommitID
        while (try? await self.configuration.sleep(self.configuration.commitPollMilliseconds)) != nil {
          // A closed store has no commits. The rounds report that.
          let found = try? self.store.lastCommitID
          if found != last {
            wake.yield()
            self.board.tell()
          }
          last = found
        }
        wake.finish()
      }
      for await _ in commits {
        do {
          let state = try self.store.syncState()
          guard state.hasSomethingToShip(in: self.zones) || self.hasLateAsset(in: state) else { continue }
        } catch {
          // A round says what is wrong, also in the wait after a failure, and ends the run if the store is closed.
          feed.yield(.remoteWorks)
        }
        feed.yield(.localCommit)
      }
    }
  }

  /// Whether an asset that a segment was shipped without is here now.
  private func hasLateAsset(in state: StoreSyncState) -> Bool {
    state.zones.contains { zone in
      // The rounds report what cannot be read.
      zone.hasUnsentAssets && zone.attachment == .attached && zones.contains(zone)
        && (try? store.assetTransfers.nextUnsent(of: zone.zone, after: nil)) ?? nil != nil
    }
  }

  /// Feeds the remote's changes. A stream that ends is asked for again: the remote's medium may have come
  /// back.
  private func watch(
    _ first: AsyncStream<RemoteHint>, _ feed: AsyncStream<ReplicatorEvent>.Continuation
  ) async {
    var changes = first
    while true {
      var isLive = false
      for await hint in changes {
        isLive = true
        feed.yield(.remoteChanged(hint))
      }
      guard (try? await configuration.sleep(configuration.policy.pollMilliseconds)) != nil else { return }
      // Nobody knows what happened meanwhile. A remote that gives no hints is polled anyway.
      if isLive { feed.yield(.remoteChanged(.logs([:]))) }
      changes = remote.changes()
    }
  }

  /// Whether clocks differ by much, and did not when they were last compared.
  private func isNews(_ offset: ClockOffset) -> Bool {
    hasWarnedOfClock.withLock { hasWarned in
      defer { hasWarned = offset.isNotable }
      return offset.isNotable && !hasWarned
    }
  }

  private func log(_ report: SyncReport) {
    guard let logger = configuration.logger else { return }
    if let failure = report.failure {
      logger.warning("round failed: \(failure)", metadata: ["remote": "\(remote.name)"])
    }
    if let offset = report.clockOffset, isNews(offset) {
      logger.warning("\(offset): \(offset.hint)", metadata: ["remote": "\(remote.name)"])
    }
    if let failure = report.retirementFailure {
      logger.warning("history was not retired: \(failure)", metadata: ["remote": "\(remote.name)"])
    }
    for problem in report.listProblems {
      logger.warning("\(problem)", metadata: ["remote": "\(remote.name)"])
    }
    for zone in report.zones {
      if let problem = zone.assetProblems.first {
        logger.warning(
          "zone \(zone.zone): \(zone.assetProblemCount) assets did not move, such as: \(problem)")
      }
      if zone.forks > 0 {
        logger.warning(
          "zone \(zone.zone): another store wrote under this one's identity; both branches are kept")
      }
      if let failure = zone.trimFailure {
        logger.warning("the log of zone \(zone.zone) was not trimmed: \(failure)")
      }
      switch zone.status {
      case .inSync, .unchanged, .local, .removed, .unfinished: continue
      default: logger.warning("zone \(zone.zone) is not in sync: \(zone.status)")
      }
    }
    logger.debug(
      "round: sent \(report.sent), received \(report.received), conflicts \(report.conflicts)",
      metadata: ["remote": "\(remote.name)"])
  }
}

extension StoreSyncState {
  /// Whether a round would ship something of the zones.
  func hasSomethingToShip(in selection: ZoneSelection) -> Bool {
    zones.contains { zone in
      guard selection.contains(zone) else { return false }
      switch zone.attachment {
      case .attached: return zone.pending > 0 || zone.token == nil
      case .deleting: return true
      case .local, .offered: return false
      }
    }
  }
}

/// Holds the last report of a driven machine.
private final class Latest: Sendable {
  private let mutex = Mutex<SyncReport?>(nil)
  var report: SyncReport? {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}
