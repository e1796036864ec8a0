import EventStore

/// What happens to a replicator.
package enum ReplicatorEvent: Sendable {
  /// It is to sync from now on.
  case started
  /// The app asks for a round.
  case syncRequested(SyncSteps)
  /// Something was committed here.
  case localCommit
  /// The remote says that something may have changed.
  case remoteChanged(RemoteHint)
  /// Another round of this process succeeded.
  case remoteWorks
  case timerFired(ReplicatorTimer)
  /// An effect of the round is done.
  case completed(RoundResult)
}

/// What is to be done.
package enum ReplicatorEffect: Sendable {
  case round(RoundEffect)
  /// Let a timer fire after a time in the range, in milliseconds. A timer of the same kind that runs is
  /// replaced.
  case setTimer(ReplicatorTimer, ClosedRange<Int64>)
  /// Let other clients of the remote know what was sent. It has no result.
  case announce
  /// A round is over.
  case report(SyncReport)
}

package enum ReplicatorTimer: Hashable, Sendable, CaseIterable {
  /// Debounces local commits.
  case commit
  /// Debounces notifications of the remote.
  case push
  /// Time to poll, or to try again.
  case next
  /// Time to ask the remote again for the assets that it did not have.
  case assets
  /// Time to ask for every zone again, whatever hints say.
  case everything
  /// Separates two announcements.
  case announce
}

