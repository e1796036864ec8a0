import Testing

@testable import EventStore
@testable import OperationFormat

@Suite("The order of contributions")
struct OrderOfContributions {
  private func check(
    _ history: HistoryOfClaims, _ seed: UInt64
  ) throws -> ContributionOrder<Claims>.Ground {
    var keys = history.keys.sorted { $0.hashValue < $1.hashValue }
    let ground = try ContributionOrder(history.claims).sort(&keys)
    let wanted = history.claims.naive(history.keys)
    #expect(keys == wanted, "seed \(seed)")
    return ground
  }

  @Test("is that of a naive search, for any clocks, copies and logs", arguments: 1...3)
  func histories(logs: Int) throws {
    var byHeads = 0
    for seed in 1...400 as ClosedRange<UInt64> {
      var history = HistoryOfClaims(seed: seed, logs: logs, isHostile: false)
      for _ in 0..<40 { history.step() }
      let ground = try check(history, seed)
      #expect(ground != .contradictions)
      if ground == .heads { byHeads += 1 }
    }
    // Most are not in the order of their heads.
    #expect(byHeads < 200)
  }

  @Test("is that of a naive search, also if claims contradict each other")
  func hostile() throws {
    var contradictions = 0
    for seed in 1...400 as ClosedRange<UInt64> {
      var history = HistoryOfClaims(seed: seed, logs: 2, isHostile: true)
      for _ in 0..<40 { history.step() }
      if try check(history, seed) == .contradictions { contradictions += 1 }
    }
    #expect(contradictions > 100)
    // Each has seen the other, through another log.
    var claims = Claims(replicas: [ReplicaID(rawValue: 1), ReplicaID(rawValue: 2)])
    claims.places = [1: [[1, 0, 1]: 1], 2: [[2, 0, 1]: 1]]
    func key(_ replica: UInt32, _ log: UInt32) -> ContributionKey {
      let id = HeadID(replica: ReplicaNumber(rawValue: replica), epoch: 0, sequence: 1, index: 0)
      let head = Head(timestamp: Timestamp(milliseconds: UInt64(9 - replica), counter: 0), id: id)
      return ContributionKey(head: head, base: (IncarnationNumber(rawValue: log), 1))
    }
    var keys = [key(1, 2), key(2, 1)]
    let ground = try ContributionOrder(claims).sort(&keys)
    #expect(ground == .contradictions)
    #expect(keys.map(\.head.id.replica.rawValue) == [2, 1])
  }

  @Test("is found quickly for very many whose clocks have the opposite order")
  func many() throws {
    var claims = Claims(replicas: [ReplicaID(rawValue: 1), ReplicaID(rawValue: 2)])
    var keys: [ContributionKey] = []
    let count: UInt64 = 20_000
    for number in 1...count {
      let replica = UInt32(number % 2 + 1)
      let id = HeadID(
        replica: ReplicaNumber(rawValue: replica), epoch: 0, sequence: (number + 1) / 2, index: 0)
      let head = Head(timestamp: Timestamp(milliseconds: count - number, counter: 0), id: id)
      claims.places[1, default: [:]][[UInt64(replica), 0, id.sequence]] = number
      keys.append(ContributionKey(head: head, base: (IncarnationNumber(rawValue: 1), number - 1)))
    }
    var sorted = keys.reversed() as [ContributionKey]
    let ground = try ContributionOrder(claims).sort(&sorted)
    #expect(ground == .sight)
    #expect(sorted == keys)
  }
}
