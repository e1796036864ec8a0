import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("When a replicator starts a round")
struct WhenRoundsAreMade {
  /// A machine whose rounds the test ends, and the timers that it sets.
  struct World {
    var machine: ReplicatorMachine
    var timers: [ReplicatorTimer: ClosedRange<Int64>] = [:]
    var rounds = 0
    var isInRound = false
    private var isAskingHeads = false

    init(_ policy: SyncPolicy = SyncPolicy()) {
      machine = ReplicatorMachine(policy: policy, selection: .all)
    }

    mutating func send(_ event: ReplicatorEvent) {
      if case .timerFired(let timer) = event { timers[timer] = nil }
      for effect in machine.step(event) {
        switch effect {
        case .round(.readState) where !isInRound:
          isInRound = true
          rounds += 1
        case .round(.askHeads): isAskingHeads = true
        case .round, .announce: break
        // Only marks the next round.
        case .setTimer(.everything, _): break
        case .setTimer(let timer, let range): timers[timer] = range
        case .report: isInRound = false
        }
      }
    }

    /// Answers up to the list of zones, without heads.
    private mutating func open(_ state: StoreSyncState) {
      send(.completed(.state(state)))
      if isAskingHeads { send(.completed(.heads(nil))) }
      isAskingHeads = false
      send(.completed(.zoneEvents(page(at: 1))))
    }

    /// Ends the current round with the failure of a zone.
    mutating func end(zone failure: SyncFailure) {
      let state = StoreSyncState(
        identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 1).token,
        zones: [zoneState(at: 1)])
      open(state)
      send(.completed(.state(state)))
      send(.completed(.zone(zone, .failed(failure))))
      send(.completed(.zone(zone, .prepared(nil))))
    }