/// The replicator's decisions: when a round is made, and what is done in it.
///
/// It is pure: no clock, no randomness, no I/O. Its driver performs the effects, and returns each effect's
/// result once. The order of effects that are outstanding at the same time does not matter.
///
/// ### The ordering contract
///
/// The machine gives at most one effect of a zone at a time, and one of the list of zones. What it keeps:
///
/// 1. The remote's list of zones MUST be read to its end and applied BEFORE any zone's log is fetched,
///    shipped or deleted, unless the remote says that it has nothing new. If the list cannot be read, the
///    round ends: a missing zone never counts as
///    deleted.
/// 2. A zone's deletion MUST be recorded as done BEFORE a new zone of its name is made at the remote.
/// 3. A zone MUST be made at the remote and tied to that incarnation here BEFORE anything of it is fetched or
///    shipped.
/// 4. A page MUST be folded BEFORE the next one is fetched. The next fetch begins at the token that the fold
///    gave.
/// 5. A page that could not be folded to its end MUST NOT be followed by another fetch in the round.
/// 6. A log MUST be fetched to its end, to the segment that parks it, or to the limit of a pass, BEFORE a
///    segment is prepared, if the round fetches at all.
/// 7. Every asset that a segment names MUST be uploaded, or be known not to be available, BEFORE the segment
///    is appended. Where an upload meets a closed log, the append meets it too.
/// 8. A segment that was appended, or was there already, MUST be acknowledged BEFORE the next one is
///    prepared. Nothing else is acknowledged: an error, a fork or a closed log never is.
/// 9. After a failure that says that the log is another one, is not there or may not be read, NOTHING is
///    appended. What the log has lost at its end is put back first, where nothing has taken its place. Where
///    something has, the log is read again to its end, and then what it lacks is appended as what is pending.
/// 10. Space of removed zones is freed AFTER all zones are done, and history is retired after that.
/// 11. A log is trimmed ONLY AFTER this round has put a snapshot of it at the remote.
///
/// What performs the effects must keep:
///
/// 1. `fold` MUST commit the transactions and the token in one commit of the store BEFORE it gives its
///    result. `applyZoneEvents` MUST do so with the list's events and the list's token.
/// 2. `create` MUST store the proposed incarnation BEFORE the remote is asked.
/// 3. `prepare` MUST store the cut and its header BEFORE it gives its result: every retry then appends the
///    same segment under the same name, also after a crash and by another process.
/// 4. `upload` MUST record that an asset is unsent BEFORE it gives a result that lets the segment go without
///    it.
/// 5. `acknowledge` MUST commit the segment's place, the end of its cut, and the token if it is next, in one
///    commit. ONLY it removes anything from what is pending.
/// 6. A result MUST be given AFTER its effect is durable in the store.
///
/// Nothing breaks if an effect is performed twice, or is performed and its result never comes: then a new
/// machine begins with a new round.
package struct ReplicatorMachine: Sendable {
  private let policy: SyncPolicy
  private let selection: ZoneSelection
  private let rules: ZoneRules
  private let misplacedResults: MisplacedResults
  private var phase = Phase.idle
  /// Whether it makes further rounds by itself after a round.
  private var isRunning = false
  /// The ``SyncRound/lastPage`` of the last round.
  private var lastPage: ZoneEventPage?
  /// Rounds in a row that failed, or in which a zone did.
  private var failures = 0
  private var searches = AssetSearches()
  /// What the next round looks at.
  private var look = RoundLook()
  /// Zones that were not in sync after the last round that came to them.
  private var unsettled: Set<ZoneID> = []
  private var announcing = Announcing.ready
  /// Whether the round may have written what others are to know of.
  private var hasWritten = false
  /// The ``SyncRound/holds`` of the last round.
  private var holds: [ZoneID: SyncFailure] = [:]
  /// Debounce timers that run.
  private var debouncing: Set<ReplicatorTimer> = []

  private enum Announcing: Sendable {
    case ready
    /// One was made, and the timer runs. `isWanted`: another is to follow.
    case timed(isWanted: Bool)
  }

  private enum Phase: Sendable {
    /// No round. The app, a commit, a notification or a timer begins the next one.
    case idle
    /// The last round failed as a whole, and its timer runs: the wait. Only that timer, or the app, begins
    /// the next round; commits and notifications do not.
    case waiting
    /// A round.
    ///
    /// `wanted` has the steps of the next round, if something has asked for one since this one began.
    ///
    /// `isEarly`: the app asked for this round in the wait, and the timer of the wait still runs. Until it
    /// fires, commits and notifications are ignored, as in the wait: a remote that fails must not cause a
    /// round for each commit. A change that this round no longer ships or fetches waits for the timer that
    /// the round sets at its end: that of the next poll, or of the next try. If the timer of the wait fires
    /// in the round, the round is early no more, and another one follows.
    case inRound(SyncRound, wanted: SyncSteps, isEarly: Bool)
  }

  package init(policy: SyncPolicy, selection: ZoneSelection, rules: ZoneRules = ZoneRules()) {
    self.init(policy: policy, selection: selection, rules: rules, misplacedResults: .standard)
  }

  init(
    policy: SyncPolicy, selection: ZoneSelection, rules: ZoneRules = ZoneRules(),
    misplacedResults: MisplacedResults
  ) {
    self.policy = policy
    self.selection = selection
    self.rules = rules
    self.misplacedResults = misplacedResults
  }

  package mutating func step(_ event: ReplicatorEvent) -> [ReplicatorEffect] {
    switch event {
    case .started:
      isRunning = true
      look.beThorough()
      return request(.all)
    case .syncRequested(let steps):
      searches.restart()
      holds = [:]
      look.beThorough()
      return request(steps)
    case .localCommit: return debounce(.commit, policy.commitDelayMilliseconds)
    case .remoteChanged(let hint):
      look.add(hint)
      return debounce(.push, policy.pushDelayMilliseconds)
    case .remoteWorks where !isWaiting: return []
    case .remoteWorks, .timerFired(.next):
      endWait()
      return request(.all)
    case .timerFired(.assets):
      searches.timerFired()
      return isWaiting ? [] : request(.all)
    case .timerFired(.everything):
      // The next round is soon enough.
      (look, holds) = (.thorough, [:])
      return []
    case .timerFired(.announce):
      let isWanted = if case .timed(isWanted: true) = announcing { true } else { false }
      announcing = .ready
      return isWanted ? announce() : []
    case .timerFired(let timer):
      debouncing.remove(timer)
      return isWaiting ? [] : request(.all)
    case .completed(let result): return advance(result)
    }
  }

  // MARK: When a round is made

  /// Whether the wait after a failed round is not over.
  private var isWaiting: Bool {
    switch phase {
    case .idle: false
    case .waiting: true
    case .inRound(_, _, let isEarly): isEarly
    }
  }

  private mutating func endWait() {
    switch phase {
    case .idle: return
    case .waiting: phase = .idle
    case .inRound(let round, let wanted, _): phase = .inRound(round, wanted: wanted, isEarly: false)
    }
  }

  /// Sets a timer for a round; in a round, asks for another.
  private mutating func debounce(_ timer: ReplicatorTimer, _ delay: Int64) -> [ReplicatorEffect] {
    guard isRunning, !isWaiting else { return [] }
    if case .inRound = phase { return request(.all) }
    // A timer that runs is not restarted: otherwise continuous commits would delay the round without end.
    guard debouncing.insert(timer).inserted else { return [] }
    return [.setTimer(timer, delay...delay)]
  }

  /// Begins a round; in a round, asks for another.
  private mutating func request(_ steps: SyncSteps) -> [ReplicatorEffect] {
    if case .inRound(let round, let wanted, let isEarly) = phase {
      phase = .inRound(round, wanted: wanted.union(steps), isEarly: isEarly)
      return []
    }
    searches.beginRound()
    var round = SyncRound(
      steps: steps, selection: selection, rules: rules, zonesAtOnceMax: policy.zonesAtOnceMax,
      assetChunksMax: isRunning ? max(1, policy.assetChunksInRoundMax) : nil,
      policy: policy, searches: searches.byZone,
      holds: holds, look: look, unsettled: unsettled, lastPage: lastPage, misplacedResults: misplacedResults)
    look = RoundLook()
    let effects = round.start()
    phase = .inRound(round, wanted: [], isEarly: isWaiting)
    return effects.map { .round($0) }
  }

  // MARK: After a round

  private mutating func advance(_ result: RoundResult) -> [ReplicatorEffect] {
    guard case .inRound(var round, let wanted, let isEarly) = phase else { return misplace(result) }
    // Takes it out of the phase: it is changed in place, and not copied in each step.
    phase = .idle
    let effects = round.step(result)
    guard round.isOver else {
      phase = .inRound(round, wanted: wanted, isEarly: isEarly)
      if effects.contains(where: \.isAnnounced) { hasWritten = true }
      return effects.map { .round($0) }
    }
    phase = round.report.failure == nil ? .idle : .waiting
    lastPage = round.lastPage
    // One that the app has asked for meanwhile is to try again.
    if !look.isThorough { holds = round.holds }
    var timers = didLook(round)
    let count = searches.endRound(
      round.searches, hasFailed: round.report.failure != nil, isRunning: isRunning)
    // The assets that the remote did not have are asked for again after a while, longer each time.
    if let count { timers.append(.setTimer(.assets, policy.assetDelay(afterSearches: count))) }
    let hasWritten = hasWritten
    self.hasWritten = false
    return (hasWritten ? announce() : []) + [.report(round.report)] + timers
      + goOn(after: round.report, wanted)
  }

  /// Keeps what the next round is to look at besides what hints will say.
  private mutating func didLook(_ round: SyncRound) -> [ReplicatorEffect] {
    let settled: [ZoneStatus] = [.inSync, .unchanged, .local, .removed]
    let found = Set(round.report.zones.lazy.filter { !settled.contains($0.status) }.map(\.zone))
    guard round.report.failure == nil, round.steps.contains(.fetch) else {
      unsettled.formUnion(found)
      look.add(round.look)
      return []
    }
    unsettled = found
    return isRunning && round.look.isThorough ? [.setTimer(.everything, policy.everythingDelay)] : []
  }

  /// Announces what was sent, at once or after the timer.
  private mutating func announce() -> [ReplicatorEffect] {
    if case .timed = announcing, isRunning {
      announcing = .timed(isWanted: true)
      return []
    }
    guard isRunning else { return [.announce] }
    announcing = .timed(isWanted: false)
    let delay = policy.announceMilliseconds
    return [.announce, .setTimer(.announce, delay...delay)]
  }

  /// Says when the next round comes.
  private mutating func goOn(after report: SyncReport, _ wanted: SyncSteps) -> [ReplicatorEffect] {
    let failed = report.zones.compactMap(\.status.failure)
    let failure = report.failure ?? failed.first
    // What a zone's failure asks for counts, but no longer than until all zones are asked again.
    let asked =
      report.failure.map(\.retryAfterMilliseconds)
      ?? failed.filter { !$0.errorCode.isForLong }.compactMap(\.retryAfterMilliseconds).max().map {
        min($0, policy.everythingMilliseconds)
      }
    failures = failure == nil ? 0 : failures + 1
    guard isRunning else { return wanted.isEmpty ? [] : request(wanted) }
    // What asked for a round meanwhile gets one after a short delay, which batches; after a failure not
    // before its time.
    var isWanted = !wanted.isEmpty
    let range: ClosedRange<Int64>
    let poll = policy.pollMilliseconds
    if let failure {
      let delay = policy.delay(
        afterFailures: failure.errorCode.waitsForUser ? .max : failures,
        retryAfterMilliseconds: asked)
      // One bad zone does not make the others wait longer than they would, unless the remote asked for it.
      let isOfZone = report.failure == nil && asked == nil
      range = isOfZone ? min(delay.lowerBound, poll)...min(delay.upperBound, poll) : delay
    } else {
      if report.zones.contains(where: { $0.status == .unfinished }) { isWanted = true }
      range = poll...poll
    }
    return [.setTimer(.next, range)] + (isWanted ? debounce(.push, policy.pushDelayMilliseconds) : [])
  }

  /// There is no round that could take the result: the app gets a report with the failure.
  private func misplace(_ result: RoundResult) -> [ReplicatorEffect] {
    var report = SyncReport()
    report.failure = misplacedResults.failure(caseName(result), in: caseName(phase), scope: .round)
    return [.report(report)]
  }
}
