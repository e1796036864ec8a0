import EventStore
import OperationFormat
import Replicator

extension SimulatedWorld {
  /// Reads what lies at the remote now, and tells some devices that there is something new.
  func observeRemote() throws {
    guard place.takeChange(), !isCopied else { return }
    let (facts, observer) = (facts, place.observer)
    let lives = facts.lives.count
    guard try executor.wait({ try await facts.observe(observer) }) else { return }
    for life in facts.lives[lives...] where facts.lives[..<lives].contains(where: { $0.zone == life.zone }) {
      mark(.zoneRecreated)
    }
    for device in devices where !device.isCutOff && !isHealed && timing.next(below: 3) == 2 {
      queue.add(at: now + Int64(1 + timing.next(below: 50)), device.process) { [unowned self] in
        try act(device) { try deliver(.remoteChanged, device) }
      }
    }
  }

  // MARK: Rounds

  /// Errors that a fault of the world explains, by their codes.
  private func isExplained(_ code: String) -> Bool {
    SimulationFault.explanations(of: code).contains(where: configuration.has)
  }

  /// What a round reports is so, and says why where it got nowhere.
  func check(_ report: SyncReport, of device: SimulatedDevice, _ replicator: SimulatedReplicator) throws {
    if isCopied { return }
    coverage.add(.rounds)
    coverage.add(.folded, report.received)
    coverage.add(.conflicts, report.conflicts)
    let isAfterHealing = replicator.round?.isAfterHealing ?? false
    if let failure = report.failure {
      coverage.add(.roundsFailed)
      guard failure.scope == .round else {
        throw SimulationFailure(.roundsMakeProgress, "one zone's failure ended a whole round: \(failure)")
      }
      try check(failure, device, isAfterHealing)
    }
    for zone in report.zones {
      try checkIsTold(zone, device, replicator, report)
      switch zone.status {
      case .inSync: try checkShipped(zone.zone, device, replicator, report)
      case .unfinished: coverage.add(.zonesUnfinished)
      case .parked(_, let failure):
        coverage.add(.zonesParked)
        try check(failure, device, isAfterHealing)
      case .failed(let failure):
        coverage.add(.zonesFailed)
        try check(failure, device, isAfterHealing)
      case .paused: coverage.add(.zonesPaused)
      case .removed: coverage.add(.zonesRemoved)
      case .local: break
      case .forked(let offset):
        throw SimulationFailure(
          .noSurprise,
          "zone \(zone.zone) of d\(device.number) is forked at \(offset), and nobody shares its identity")
      }
    }
  }

  /// A zone that is not folded to the end of the log that the round found says so; and one that waits for a segment still
  /// ships.
  private func checkIsTold(
    _ zone: ZoneReport, _ device: SimulatedDevice, _ replicator: SimulatedReplicator, _ report: SyncReport
  ) throws {
    guard let round = replicator.round, round.steps == .all, report.failure == nil,
      let known = device.view.zone(zone.zone), let incarnation = known.facts.incarnation
    else { return }
    let name = "a round of d\(device.number) says that \(zone.zone) is \(Self.describe(zone.status))"
    switch zone.status {
    case .inSync:
      guard let end = round.ends[incarnation], known.token < end else { return }
      throw SimulationFailure(
        .nothingIsSilent, "\(name), and it is folded up to \(known.token) of \(end)")
    case .parked:
      guard !round.cut.contains(zone.zone) else { return }
      throw SimulationFailure(.roundsMakeProgress, "\(name), and shipped nothing of it")
    default: return
    }
  }

  private func check(_ failure: SyncFailure, _ device: SimulatedDevice, _ isAfterHealing: Bool) throws {
    coverage.add(code: failure.code)
    if failure.message.contains(Self.inAnAssetsPlace) {
      throw SimulationFailure(
        .roundsMakeProgress, "what is in one asset's place holds up more of d\(device.number): \(failure)")
    }
    // Another remote may have been the last that it saw: the first look at the right one forgets that.
    let isLate = failure.code == RemoteError.Code.identityMismatch.rawValue
    if !isAfterHealing || isLate, isExplained(failure.code) { return }
    throw SimulationFailure(
      .noSurprise, "a round of d\(device.number) failed, and nothing explains it: \(failure)")
  }