    /// Ends the current round.
    mutating func end(_ failure: SyncFailure? = nil) {
      #expect(isInRound)
      if let failure { return send(.completed(.failed(failure))) }
      let state = StoreSyncState(
        identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 1).token,
        zones: [])
      open(state)
      send(.completed(.state(state)))
    }
  }

  @Test("One round at the start, then after a commit, a push, or a timer")
  func reasons() {
    var world = World()
    world.send(.started)
    world.end()
    #expect(world.rounds == 1 && world.timers == [.next: 15_000...15_000])
    world.send(.localCommit)
    #expect(world.rounds == 1 && world.timers[.commit] == 250...250)
    world.send(.timerFired(.commit))
    world.end()
    world.send(.remoteChanged(.anything))
    #expect(world.timers[.push] == 50...50)
    world.send(.timerFired(.push))
    world.end()
    world.send(.timerFired(.next))
    world.end()
    #expect(world.rounds == 4)
  }

  @Test("Events during a round cause exactly one more, after a delay")
  func during() {
    var world = World()
    world.send(.started)
    for _ in 0..<5 {
      world.send(.localCommit)
      world.send(.remoteChanged(.anything))
      world.send(.timerFired(.next))
    }
    world.end()
    #expect(world.rounds == 1 && world.timers[.push] == 50...50)
    world.send(.timerFired(.push))
    world.end()
    #expect(world.rounds == 2 && world.timers[.push] == nil)
  }

  @Test("A round that an app requests runs once, and no timer is set")
  func once() {
    var world = World()
    world.send(.syncRequested(.ship))
    world.send(.localCommit)
    world.send(.remoteChanged(.anything))
    world.end()
    #expect(world.rounds == 1 && world.timers.isEmpty)
  }

  @Test(
    "A thousand failures in a row: it still retries with growing delays up to the limit, never in a hot loop")
  func backoff() {
    var world = World()
    world.send(.started)
    var least: [Int64] = []
    for attempt in 1...1000 {
      world.end(failure(.unreachable))
      let range = world.timers[.next]!
      #expect(range.upperBound <= 300_000 && range.lowerBound >= 500)
      #expect(range.lowerBound == range.upperBound / 2)
      least.append(range.lowerBound)
      // Neither commits nor notifications of the remote cause an earlier round.
      world.send(.localCommit)
      world.send(.remoteChanged(.anything))
      world.send(.timerFired(.commit))
      world.send(.timerFired(.push))
      #expect(world.rounds == attempt && !world.isInRound)
      world.send(.timerFired(.next))
    }
    #expect(least.prefix(4) == [500, 1000, 2000, 4000] && least.last == 150_000)
    #expect(least == least.sorted())
    world.end()
    #expect(world.timers[.next] == 15_000...15_000)
    world.send(.timerFired(.next))
    world.end(failure(.unreachable))
    #expect(world.timers[.next] == 500...1000)
  }

  @Test(
    "It fails for thirty days without writes and notifications: it still tries, every five minutes"
  )
  func thirtyDays() {
    var world = World()
    world.send(.started)
    // With the greatest jitter, so that the days pass with the fewest attempts.
    var passed: Int64 = 0
    var attempts = 0
    while passed < 30 * 86_400_000 {
      attempts += 1
      world.end(failure(.unreachable))
      #expect(world.timers.count == 1)
      guard let range = world.timers[.next] else { return }
      #expect(range.lowerBound >= 500 && range.upperBound <= 300_000)
      passed += range.upperBound
      world.send(.timerFired(.next))
      #expect(world.rounds == attempts + 1)
    }
    #expect(attempts >= 30 * 86_400 / 300)
    world.end()
    #expect(world.timers == [.next: 15_000...15_000])
  }

  @Test("A remote that gives a time is not called before it")
  func retryAfter() {
    var world = World()
    world.send(.started)
    world.end(failure(.later, retryAfterMilliseconds: 600_000))
    #expect(world.timers[.next] == 600_000...900_000)
    world.send(.timerFired(.next))
    world.end(failure(.later, retryAfterMilliseconds: .max))
    #expect(world.timers[.next]!.lowerBound == 86_400_000)
    world.send(.timerFired(.next))
    world.end(failure(.later, retryAfterMilliseconds: -5))
    #expect(world.timers[.next]!.lowerBound == 2_000)
  }

  @Test("A remote that gives the same time after each failure is called less and less often")
  func sameRetryAfter() {
    let policy = SyncPolicy()
    let ranges = (1...6).map { policy.delay(afterFailures: $0, retryAfterMilliseconds: 23_000) }
    #expect(ranges.map(\.lowerBound) == [23_000, 46_000, 92_000, 184_000, 300_000, 300_000])
    for range in ranges { #expect(range.upperBound == range.lowerBound + range.lowerBound / 2) }
  }

  @Test("A zone for which the remote gives a time is not asked before it")
  func retryAfterOfAZone() {
    var world = World()
    world.send(.started)
    world.end(zone: failure(.overQuota, retryAfterMilliseconds: 60_000))
    #expect(world.timers[.next] == 60_000...90_000)
    world.send(.timerFired(.next))
    world.end(zone: failure(.overQuota))
    #expect(world.timers[.next] == 1000...2000)
    world.send(.timerFired(.next))
    // The others do not wait longer than until all zones are asked again.
    world.end(zone: failure(.overQuota, retryAfterMilliseconds: .max))
    #expect(world.timers[.next]?.lowerBound == SyncPolicy().everythingMilliseconds)
  }

  @Test("Another round that succeeds ends the wait after a failure")
  func remoteWorks() {
    var world = World()
    world.send(.started)
    world.send(.remoteWorks)
    #expect(world.rounds == 1)
    world.end(failure(.unauthenticated))
    world.send(.localCommit)
    #expect(world.rounds == 1 && world.timers[.commit] == nil)
    world.send(.remoteWorks)
    #expect(world.rounds == 2)
    world.end()
    world.send(.remoteWorks)
    #expect(world.rounds == 2)
    world.send(.localCommit)
    #expect(world.timers[.commit] != nil)
  }

  @Test("The least and the greatest delays of a policy do not trap")
  func edges() {
    var policy = SyncPolicy()
    for base in [0, 1, .max / 2, .max] as [Int64] {
      for most in [0, 1, .max / 2, .max] as [Int64] {
        policy.retryMilliseconds = base
        policy.retryMillisecondsMax = most
        for count in [0, 1, 2, 33, 64, 1000, .max] {
          let range = policy.delay(afterFailures: count, retryAfterMilliseconds: .max)
          #expect(range.lowerBound >= 0 && range.upperBound >= range.lowerBound)
        }
      }
    }
  }
}
