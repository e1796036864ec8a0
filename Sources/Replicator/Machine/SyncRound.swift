package import EventStore

/// What a round is to do next.
package enum RoundEffect: Hashable, Sendable {
  /// Read how far the store is.
  case readState
  /// Read the remote's list of zones.
  case fetchZoneEvents(after: DatabaseToken?)
  /// Let the list be read from its start, and read how far the store is.
  case forgetPlaceInZoneList
  /// Do in the store what the list says.
  case applyZoneEvents(ZoneEventPage)
  case zone(ZoneID, ZoneEffect)
  /// Take away what removed zones have left.
  case reclaim
}

/// What came of it.
package enum RoundResult: Sendable {
  case state(StoreSyncState)
  case zoneEvents(ZoneEventPage)
  case appliedZoneEvents(ZoneListReport)
  case zone(ZoneID, ZoneResult)
  case reclaimed
  case failed(SyncFailure)
}

/// One round: the list of zones first, then the zones, a few at once.
///
/// It is pure. Every result gives the effects that may be done now, in any order; the round is over once there are
/// none and none is outstanding.
package struct SyncRound: Sendable {
  package private(set) var report = SyncReport()
  private let steps: SyncSteps
  private let selection: ZoneSelection
  private let zonesAtOnceMax: Int
  private let assetChunksMax: Int?
  /// How far the zones' assets were looked for.
  package private(set) var searches: [ZoneID: AssetSearch]
  /// Zones that have not begun, the last one first.
  private var waiting: [ZoneRound] = []
  private var active: [ZoneID: ZoneRound] = [:]
  /// Names of which a zone is still to be deleted at the remote: until then it takes one that was made since for it.
  private var deletionsLeft: Set<ZoneID> = []
  private var databaseToken: DatabaseToken?
  private var hasReadZones = false
  /// Whether the list may be read from its start if it went back: the store syncs no zone that the remote has. Nil before
  /// it is known; false once it was done.
  private var mayForgetPlace: Bool?
  /// The page before an event that cannot be read, with what lies behind it, once that was applied.
  package private(set) var lastPage: ZoneEventPage?
  /// Whether the store has zones that an earlier round removed and did not live to take away.
  private var hasLeftovers = false
  /// Effects whose results have not come.
  private var outstanding = 0
  /// Whether a zone was removed.
  private var hasRemoved = false

  /// - Parameters:
  ///   - assetChunksMax: the most chunks of assets that move in each zone; nil for any number.
  ///   - searches: how far earlier rounds looked for the zones' assets.
  ///   - lastPage: the ``lastPage`` of the round before.
  package init(
    steps: SyncSteps, selection: ZoneSelection, zonesAtOnceMax: Int, assetChunksMax: Int? = nil,
    searches: [ZoneID: AssetSearch] = [:], lastPage: ZoneEventPage? = nil
  ) {
    precondition(zonesAtOnceMax > 0, "a round takes at least one zone at once")
    self.steps = steps
    self.selection = selection
    self.zonesAtOnceMax = zonesAtOnceMax
    self.assetChunksMax = assetChunksMax
    self.searches = searches
    self.lastPage = lastPage
  }

  package var isOver: Bool { outstanding == 0 }

  package mutating func start() -> [RoundEffect] { begin([.readState]) }

  package mutating func step(_ result: RoundResult) -> [RoundEffect] {
    outstanding -= 1
    return begin(next(after: result))
  }

  private mutating func begin(_ effects: [RoundEffect]) -> [RoundEffect] {
    outstanding += effects.count
    if isOver { sortReports() }
    return effects
  }

  /// Puts the reports in the order of the zones; those of one name in the order in which they came.
  private mutating func sortReports() {
    let sorted = report.zones.enumerated().sorted { a, b in
      a.element.zone == b.element.zone ? a.offset < b.offset : a.element.zone < b.element.zone
    }
    report.zones = sorted.map(\.element)
  }

  private mutating func next(after result: RoundResult) -> [RoundEffect] {
    switch result {
    case .state(let state) where hasReadZones: return beginZones(state)
    case .state(let state):
      databaseToken = state.databaseToken
      mayForgetPlace =
        mayForgetPlace ?? !state.zones.contains { $0.attachment == .attached && $0.token != nil }
      return [.fetchZoneEvents(after: databaseToken)]
    case .zoneEvents(let page):
      hasReadZones = !page.hasMore
      report.listProblems += page.problems
      // What lies behind an event that cannot be read is there each time.
      let isKnown = page.token == databaseToken && (page.later.isEmpty || page == lastPage)
      databaseToken = page.token
      lastPage = page.later.isEmpty ? nil : page
      return [isKnown ? .readState : .applyZoneEvents(page)]
    case .appliedZoneEvents(let applied):
      report.createdZones += applied.created
      for zone in applied.removed { end(ZoneReport(zone), as: .removed) }
      return [hasReadZones ? .readState : .fetchZoneEvents(after: databaseToken)]
    case .zone(let zone, let result): return advance(zone, result)
    case .reclaimed: return []
    case .failed(let failure):
      lastPage = nil
      if mayForgetPlace == true, !hasReadZones, failure.code == RemoteError.Code.wentBack.rawValue {
        mayForgetPlace = false
        return [.forgetPlaceInZoneList]
      }
      fail(failure.ofRound)
      return []
    }
  }

  private mutating func beginZones(_ state: StoreSyncState) -> [RoundEffect] {
    // Of one name there may be a zone that is being deleted and one that was made since, and a remote knows one alone:
    // the deletions come first.
    let zones = state.zones.filter { selection.contains($0.zone) }
    let ordered = zones.filter { $0.attachment == .deleting } + zones.filter { $0.attachment != .deleting }
    hasLeftovers = state.hasRemovedZones
    deletionsLeft = Set(zones.lazy.filter { $0.attachment == .deleting }.map(\.zone))
    waiting = ordered.map { zone in
      let search = zone.attachment == .attached ? searches[zone.zone] : nil
      return ZoneRound(
        zone, steps: steps, assetChunksMax: assetChunksMax, search: search ?? AssetSearch())
    }.reversed()
    return fillUp()
  }

  private mutating func advance(_ zone: ZoneID, _ result: ZoneResult) -> [RoundEffect] {
    guard var round = active[zone] else { return [] }
    if case .failed(let failure) = result, failure.scope == .round { fail(failure) }
    let effect = round.step(result)
    if let effect, report.failure == nil {
      active[zone] = round
      return [.zone(zone, effect)]
    }
    active[zone] = nil
    searches[zone] = round.search
    end(round.report, as: effect == nil ? round.report.status : .unfinished)
    return fillUp()
  }

  /// Begins zones that wait, as many as may be active at once.
  private mutating func fillUp() -> [RoundEffect] {
    var effects: [RoundEffect] = []
    while active.count < zonesAtOnceMax, report.failure == nil, var round = takeNext() {
      guard round.isDeletion || !deletionsLeft.contains(round.report.zone) else {
        end(round.report, as: .unfinished)
        continue
      }
      if let effect = round.start() {
        active[round.report.zone] = round
        effects.append(.zone(round.report.zone, effect))
      } else {
        end(round.report, as: round.report.status)
      }
    }
    guard effects.isEmpty, active.isEmpty else { return effects }
    return hasLeftovers || hasRemoved ? [.reclaim] : []
  }

  /// The next zone that waits for no other of its name.
  private mutating func takeNext() -> ZoneRound? {
    waiting.lastIndex { active[$0.report.zone] == nil }.map { waiting.remove(at: $0) }
  }

  /// Keeps what a zone's part came to. They are sorted once the round is over.
  private mutating func end(_ zone: ZoneReport, as status: ZoneStatus) {
    var zone = zone
    zone.status = status
    if status == .removed {
      hasRemoved = true
      deletionsLeft.remove(zone.zone)
    }
    report.zones.append(zone)
  }

  private mutating func fail(_ failure: SyncFailure) {
    report.failure = report.failure ?? failure
    for round in waiting.reversed() { end(round.report, as: .unfinished) }
    waiting = []
  }
}