  /// A zone that is in sync has nothing pending but what was written meanwhile.
  private func checkShipped(
    _ zone: ZoneID, _ device: SimulatedDevice, _ replicator: SimulatedReplicator, _ report: SyncReport
  ) throws {
    guard report.failure == nil, let round = replicator.round, round.steps == .all,
      round.writes == device.view.writes, let store = device.store
    else { return }
    let state = try store.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }
    guard let state, state.pending > 0 else { return }
    throw SimulationFailure(
      .roundsMakeProgress,
      "a round of d\(device.number) says that \(zone) is in sync, and \(state.pending) transactions are pending"
    )
  }

  /// Rounds come no faster than they may: no more than something called for, and after a failure not before the wait is
  /// over, unless the app asks.
  func checkPace(of replicator: SimulatedReplicator, _ device: SimulatedDevice) throws {
    guard replicator.pace.begin(at: now) else {
      throw SimulationFailure(.roundsMakeProgress, "d\(device.number) makes rounds without a pause")
    }
    guard let last = replicator.last, let failure = last.report.failure, !replicator.isAsked else { return }
    let least = max(failure.retryAfterMilliseconds ?? 0, 400)
    guard now - last.milliseconds < least else { return }
    throw SimulationFailure(
      .roundsMakeProgress,
      "d\(device.number) began a round \(now - last.milliseconds) ms after one that failed; it must wait \(least) ms"
    )
  }

  /// A replicator that runs makes another round by itself, whatever became of the last: within a day, the longest that a
  /// remote can ask for.
  func checkGoesOn(_ device: SimulatedDevice) throws {
    for replicator in device.replicators where replicator.round == nil {
      if let next = replicator.nextMilliseconds, next <= now + 2 * dayMilliseconds { continue }
      throw SimulationFailure(
        .roundsMakeProgress, "d\(device.number) makes no more rounds unless something calls for one")
    }
  }

  // MARK: Errors

  /// An error must be one of those that may be.
  func expect(_ error: any Error, _ codes: Set<StoreError.Code>) throws {
    if let error = error as? StoreError, codes.contains(error.code) { return }
    // A file of an asset fails as a commit does.
    if hasAssets, (error as? StoreError)?.code == .system, isExplained("system") { return }
    throw SimulationFailure(.noSurprise, "nothing explains this: \(error)")
  }

  static func code(of error: any Error) -> String {
    switch error {
    case let error as StoreError: error.code.rawValue
    case let error as RemoteError: error.code.rawValue
    default: "\(type(of: error))"
    }
  }

  // MARK: Words

  static func describe(_ report: SyncReport) -> String {
    var words = ["sent \(report.sent), received \(report.received)"]
    if let failure = report.failure { words.append("failed: \(failure.code)") }
    for zone in report.zones where zone.status != .inSync {
      words.append("\(zone.zone) \(describe(zone.status))")
    }
    return words.joined(separator: "; ")
  }

  static func describe(_ status: ZoneStatus) -> String {
    switch status {
    case .inSync: "in sync"
    case .local: "local"
    case .unfinished: "unfinished"
    case .parked(let offset, let failure): "parked at \(offset): \(failure.code)"
    case .paused: "paused"
    case .forked(let offset): "forked at \(offset)"
    case .removed: "removed"
    case .failed(let failure): "failed: \(failure.code)"
    }
  }

  static func describe(_ effect: RoundEffect) -> String {
    switch effect {
    case .readState: "reads its state"
    case .fetchZoneEvents(let token): "fetches the list of zones after \(token?.offset ?? 0)"
    case .applyZoneEvents(let page): "applies \(page.events.count) events of the list of zones"
    case .forgetPlaceInZoneList: "forgets its place in the list of zones"
    case .reclaim: "reclaims"
    case .zone(let zone, let effect): "\(zone): \(describe(effect))"
    }
  }

  private static func describe(_ effect: ZoneEffect) -> String {
    switch effect {
    case .create: "creates it at the remote"
    case .adopt: "adopts it"
    case .fetch(let token): "fetches after \(token.offset)"
    case .fold(let segments, let token, _): "folds \(segments.count) segments after \(token.offset)"
    case .prepare: "cuts"
    case .upload(let asset, _, _): "uploads asset \(asset.hash)"
    case .findUnsentAsset: "looks for an asset that the remote was not given"
    case .findAsset: "looks for an asset that is not here"
    case .download(let asset, _, _): "downloads asset \(asset.hash)"
    case .append(let segment, let offset):
      "appends \(segment.header.sequences.lowerBound)…\(segment.header.sequences.upperBound) after \(offset)"
    case .acknowledge(let header, let place):
      "acknowledges \(header.sequences.lowerBound)…\(header.sequences.upperBound) at \(place.offset)"
    case .withdraw: "withdraws it"
    case .deleteAtRemote: "deletes it at the remote"
    case .finishDeletion: "finishes its deletion"
    }
  }
}

extension SimulationFault {
  /// The faults that make an error of a code possible in a round.
  fileprivate static func explanations(of code: String) -> [SimulationFault] {
    switch code {
    case "unreachable":
      [
        .requestLost, .answerLost, .requestDelayed, .requestDelayedForDays, .unavailable, .partition,
        .offlineForMonths, .sleep, .remoteUnmounted, .remoteForeign, .remoteOld,
      ]
    case "later": [.throttled]
    case "denied": [.denied, .remoteUnmounted, .remoteForeign, .remoteOld]
    case "full": [.diskFull]
    case "commitFailed": [.commitFailed, .diskFull]
    // Of a file of an asset.
    case "system": [.commitFailed, .crashInCommit]
    case "damagedAsset": [.bodyCut, .bodyFlipped, .remoteUnmounted, .remoteForeign, .remoteOld]
    case "commitUncertain": [.commitUncertain]
    case "damaged", "damagedSegment", "invalid", "truncated", "mismatch", "newerFormat":
      [.bodyCut, .bodyFlipped, .newerSegment, .remoteUnmounted, .remoteForeign, .remoteOld]
    case "newerSegment": [.newerSegment, .bodyFlipped]
    case "notARemote": [.remoteUnmounted, .bodyCut, .bodyFlipped]
    case "identityMismatch": [.remoteForeign]
    // One of two replicators read another remote's list while its store still knew none.
    case "remoteChanged": [.remoteForeign]
    case "wentBack": [.remoteOld, .remoteUnmounted, .remoteForeign]
    case "outOfOrder": [.tokensForgotten]
    case "incarnationChanged": [.zoneDeleted]
    case "zoneUnknown": [.remoteOld, .remoteUnmounted, .remoteForeign, .zoneDeleted]
    default: []
    }
  }
}
