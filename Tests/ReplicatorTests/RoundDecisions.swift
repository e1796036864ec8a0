import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("What a round must not do too early")
struct RoundDecisions {
  /// A round whose store has these zones, and its first effects.
  private func begin(_ states: [ZoneSyncState]) -> (SyncRound, [RoundEffect]) {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 4)
    _ = round.start()
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 2).token,
      zones: states)
    _ = round.step(.state(state))
    _ = round.step(.zoneEvents(page(at: 2)))
    let effects = round.step(.state(state))
    return (round, effects)
  }

  @Test(
    "A zone that was created again waits until the remote knows the end of the earlier one",
    arguments: [true, false])
  func madeAgain(isDeleted: Bool) {
    let other = ZoneID(name: "other")
    var (round, effects) = begin([
      zoneState(at: nil, pending: 1), zoneState(.deleting, at: 3), zoneState(zone: other, at: 1),
    ])
    #expect(
      effects == [
        .zone(zone, .deleteAtRemote(incarnation)), .zone(other, .fetch(after: token(1, zone: other))),
      ])
    guard isDeleted else {
      #expect(round.step(.zone(zone, .failed(failure(.denied)))) == [])
      #expect(round.report.zones.map(\.status) == [.failed(failure(.denied)), .unfinished])
      return
    }
    effects = round.step(.zone(zone, .deletedAtRemote))
    #expect(effects == [.zone(zone, .finishDeletion(incarnation))])
    effects = round.step(.zone(zone, .finishedDeletion))
    #expect(effects == [.zone(zone, .create)])
    #expect(round.report.zones.map(\.status) == [.removed])
  }

  @Test(
    "A list that went back is read from its start once, if the store syncs no zone of the remote")
  func listWentBack() {
    func begin(_ states: [ZoneSyncState]) -> (SyncRound, StoreSyncState) {
      var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 4)
      _ = round.start()
      let state = StoreSyncState(
        identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 5).token,
        zones: states)
      #expect(round.step(.state(state)) == [.fetchZoneEvents(after: page(at: 5).token)])
      return (round, state)
    }
    let (offered, deleted) = (ZoneID(name: "offered"), ZoneID(name: "deleted"))
    let free = [
      zoneState(at: nil, pending: 1), zoneState(.offered, zone: offered, at: 0),
      zoneState(.deleting, zone: deleted, at: 3),
    ]
    var (round, state) = begin(free)
    #expect(round.step(.failed(failure(.wentBack))) == [.forgetPlaceInZoneList])
    state.databaseToken = page(at: 0).token
    #expect(round.step(.state(state)) == [.fetchZoneEvents(after: page(at: 0).token)])
    #expect(round.step(.failed(failure(.wentBack))) == [])
    #expect(round.isOver && round.report.failure?.code == "wentBack")
    // Another failure says nothing about the list.
    (round, _) = begin(free)
    #expect(round.step(.failed(failure(.notARemote))) == [])
    // The remote may have lost a synced zone: its user decides.
    (round, _) = begin(free + [zoneState(zone: ZoneID(name: "synced"), at: 0)])
    #expect(round.step(.failed(failure(.wentBack))) == [])
    #expect(round.report.failure?.code == "wentBack")
  }

  @Test("Nothing is sent after other content was found under own sequences")
  func forked() {
    var round = ZoneRound(zoneState(at: 1, pending: 3), steps: .all)
    #expect(round.start() == .fetch(after: token(1)))
    #expect(round.step(.fetched(.segments([stored(2), stored(3)], hasMore: true))) != nil)
    var outcome = FoldOutcome(token: token(2))
    outcome.problem = failure(.mismatch)
    outcome.isForked = true
    #expect(round.step(.folded(outcome)) == nil)
    #expect(round.report.status == .forked(offset: 3))
  }

  @Test("Continuous commits do not delay sending: the delay of the first one counts")
  func commitsWithoutPause() {
    var machine = ReplicatorMachine(policy: SyncPolicy(), selection: .all)
    _ = machine.step(.started)
    _ = machine.step(.completed(.failed(failure(.unreachable))))
    _ = machine.step(.timerFired(.next))
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 1).token,
      zones: [])
    for result in [RoundResult.state(state), .zoneEvents(page(at: 1)), .state(state)] {
      _ = machine.step(.completed(result))
    }
    func timers() -> Int {
      machine.step(.localCommit).filter { if case .setTimer(.commit, _) = $0 { true } else { false } }.count
    }
    #expect((0..<20).map { _ in timers() }.reduce(0, +) == 1)
    #expect(!machine.step(.timerFired(.commit)).isEmpty)
    for result in [RoundResult.state(state), .heads(nil), .zoneEvents(page(at: 1)), .state(state)] {
      _ = machine.step(.completed(result))
    }
    #expect(timers() == 1)
  }
}
