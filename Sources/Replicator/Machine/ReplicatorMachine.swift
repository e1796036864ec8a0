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
  case remoteChanged
  case timerFired(ReplicatorTimer)
  /// An effect of the round is done.
  case completed(RoundResult)
}

/// What is to be done.
package enum ReplicatorEffect: Sendable {
  case round(RoundEffect)
  /// Let a timer fire after a time in the range, in milliseconds. One of the same kind that runs is replaced.
  case setTimer(ReplicatorTimer, ClosedRange<Int64>)
  /// A round is over.
  case report(SyncReport)
}

package enum ReplicatorTimer: Hashable, Sendable, CaseIterable {
  /// Local commits have waited long enough for others.
  case commit
  /// The remote's words have.
  case push
  /// Time to look again, or to try again.
  case next
  /// Time to ask the remote again for the assets that it did not have.
  case assets
}

/// The replicator's decisions: when a round is made, and what is done in it.
///
/// It is pure: no clock, no randomness, no I/O. Whoever drives it performs the effects and gives it their results; the
/// order among those that are outstanding at one time does not matter. Nothing breaks if an effect is done twice, or is
/// done and its result never comes: then a new machine begins with a new round.
package struct ReplicatorMachine: Sendable {
  private let policy: SyncPolicy
  private let selection: ZoneSelection
  /// Whether it goes on by itself after a round.
  private var isRunning = false
  private var round: SyncRound?
  /// What the last round had applied of a list of zones with an event that cannot be read.
  private var lastPage: ZoneEventPage?
  /// What the next round is to do, where it was called for while one was on.
  private var wanted: SyncSteps = []
  /// Rounds in a row that failed, or in which a zone did.
  private var failures = 0
  /// Whether the last round could not be made at all: then only time brings the next one.
  private var isWaiting = false
  /// How far assets were looked for, in the eager zones of which the remote does not have all.
  private var searches: [ZoneID: AssetSearch] = [:]
  /// Times in a row that it did not.
  private var fruitlessSearches = 0
  /// Whether a timer runs after which all are asked for again.
  private var isSearchTimed = false
  /// Whether it has fired, or the app has asked for a round, and none has begun since.
  private var isSearchDue = false
  /// Timers that run since something called for a round.
  private var called: Set<ReplicatorTimer> = []

  package init(policy: SyncPolicy, selection: ZoneSelection) {
    self.policy = policy
    self.selection = selection
  }

  package mutating func step(_ event: ReplicatorEvent) -> [ReplicatorEffect] {
    switch event {
    case .started:
      isRunning = true
      return begin(.all)
    case .syncRequested(let steps):
      isSearchDue = true
      return begin(steps)
    case .localCommit: return call(.commit, policy.commitDelayMilliseconds)
    case .remoteChanged: return call(.push, policy.pushDelayMilliseconds)
    case .timerFired(.next):
      isWaiting = false
      return begin(.all)
    case .timerFired(.assets):
      (isSearchTimed, isSearchDue) = (false, true)
      return isWaiting ? [] : begin(.all)
    case .timerFired(let timer):
      called.remove(timer)
      return isWaiting ? [] : begin(.all)
    case .completed(let result): return advance(result)
    }
  }

  /// Lets a round come soon.
  private mutating func call(_ timer: ReplicatorTimer, _ delay: Int64) -> [ReplicatorEffect] {
    guard isRunning, !isWaiting else { return [] }
    guard round == nil else {
      wanted = .all
      return []
    }
    // The first call counts: commits without a pause must not put the round off for ever.
    guard called.insert(timer).inserted else { return [] }
    return [.setTimer(timer, delay...delay)]
  }

  private mutating func begin(_ steps: SyncSteps) -> [ReplicatorEffect] {
    guard round == nil else {
      wanted.formUnion(steps)
      return []
    }
    wanted = []
    if isSearchDue { searches = [:] }
    isSearchDue = false
    var new = SyncRound(
      steps: steps, selection: selection, zonesAtOnceMax: policy.zonesAtOnceMax,
      assetChunksMax: isRunning ? max(1, policy.assetChunksInRoundMax) : nil, searches: searches,
      lastPage: lastPage)
    let effects = new.start()
    round = new
    return effects.map { .round($0) }
  }

  private mutating func advance(_ result: RoundResult) -> [ReplicatorEffect] {
    guard let effects = round?.step(result) else { return [] }
    guard let over = round, over.isOver else { return effects.map { .round($0) } }
    round = nil
    lastPage = over.lastPage
    searches = over.searches.filter { $1.isToGoOn }
    return [.report(over.report)] + timeSearch(after: over.report) + goOn(after: over.report)
  }

  /// Lets the assets that the remote did not have be asked for after a while, longer each time.
  private mutating func timeSearch(after report: SyncReport) -> [ReplicatorEffect] {
    if report.failure == nil, searches.isEmpty { fruitlessSearches = 0 }
    guard isRunning, !isSearchTimed, !isSearchDue, searches.values.contains(where: \.hasAbsent) else {
      return []
    }
    isSearchTimed = true
    fruitlessSearches += 1
    return [.setTimer(.assets, policy.assetDelay(afterSearches: fruitlessSearches))]
  }

  /// Says when the next round comes.
  private mutating func goOn(after report: SyncReport) -> [ReplicatorEffect] {
    let failed = report.zones.compactMap { zone in
      switch zone.status {
      case .failed(let failure), .parked(_, let failure): failure
      default: nil as SyncFailure?
      }
    }
    let failure = report.failure ?? failed.first
    failures = failure == nil ? 0 : failures + 1
    isWaiting = report.failure != nil
    guard isRunning else { return wanted.isEmpty ? [] : begin(wanted) }
    if let failure {
      let delay = policy.delay(
        afterFailures: failures, retryAfterMilliseconds: failure.retryAfterMilliseconds)
      let poll = policy.pollMilliseconds
      // One bad zone does not make the others wait longer than they would.
      let range = report.failure == nil ? min(delay.lowerBound, poll)...min(delay.upperBound, poll) : delay
      return [.setTimer(.next, range)] + callAgain()
    }
    if report.zones.contains(where: { $0.status == .unfinished }) { wanted = .all }
    return [.setTimer(.next, policy.pollMilliseconds...policy.pollMilliseconds)] + callAgain()
  }

  /// What was called for during the round comes after a short delay, which batches; not before its time after a
  /// failure.
  private mutating func callAgain() -> [ReplicatorEffect] {
    guard !wanted.isEmpty else { return [] }
    wanted = []
    return call(.push, policy.pushDelayMilliseconds)
  }
}
