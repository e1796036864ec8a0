package import EventStore

/// What a round is to do next.
package enum RoundEffect: Hashable, Sendable {
  /// Read how far the store is.
  case readState
  /// Ask the remote for the ends of logs, and of the list of zones.
  case askHeads([ChangeToken], DatabaseToken)
  /// Read the remote's list of zones.
  case fetchZoneEvents(after: DatabaseToken?)
  /// Forget how far the list was read, so that it is read from its start, and read how far the store is.
  case forgetPlaceInZoneList
  /// Apply a page of the list to the store.
  case applyZoneEvents(ZoneEventPage)
  case zone(ZoneID, ZoneEffect)
  /// Free the space of zones that were removed.
  case reclaim
  /// Retire what a policy does not keep of the history of zones, where that is enough.
  case retireHistory(of: [ZoneID], keeping: HistoryPolicy, bytesMin: UInt64, compacting: CompactionPolicy?)
}

extension RoundEffect {
  /// Whether other clients of the remote are to know of what it writes there.
  var isAnnounced: Bool {
    switch self {
    case .zone(_, .create), .zone(_, .putBack), .zone(_, .append), .zone(_, .deleteAtRemote): true
    default: false
    }
  }
}

/// The result of an effect.
package enum RoundResult: Sendable {
  case state(StoreSyncState)
  /// Nil: the remote cannot tell.
  case heads(RemoteHeads?)
  case zoneEvents(ZoneEventPage)
  case appliedZoneEvents(ZoneListReport)
  case zone(ZoneID, ZoneResult)
  case reclaimed
  case retiredHistory([RetiredHistory])
  /// The effect failed, and it was no zone's.
  case failed(SyncFailure)
}

/// One round: the list of zones first, then the zones, a few at once.
///
/// A round that is not thorough first asks the remote where its logs end. It does not read the list of zones,
/// nor a zone's log, if the remote says that nothing is new there, and nothing else makes it necessary.
///
/// It is pure. Every result gives the effects that may be done now, in any order; the round is over once
/// there are none and none is outstanding.
struct SyncRound: Sendable {
  private(set) var report = SyncReport()
  let steps: SyncSteps
  private let selection: ZoneSelection
  private let rules: ZoneRules
  private let zonesAtOnceMax: Int
  private let assetChunksMax: Int?
  private let policy: SyncPolicy
  private let misplacedResults: MisplacedResults
  /// What hints say.
  let look: RoundLook
  /// Zones that were not in sync after the round before.
  private let unsettled: Set<ZoneID>
  /// What the remote said about the ends of logs.
  private var heads = KnownHeads()
  /// How far the zones' assets were looked for.
  private(set) var searches: [ZoneID: AssetSearch]
  /// Zones of which nothing is to be sent, and why.
  private(set) var holds: [ZoneID: SyncFailure]
  /// The last page of the list, once it was applied, if it has an event that cannot be read, and others after
  /// that.
  private(set) var lastPage: ZoneEventPage?
  private var phase = Phase.ready

  /// The state of a round. Every phase but the first and the last has outstanding effects: `syncing` one for
  /// each active zone, the others one.
  private enum Phase: Sendable {
    /// Not started.
    case ready
    /// Reads how far the store is. `mayForgetPlace` is nil the first time: the state says it.
    case readingState(mayForgetPlace: Bool?)
    /// Asks for the heads of logs, many at once: `asked` of them are known.
    case askingHeads(StoreSyncState, [ChangeToken], asked: Int)
    case fetchingList(ListReading)
    case applyingList(ListReading, hasMore: Bool)
    /// The list was read to its end, and the store is asked for the zones that it has now.
    case readingZones
    case syncing(Zones)
    case reclaiming
    case retiring
    /// The report is final.
    case over
  }

  /// How far the list of zones was read.
  private struct ListReading: Sendable {
    var token: DatabaseToken?
    /// Whether the list may be read from its start if it went back: the store syncs no zone that the remote
    /// has, and the round has not done it yet.
    var mayForgetPlace: Bool
  }

