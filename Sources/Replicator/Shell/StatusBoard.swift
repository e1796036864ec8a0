import EventStore
import Synchronization

/// What the rounds of a replicator have found, from which its status follows.
final class StatusBoard: Sendable {
  fileprivate struct State {
    /// Replicators that run.
    var runs = 0
    /// Rounds that are being made.
    var rounds = 0
    var progress: [ZoneID: SyncProgress] = [:]
    var isReported = false
    var zones: [ZoneID: ZoneStatus] = [:]
    var listProblems: [ZoneListProblem] = []
    /// Why the last round failed as a whole.
    var failure: SyncFailure?
    /// When the first failure in a row was, of a zone or of whole rounds (nil).
    var failedSince: [ZoneID?: Int64] = [:]
    var retry: Int64?
    var lastSynced: Int64?
    var clockOffset: ClockOffset?
    var lastListener: UInt64 = 0
    var listeners: [UInt64: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Mutex(State())

  // MARK: Rounds

  /// A replicator runs from now on, or no more.
  func count(runs: Int) {
    change { state in
      state.runs += runs
      state.retry = nil
    }
  }

  func beginRound(ofRun isRunning: Bool) {
    change { state in
      if state.rounds == 0 { state.progress = [:] }
      state.rounds += 1
      if isRunning { state.retry = nil }
    }
  }

  func endRound() { change { $0.rounds -= 1 } }

  /// - Parameters:
  ///   - steps: those that the round did.
  ///   - isWhole: whether it was of all zones that the replicator syncs.
  func take(_ report: SyncReport, of steps: SyncSteps, isWhole: Bool = true, at now: Int64) {
    change { $0.take(report, steps, isWhole, now) }
  }

  /// Lets listeners look: something was committed that they do not hear of.
  func tell() { change { _ in } }

  /// Notes what an effect of a round sends: once it is to be acknowledged, the remote has it.
  func note(_ effect: RoundEffect) {
    guard case .zone(let zone, .acknowledge(let header, _)) = effect else { return }
    change { $0.progress[zone, default: SyncProgress()].sent += header.sequences.count }
  }

  /// Notes what a round has received.
  func note(_ result: RoundResult) {
    guard case .zone(let zone, .folded(let outcome)) = result, outcome.report.folded > 0 else { return }
    change { $0.progress[zone, default: SyncProgress()].received += outcome.report.folded }
  }

  func note(_ progress: AssetProgress) {
    change { state in
      state.progress[progress.zone, default: SyncProgress()].assets[progress.reference.hash] =
        progress.bytesDone
    }
  }

  /// - Parameter time: when the next round is made.
  func planRetry(at time: Int64?) { change { $0.retry = time } }

  // MARK: Status

  func status(_ store: StoreSyncState, _ selection: ZoneSelection) -> ReplicatorStatus {
    let chosen = store.zones.filter { selection.contains($0) }
    return state.withLock { state in
      let synced = chosen.filter { $0.attachment == .attached }.map { ($0.zone, state.status(of: $0)) }
      // Deletions that the remote has not seen.
      let deleted = chosen.filter { $0.attachment == .deleting }.map { state.status(of: $0) }
      return ReplicatorStatus(
        whole: state.whole(synced.map { $0.1 } + deleted), zones: Dictionary(synced) { $1 },
        lastSyncedMilliseconds: state.lastSynced, clockOffset: state.clockOffset)
    }
  }

  // MARK: Listeners

  /// An element says that the status may be another.
  func changes() -> (number: UInt64, changes: AsyncStream<Void>, tell: AsyncStream<Void>.Continuation) {
    let (changes, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastListener += 1
      state.listeners[state.lastListener] = tell
      return state.lastListener
    }
    return (number, changes, tell)
  }

  func endChanges(_ number: UInt64) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  private func change(_ body: (inout State) -> Void) {
    let listeners = state.withLock { state in
      body(&state)
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.yield() }
  }
}

extension StatusBoard.State {
  fileprivate mutating func take(_ report: SyncReport, _ steps: SyncSteps, _ isWhole: Bool, _ now: Int64) {
    isReported = isReported || isWhole
    failure = report.failure
    note(failure, of: nil, now)
    if report.failure == nil { listProblems = report.listProblems }
    clockOffset = report.clockOffset ?? clockOffset
    var failed: Set<ZoneID> = []
    for zone in report.zones {
      // A name may be that of a zone that is to be deleted, and of a new one that waits for it.
      if failed.contains(zone.zone) { continue }
      let failure = zone.status.failure
      if failure != nil { failed.insert(zone.zone) }
      // A round that did only a half says nothing of the other, but that what failed before fails no more.
      if steps != .all, zone.status == .inSync || zone.status == .unchanged {
        if zones[zone.zone]?.failure != nil { zones[zone.zone] = nil }
        note(nil, of: zone.zone, now)
        continue
      }
      zones[zone.zone] = zone.status == .removed ? nil : zone.status
      note(failure, of: zone.zone, now)
    }
    if report.isInSync, steps == .all, isWhole { lastSynced = now }
  }

  private mutating func note(_ failure: SyncFailure?, of zone: ZoneID?, _ now: Int64) {
    failedSince[zone] = failure == nil ? nil : failedSince[zone] ?? now
  }

  fileprivate func status(of zone: ZoneSyncState) -> SyncStatus {
    let found = zones[zone.zone]
    if let problem = found?.problem(of: zone.zone) { return .needsAttention([problem]) }
    if let failure {
      return failure.answer == .wait
        ? .offline(outage(failure, of: nil))
        : .needsAttention([SyncProblem(zone: nil, reason: .failed(failure))])
    }
    if let failure = found?.failure { return .offline(outage(failure, of: zone.zone)) }
    var progress = progress[zone.zone] ?? SyncProgress()
    let hasMoved = progress != SyncProgress()
    let pending = zone.attachment == .deleting ? 1 : Int(zone.pending)
    progress.pending = pending
    let isUnfinished = found == .unfinished
    if rounds > 0, hasMoved || pending > 0 || zone.token == nil || isUnfinished { return .syncing(progress) }
    // A run continues it soon.
    if runs > 0, isUnfinished { return .syncing(progress) }
    if pending > 0 { return .pending(pending) }
    // What was found may be of a former zone of that name.
    return found == nil || isUnfinished || zone.token == nil ? .unknown : .synced
  }

  private func outage(_ failure: SyncFailure, of zone: ZoneID?) -> SyncOutage {
    SyncOutage(
      sinceMilliseconds: failedSince[zone] ?? 0, retryMilliseconds: retry, failure: failure)
  }

  /// The status of all zones together.
  fileprivate func whole(_ zones: [SyncStatus]) -> SyncStatus {
    var problems = listProblems.map { SyncProblem(zone: nil, reason: .list($0)) }
    if let failure, failure.answer != .wait {
      problems.append(SyncProblem(zone: nil, reason: .failed(failure)))
    }
    var outage = failure.flatMap { $0.answer == .wait ? self.outage($0, of: nil) : nil }
    var progress: SyncProgress?
    var (pending, isUnknown) = (0, !isReported)
    for zone in zones {
      switch zone {
      case .needsAttention(let more): problems += more.filter { !problems.contains($0) }
      case .offline(let more):
        if outage.map({ more.sinceMilliseconds < $0.sinceMilliseconds }) ?? true { outage = more }
      case .syncing(let more):
        progress = (progress ?? SyncProgress()) + more
        pending += more.pending
      case .pending(let count): pending += count
      case .unknown: isUnknown = true
      case .synced: break
      }
    }
    if !problems.isEmpty { return .needsAttention(problems) }
    if let outage { return .offline(outage) }
    if var progress {
      progress.pending = pending
      return .syncing(progress)
    }
    if pending > 0 { return .pending(pending) }
    return isUnknown ? .unknown : .synced
  }
}

extension ZoneStatus {
  /// What needs somebody's attention; nil if time heals it.
  fileprivate func problem(of zone: ZoneID) -> SyncProblem? {
    switch self {
    case .paused(let fate): SyncProblem(zone: zone, reason: .paused(fate))
    case .parked(let offset, let failure) where failure.answer != .wait:
      SyncProblem(zone: zone, reason: .parked(offset: offset, failure))
    case .failed(let failure) where failure.answer != .wait: SyncProblem(zone: zone, reason: .failed(failure))
    default: nil
    }
  }
}
