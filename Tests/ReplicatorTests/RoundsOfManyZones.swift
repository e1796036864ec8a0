import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("A round over many zones")
struct RoundsOfManyZones {
  let zones = (0..<6).map { ZoneID(name: Name("z\($0)")) }

  func start(_ states: [ZoneSyncState], selection: ZoneSelection = .all, atOnce: Int = 3)
    -> (SyncRound, [RoundEffect])
  {
    var round = SyncRound(steps: .all, selection: selection, zonesAtOnceMax: atOnce)
    #expect(round.start() == [.readState])
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 2).token,
      zones: states)
    #expect(round.step(.state(state)) == [.fetchZoneEvents(after: page(at: 2).token)])
    #expect(round.step(.zoneEvents(page(at: 2))) == [.readState])
    let effects = round.step(.state(state))
    return (round, effects)
  }

  @Test(
    "A limited number of zones is active at the same time, and a bad one stops none",
    arguments: 0..<50 as Range<UInt64>)
  func atOnce(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var (round, outstanding) = start(zones.map { zoneState(zone: $0, at: 1, pending: 0) })
    #expect(outstanding.count == 3)
    while !outstanding.isEmpty {
      #expect(outstanding.count <= 3 && !round.isOver)
      guard case .zone(let zone, let effect) = outstanding.remove(at: random.next(below: outstanding.count))
      else { continue }
      let isBad = zone == zones[1]
      let result: ZoneResult =
        switch effect {
        case .fetch where isBad: .failed(failure(.wentBack))
        case .fetch: .fetched(.segments([], hasMore: false))
        default: .prepared(nil)
        }
      outstanding += round.step(.zone(zone, result))
    }
    #expect(round.isOver && round.report.failure == nil)
    #expect(round.report.zones.map(\.zone) == zones)
    for zone in round.report.zones {
      #expect(zone.status == (zone.zone == zones[1] ? .failed(failure(.wentBack)) : .inSync))
    }
  }

  @Test("Zones whose snapshots are to be fetched again come last, each before its log is read")
  func brokenOrigins() {
    var states = zones.map { zoneState(zone: $0, at: 1) }
    for index in [0, 3] { states[index].hasBrokenOrigin = true }
    var (round, outstanding) = start(states, selection: .only(Set(zones[..<3])), atOnce: 1)
    var fetches: [RoundEffect] = []
    while case .zone(let zone, let effect)? = outstanding.popLast() {
      let result: ZoneResult =
        switch effect {
        case .mendOrigin: .mendedOrigin
        case .fetch: .fetched(.segments([], hasMore: false))
        default: .prepared(nil)
        }
      if effect != .prepare { fetches.append(.zone(zone, effect)) }
      outstanding += round.step(.zone(zone, result))
    }
    let logs = [1, 2, 0].map { RoundEffect.zone(zones[$0], .fetch(after: token(1, zone: zones[$0]))) }
    #expect(fetches == [logs[0], logs[1], .zone(zones[0], .mendOrigin), logs[2]])
    #expect(round.isOver && round.report.isInSync)
  }

  @Test("The reports of 20,000 zones are ordered by zone, whatever the order in which they end")
  func inOrder() {
    let many = (0..<20_000).map { ZoneID(name: Name("zone\($0 * 7919 % 20_000)")) }
    let (round, effects) = start(many.map { zoneState(.local, zone: $0, at: 0) })
    #expect(effects.isEmpty && round.isOver)
    #expect(round.report.zones.map(\.zone) == many.sorted())
  }

  @Test("A failing remote ends the round when the outstanding results have arrived")
  func failing() {
    var (round, outstanding) = start(zones.map { zoneState(zone: $0, at: 1) })
    #expect(round.step(.zone(zones[0], .failed(failure(.unreachable)))) == [])
    #expect(!round.isOver)
    for effect in outstanding.dropFirst() {
      guard case .zone(let zone, _) = effect else { continue }
      #expect(round.step(.zone(zone, .fetched(.segments([], hasMore: false)))) == [])
    }
    outstanding = []
    #expect(round.isOver && round.report.failure == failure(.unreachable))
    #expect(round.report.zones.count == 6)
    #expect(round.report.zones.filter { $0.status == .unfinished }.count == 5)
    #expect(!round.report.isInSync)
  }

  @Test("Only chosen zones take part")
  func chosen() {
    let (round, effects) = start(
      zones.map { zoneState($0 == zones[3] ? .offered : .attached, zone: $0, at: 0) },
      selection: .only([zones[3]]))
    #expect(effects == [.zone(zones[3], .adopt(incarnation))])
    #expect(round.report.zones.isEmpty)
  }

  @Test("The list of zones is read to its end and applied before the zones")
  func list() {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1)
    _ = round.start()
    var state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: nil, zones: [])
    #expect(round.step(.state(state)) == [.fetchZoneEvents(after: nil)])
    let created = ZoneEvent(kind: .created, zone: zones[0], incarnation: incarnation)
    let deleted = ZoneEvent(kind: .deleted, zone: zones[1], incarnation: incarnation)
    let (first, second) = (page(at: 1, events: [created], hasMore: true), page(at: 2, events: [deleted]))
    #expect(round.step(.zoneEvents(first)) == [.applyZoneEvents(first)])
    var applied = ZoneListReport()
    applied.created = [zones[0]]
    #expect(round.step(.appliedZoneEvents(applied)) == [.fetchZoneEvents(after: first.token)])
    #expect(round.step(.zoneEvents(second)) == [.applyZoneEvents(second)])
    applied.created = []
    applied.removed = [zones[1]]
    #expect(round.step(.appliedZoneEvents(applied)) == [.readState])
    state.databaseToken = second.token
    // Nothing else is to do: then the rest of the removed zone is reclaimed.
    #expect(round.step(.state(state)) == [.reclaim])
    #expect(round.step(.reclaimed) == [])
    #expect(round.isOver && round.report.createdZones == [zones[0]])
    #expect(round.report.zones.map(\.status) == [.removed])
  }

  @Test("If an earlier round removed a zone without reclaiming it, it is reclaimed")
  func leftovers() {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1)
    _ = round.start()
    var state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 1).token,
      zones: [zoneState(.local)])
    state.hasRemovedZones = true
    _ = round.step(.state(state))
    _ = round.step(.zoneEvents(page(at: 1)))
    #expect(round.step(.state(state)) == [.reclaim])
    #expect(round.step(.reclaimed) == [] && round.isOver)
  }

  @Test("A list that cannot be read ends the round: nothing is fetched or sent")
  func noList() {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1)
    _ = round.start()
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: nil,
      zones: [zoneState(pending: 1)])
    _ = round.step(.state(state))
    #expect(round.step(.failed(failure(.identityMismatch))) == [])
    #expect(round.isOver && round.report.failure == failure(.identityMismatch))
  }

  @Test("A failure that ends a round belongs to the round, even if elsewhere it would belong to a zone")
  func deniedList() {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1)
    _ = round.start()
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: nil, zones: [])
    _ = round.step(.state(state))
    #expect(failure(.denied).scope == .zone)
    #expect(round.step(.failed(failure(.denied))) == [])
    #expect(round.report.failure?.scope == .round)
    #expect(round.report.failure?.code == failure(.denied).code)
  }
}