  /// The zones of a round.
  private struct Zones: Sendable {
    /// Zones that have not begun, the last one first.
    var waiting: [ZoneRound] = []
    /// Zones that have an effect outstanding.
    var active: [ZoneID: ZoneRound] = [:]
    /// Names of zones that are still to be deleted at the remote: until then the remote would take a new zone
    /// of that name for the old one.
    var deletionsLeft: Set<ZoneID> = []
    /// Whether the store has zones that an earlier round removed, and whose space it did not free.
    var hasLeftovers = false

    /// Takes the next zone that waits for no other of its name.
    mutating func next() -> ZoneRound? {
      waiting.lastIndex { active[$0.report.zone] == nil }.map { waiting.remove(at: $0) }
    }
  }

  /// - Parameters:
  ///   - assetChunksMax: the most chunks of assets that move in each zone; nil for any number.
  ///   - policy: says what is let go of, and when snapshots are made.
  ///   - searches: how far earlier rounds looked for the zones' assets.
  ///   - holds: the ``holds`` of the round before.
  ///   - look: what hints say since the round before.
  ///   - unsettled: zones that were not in sync after the round before.
  ///   - lastPage: the ``lastPage`` of the round before.
  init(
    steps: SyncSteps, selection: ZoneSelection, rules: ZoneRules = ZoneRules(), zonesAtOnceMax: Int,
    assetChunksMax: Int? = nil, policy: SyncPolicy = SyncPolicy(),
    searches: [ZoneID: AssetSearch] = [:], holds: [ZoneID: SyncFailure] = [:],
    look: RoundLook = .thorough, unsettled: Set<ZoneID> = [], lastPage: ZoneEventPage? = nil,
    misplacedResults: MisplacedResults = .standard
  ) {
    self.steps = steps
    self.selection = selection
    self.rules = rules
    self.zonesAtOnceMax = max(1, zonesAtOnceMax)
    self.assetChunksMax = assetChunksMax
    self.policy = policy
    self.searches = searches
    self.holds = holds
    self.look = look
    self.unsettled = unsettled
    self.lastPage = lastPage
    self.misplacedResults = misplacedResults
  }

  var isOver: Bool { if case .over = phase { true } else { false } }

  // MARK: Steps

  /// Gives the first effects. It is called once.
  mutating func start() -> [RoundEffect] {
    guard case .ready = phase else { preconditionFailure("the round was started twice") }
    return enter(.readingState(mayForgetPlace: nil), .readState)
  }

  mutating func step(_ result: RoundResult) -> [RoundEffect] {
    if case .syncing(var zones) = phase, case .zone(let zone, let result) = result {
      // Takes them out of the phase: they are changed in place, and not copied in each step.
      phase = .over
      return advance(zone, result, &zones)
    }
    switch (phase, result) {
    case (.readingState(nil), .state(let state)): return askHeads(state)
    case (.readingState(let mayForgetPlace?), .state(let state)):
      return fetchList(ListReading(token: state.databaseToken, mayForgetPlace: mayForgetPlace))
    case (.askingHeads(let state, let tokens, let asked), .heads(let answer?)):
      let end = min(asked + SyncPolicy.headsMax, tokens.count)
      heads.add(answer, to: tokens[asked..<end])
      return end < tokens.count ? askHeads(state, tokens, asked: end) : didAskHeads(state)
    case (.askingHeads(let state, _, _), .heads(nil)), (.askingHeads(let state, _, _), .failed):
      // What is wrong with the remote shows in the next call.
      heads = KnownHeads()
      return didAskHeads(state)
    case (.fetchingList(let list), .zoneEvents(let page)): return didFetch(page, list)
    case (.applyingList(let list, let hasMore), .appliedZoneEvents(let applied)):
      report.createdZones += applied.created
      for zone in applied.removed { report.zones.append(ZoneReport(zone, .removed)) }
      return hasMore ? fetchList(list) : enter(.readingZones, .readState)
    case (.readingZones, .state(let state)): return beginZones(state)
    case (.reclaiming, .reclaimed): return retire()
    case (.retiring, .retiredHistory(let retired)):
      report.retired = retired
      return end()
    case (.retiring, .failed(let failure)) where failure.errorCode != .init(StoreError.Code.closed):
      report.retirementFailure = failure
      return end()
    case (.fetchingList(let list), .failed(let failure)),
      (.applyingList(let list, hasMore: true), .failed(let failure)):
      guard list.mayForgetPlace, failure.errorCode == .wentBack else { return fail(failure) }
      lastPage = nil
      return enter(.readingState(mayForgetPlace: false), .forgetPlaceInZoneList)
    case (.readingState, .failed(let failure)), (.applyingList, .failed(let failure)),
      (.readingZones, .failed(let failure)), (.reclaiming, .failed(let failure)),
      (.retiring, .failed(let failure)):
      return fail(failure)
    default: return misplace(caseName(result))
    }
  }

