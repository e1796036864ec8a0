import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("A misplaced result is a bug: it traps, or fails with a typed error, and never reports in sync")
struct ResultsThatDoNotBelong {
  /// The results that an effect may have, written a second time.
  private static func belongs(_ result: ZoneResult, to effect: ZoneEffect) -> Bool {
    switch (effect, result) {
    case (_, .failed), (.mendOrigin, .mendedOrigin), (.create, .created), (.adopt, .adopted),
      (.adopt, .deletedMeanwhile),
      (.fetch, .fetched), (.fetch, .folded), (.fold, .folded), (.prepare, .prepared),
      (.prepare, .folded), (.upload, .uploaded), (.append, .appended),
      (.acknowledge, .acknowledged), (.findUnsentAsset, .foundUnsentAsset), (.findAsset, .foundAsset),
      (.download, .downloaded), (.withdraw, .withdrawn), (.reopen, .reopened), (.forgetCut, .forgotCut),
      (.deleteAtRemote, .deletedAtRemote),
      (.finishDeletion, .finishedDeletion):
      true
    default: false
    }
  }

  private static func results(_ random: inout SeededRandom) -> [ZoneResult] {
    let place = SegmentPlace(offset: UInt64(random.next(below: 9) + 1))
    let asset = AssetReference(hash: hash(place.offset), byteCount: place.offset)
    var transfer = AssetTransfer([.whole, .unfinished, .gone, .problem(.missingHere)][random.next(below: 4)])
    transfer.chunks = 1
    return [
      .created(incarnation), .adopted, .deletedMeanwhile(incarnation), .mendedOrigin,
      .fetched(.segments([], hasMore: false)),
      .fetched(.segments([stored(1)], hasMore: random.chance(50))),
      .fetched(.gone(.deleted)), folded(to: place.offset), folded(to: 1, problem: failure(.mismatch)),
      .prepared(nil), .prepared(packed(1...2)), .prepared(packed(1...2), naming: [asset]),
      .uploaded(transfer), .foundUnsentAsset(nil), .foundUnsentAsset(asset),
      .foundAsset(WantedAsset(nil, logEnd: Position(rawValue: 7))),
      .foundAsset(WantedAsset(asset, logEnd: Position(rawValue: 7))), .downloaded(transfer),
      .appended(.appended(place)), .appended(.alreadyThere(place)), .appended(.fork(place)),
      .appended(.gone(.purged)), acknowledged(to: place.offset), .withdrawn(true), .withdrawn(false),
      .appended(.gone(.revoked)), .forgotCut, .failed(failure(.keyOutdated)), .failed(failure(.readOnly)),
      .deletedAtRemote, .finishedDeletion, .reopened, .failed(failure(.damagedSegment)),
      .failed(failure(.unreachable)),
    ]
  }

  @Test(
    "Any results in any order end in a bounded number of steps, without a trap",
    arguments: 0..<400 as Range<UInt64>)
  func anything(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let attachments: [ZoneAttachment] = [.local, .attached, .offered, .deleting]
    var state = zoneState(attachments[random.next(below: 4)], at: random.chance(50) ? nil : 3, pending: 2)
    state.assetPolicy = random.chance(50) ? .eager : .lazy
    state.hasUnsentAssets = random.chance(50)
    state.hasBrokenOrigin = random.chance(50)
    let steps = [SyncSteps.all, .fetch, .ship][random.next(below: 3)]
    var round = ZoneRound(state, steps: steps, misplacedResults: .fail)
    var effect = round.start()
    var count = 0
    while let current = effect, count < 10_000 {
      count += 1
      var results = Self.results(&random)
      // Few rounds would get far with random results only.
      if !random.chance(2) { results.removeAll { !Self.belongs($0, to: current) } }
      let result = results[random.next(below: results.count)]
      effect = round.step(result)
      guard !Self.belongs(result, to: current) else { continue }
      guard effect == nil, case .failed(let failure) = round.report.status else {
        Issue.record("\(result) was taken after \(current): \(round.report.status)")
        return
      }
      #expect(failure.errorCode == .failed && failure.scope == .zone)
    }
    #expect(count < 10_000)
    // A result after the end is not a success either.
    #expect(round.step(.prepared(nil)) == nil)
    guard case .failed = round.report.status else {
      Issue.record("a result after the end was taken: \(round.report.status)")
      return
    }
  }

  /// A round that fetches `zone`, and waits for the result.
  private func fetching(_ misplacedResults: MisplacedResults) -> SyncRound {
    var round = SyncRound(
      steps: .all, selection: .all, zonesAtOnceMax: 4, misplacedResults: misplacedResults)
    _ = round.start()
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 2).token,
      zones: [zoneState(at: 1)])
    for result in [RoundResult.state(state), .zoneEvents(page(at: 2)), .state(state)] {
      _ = round.step(result)
    }
    return round
  }

  @Test(
    "a result of an inactive zone ends the round with a failure, after the others' results have arrived")
  func ofAnotherZone() {
    var round = fetching(.fail)
    #expect(round.step(.zone(ZoneID(name: "other"), .prepared(nil))) == [])
    #expect(!round.isOver)
    #expect(round.step(.zone(zone, .fetched(.segments([], hasMore: false)))) == [])
    #expect(round.isOver && round.report.failure?.errorCode == .failed)
    #expect(round.report.zones.map(\.status) == [.unfinished] && !round.report.isInSync)
  }

  @Test(
    "a result of the list while zones are synced, and any result after the end, make the round fail")
  func ofAnotherPhase() {
    var round = fetching(.fail)
    #expect(round.step(.reclaimed) == [])
    #expect(round.report.failure?.errorCode == .failed && !round.isOver)
    #expect(round.step(.zone(zone, .fetched(.segments([], hasMore: false)))) == [])
    #expect(round.isOver)
    round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 4, misplacedResults: .fail)
    _ = round.start()
    #expect(round.step(.zoneEvents(page(at: 2))) == [])
    #expect(round.isOver && round.report.failure?.errorCode == .failed)
  }

  #if DEBUG
    @Test("a debug build traps")
    func traps() async {
      await #expect(processExitsWith: .failure) {
        var round = ZoneRound(zoneState(at: 7), steps: .all)
        _ = round.start()
        _ = round.step(.prepared(nil))
      }
      await #expect(processExitsWith: .failure) {
        var machine = ReplicatorMachine(policy: SyncPolicy(), selection: .all)
        _ = machine.step(.completed(.reclaimed))
      }
      // And it accepts a correct result.
      await #expect(processExitsWith: .success) {
        var round = ZoneRound(zoneState(at: 7), steps: .all)
        _ = round.start()
        _ = round.step(.fetched(.segments([], hasMore: false)))
      }
    }
  #endif
}