  private mutating func enter(_ next: Phase, _ effect: RoundEffect) -> [RoundEffect] {
    phase = next
    return [effect]
  }

  // MARK: Heads

  /// Asks for the ends of all logs whose zones need nothing else.
  private mutating func askHeads(_ state: StoreSyncState) -> [RoundEffect] {
    guard !look.isThorough, state.databaseToken != nil else { return fetchList(state) }
    return askHeads(state, state.zones.filter { isIdle($0) }.compactMap(\.token), asked: 0)
  }

  private mutating func askHeads(
    _ state: StoreSyncState, _ tokens: [ChangeToken], asked: Int
  ) -> [RoundEffect] {
    guard let list = state.databaseToken else { return fetchList(state) }
    let end = min(asked + SyncPolicy.headsMax, tokens.count)
    return enter(
      .askingHeads(state, tokens, asked: asked), .askHeads(Array(tokens[asked..<end]), list))
  }

  private mutating func didAskHeads(_ state: StoreSyncState) -> [RoundEffect] {
    guard heads.isListUnchanged, !look.hasListChanged, lastPage == nil else { return fetchList(state) }
    return beginZones(state)
  }

  /// Whether nothing here makes it necessary to read a zone's log. Assets are looked for nevertheless: that
  /// asks the remote only for what is missing.
  private func isIdle(_ zone: ZoneSyncState) -> Bool {
    guard selection.contains(zone), zone.attachment == .attached, let token = zone.token else {
      return false
    }
    return zone.pending == 0 && !zone.isRereading && !zone.restoresLog && !unsettled.contains(zone.zone)
      && !look.names(more: token)
  }

  // MARK: The list of zones

  private mutating func fetchList(_ state: StoreSyncState) -> [RoundEffect] {
    // What is synced may be what the remote has lost: then its user decides.
    let isFree = !state.zones.contains { $0.attachment == .attached && $0.token != nil }
    return fetchList(ListReading(token: state.databaseToken, mayForgetPlace: isFree))
  }

  private mutating func fetchList(_ list: ListReading) -> [RoundEffect] {
    enter(.fetchingList(list), .fetchZoneEvents(after: list.token))
  }

  private mutating func didFetch(_ page: ZoneEventPage, _ list: ListReading) -> [RoundEffect] {
    report.listProblems += page.problems
    // The events after one that cannot be read come with each page.
    let isKnown = page.token == list.token && (page.later.isEmpty || page == lastPage)
    lastPage = page.later.isEmpty ? nil : page
    // A page that does not get further is the end, whatever the remote says.
    let hasMore = page.hasMore && page.token != list.token
    var list = list
    list.token = page.token
    return isKnown
      ? enter(.readingZones, .readState)
      : enter(.applyingList(list, hasMore: hasMore), .applyZoneEvents(page))
  }

  // MARK: Zones

  private mutating func beginZones(_ state: StoreSyncState) -> [RoundEffect] {
    // Of one name there may be a zone that is being deleted and one that was made since, and a remote knows
    // only one zone of a name: the deletions come first.
    let chosen = rules.ordered(state.zones.filter { selection.contains($0) })
    let deletions = chosen.filter { $0.attachment == .deleting }
    // What a zone fetches again of its snapshot may be much: the others come before it.
    let others = chosen.filter { $0.attachment != .deleting }
    let broken = others.filter(\.hasBrokenOrigin)
    var zones = Zones()
    zones.hasLeftovers = state.hasRemovedZones
    zones.deletionsLeft = Set(deletions.lazy.map(\.zone))
    zones.waiting = (deletions + others.filter { !$0.hasBrokenOrigin } + broken).reversed().map { zone in
      let search = zone.attachment == .attached ? searches[zone.zone] : nil
      let isUnchanged = isIdle(zone) && zone.token.map { heads.ends(at: $0) } ?? false
      return ZoneRound(
        zone, steps: steps, isLogUnchanged: isUnchanged, assetChunksMax: assetChunksMax,
        policy: policy, answer: rules.answer,
        search: search ?? AssetSearch(),
        hold: zone.attachment == .attached ? holds[zone.zone] : nil, misplacedResults: misplacedResults)
    }
    return fillUp(&zones)
  }

  private mutating func advance(
    _ zone: ZoneID, _ result: ZoneResult, _ zones: inout Zones
  ) -> [RoundEffect] {
    guard var round = zones.active[zone] else {
      phase = .syncing(zones)
      return misplace(caseName(result))
    }
    if case .failed(let failure) = result, failure.scope == .round { fail(failure, &zones) }
    let effect = round.step(result)
    if let effect, report.failure == nil {
      zones.active[zone] = round
      phase = .syncing(zones)
      return [.zone(zone, effect)]
    }
    zones.active[zone] = nil
    end(round, as: effect == nil ? round.report.status : .unfinished, &zones)
    return fillUp(&zones)
  }

  /// Begins zones that wait, as many as may be active at once.
  private mutating func fillUp(_ zones: inout Zones) -> [RoundEffect] {
    var effects: [RoundEffect] = []
    while zones.active.count < zonesAtOnceMax, report.failure == nil, var round = zones.next() {
      guard round.isDeletion || !zones.deletionsLeft.contains(round.report.zone) else {
        end(round, as: .unfinished, &zones)
        continue
      }
      if let effect = round.start() {
        zones.active[round.report.zone] = round
        effects.append(.zone(round.report.zone, effect))
      } else {
        end(round, as: round.report.status, &zones)
      }
    }
    guard zones.active.isEmpty else {
      phase = .syncing(zones)
      return effects
    }
    let hasRemoved = report.zones.contains { $0.status == .removed }
    return zones.hasLeftovers || hasRemoved ? enter(.reclaiming, .reclaim) : retire()
  }

  /// Lets go of history, and names floors, in a round that asks for every zone.
  private mutating func retire() -> [RoundEffect] {
    let zones = report.zones.filter { $0.status == .inSync }.map(\.zone).sorted()
    guard policy.history != .everything || policy.compaction != nil, look.isThorough, report.failure == nil,
      !zones.isEmpty
    else { return end() }
    return enter(
      .retiring,
      .retireHistory(
        of: zones, keeping: policy.history, bytesMin: policy.historyBytesMin, compacting: policy.compaction))
  }

  /// Keeps a zone's report.
  private mutating func end(_ round: ZoneRound, as status: ZoneStatus, _ zones: inout Zones) {
    var zone = round.report
    zone.status = status
    if status == .removed { zones.deletionsLeft.remove(zone.zone) }
    searches[zone.zone] = round.search
    // A deletion says nothing about a zone that was made since under the same name.
    if !round.isDeletion { holds[zone.zone] = round.hold }
    report.zones.append(zone)
  }

  // MARK: The end

  /// Ends the round, and puts the reports in the order of the zones; those of one name in the order in which
  /// they came.
  private mutating func end() -> [RoundEffect] {
    phase = .over
    let sorted = report.zones.enumerated().sorted { a, b in
      a.element.zone == b.element.zone ? a.offset < b.offset : a.element.zone < b.element.zone
    }
    report.zones = sorted.map(\.element)
    return []
  }

  /// Ends the round with a failure that no zone's part met.
  private mutating func fail(_ failure: SyncFailure) -> [RoundEffect] {
    lastPage = nil
    report.failure = report.failure ?? failure.ofRound
    return end()
  }

  /// A zone's part met what concerns the whole round: no other zone begins.
  private mutating func fail(_ failure: SyncFailure, _ zones: inout Zones) {
    report.failure = report.failure ?? failure
    for round in zones.waiting.reversed() { end(round, as: .unfinished, &zones) }
    zones.waiting = []
  }

  /// Ends the round, as soon as what is outstanding has come: nothing is known of what was done.
  private mutating func misplace(_ result: String) -> [RoundEffect] {
    let failure = misplacedResults.failure(result, in: caseName(phase), scope: .round)
    guard case .syncing(var zones) = phase else { return fail(failure) }
    fail(failure, &zones)
    phase = .syncing(zones)
    return []
  }
}
