import Testing

@testable import EventStore
@testable import LMDB
@testable import OperationFormat
@testable import StoreTesting

/// A view of what others have seen that counts its calls.
private final class CountingSight: ContributionSight {
  private let claims: Claims
  private(set) var offsets = 0
  private(set) var lineages = 0

  init(_ claims: Claims) { self.claims = claims }

  func replicaID(_ number: ReplicaNumber) -> ReplicaID { claims.replicaID(number) }
  func lineage(of replica: ReplicaNumber, _ epoch: UInt32) -> [Claims.Lane] {
    lineages += 1
    return claims.lineage(of: replica, epoch)
  }
  func offset(of head: HeadID, in incarnation: IncarnationNumber) -> UInt64? {
    offsets += 1
    return claims.offset(of: head, in: incarnation)
  }
  func hasPlaces(in incarnation: IncarnationNumber) -> Bool { claims.hasPlaces(in: incarnation) }
}

extension ContributionKey {
  fileprivate var context: CausalContext {
    let id = head.id
    return CausalContext(
      zone: .none, replica: id.replica, epoch: id.epoch, sequence: id.sequence,
      base: incarnation == .none ? nil : (incarnation, baseOffset))
  }
}

@Suite("The operations that remain on a cell")
struct OperationsThatStand {
  /// The effect of one operation on a cell with elements.
  private struct Step {
    var key: ContributionKey
    /// Nil for all elements.
    var element: Value?
    var takes: Bool
    var adds: Bool
  }

  /// The operations that each step removes: compares it with each of the others.
  private func naive(_ steps: [Step], _ claims: Claims) -> [[Int]] {
    var standing: [(number: Int, step: Step)] = []
    var count = 0
    return steps.map { step in
      var taken: [Int] = []
      if step.takes {
        var context = step.key.context
        context.lineage = claims.lineage(of: context.replica, context.epoch)
        standing.removeAll { earlier in
          guard step.element == nil || earlier.step.element == step.element else { return false }
          let id = earlier.step.key.head.id
          let isSeen = context.hasSeen(id, at: step.key.head.id.index) { _, _, _, incarnation in
            claims.offset(of: id, in: incarnation)
          }
          if isSeen { taken.append(earlier.number) }
          return isSeen
        }
      }
      if step.adds {
        standing.append((count, step))
        count += 1
      }
      return taken
    }
  }

  private func fast(_ steps: [Step], _ sight: some ContributionSight) throws -> [[Int]] {
    var standing = StandingOperations(sight)
    return try steps.map { step in
      let index = step.key.head.id.index
      let taken =
        step.takes ? try standing.takeSeen(by: step.key.context, at: index, element: step.element) : []
      if step.adds { standing.add(step.key.head.id, element: step.element) }
      return taken.sorted()
    }
  }

  @Test("are those of a search through all, for any lanes, logs and elements", arguments: 1...3)
  func histories(logs: Int) throws {
    var taken = 0
    for seed in 1...400 as ClosedRange<UInt64> {
      var history = HistoryOfClaims(seed: seed, logs: logs, isHostile: seed.isMultiple(of: 2))
      for _ in 0..<60 { history.step() }
      // Every fourth history is of a cell without elements.
      let elements = seed.isMultiple(of: 4) ? 0 : 3
      let steps = history.keys.map { key in
        let kind = history.random.below(10)
        let isClear = elements == 0 || kind == 0
        return Step(
          key: key, element: isClear ? nil : .int(Int64(history.random.below(elements))), takes: kind != 1,
          adds: elements == 0 || kind != 0 && kind != 2)
      }
      let found = try fast(steps, history.claims)
      #expect(found == naive(steps, history.claims), "seed \(seed)")
      taken += found.joined().count
    }
    #expect(taken > 4000)
  }

  /// Lanes that each wrote once, and had seen the first offset; each has its own offset.
  private func concurrent(_ count: Int) -> (steps: [Step], claims: Claims) {
    var claims = Claims()
    let steps = (1...count).map { number in
      let id = HeadID(replica: ReplicaNumber(rawValue: UInt32(number)), epoch: 0, sequence: 1, index: 0)
      claims.places[1, default: [:]][[UInt64(number), 0, 1]] = UInt64(number)
      let head = Head(timestamp: Timestamp(milliseconds: 1, counter: 0), id: id)
      let key = ContributionKey(head: head, base: (IncarnationNumber(rawValue: 1), 1))
      return Step(key: key, element: nil, takes: true, adds: true)
    }
    return (steps, claims)
  }

  @Test("are looked up once each, however many there are", arguments: [1000, 20_000])
  func many(count: Int) throws {
    let (steps, claims) = concurrent(count)
    let sight = CountingSight(claims)
    let taken = try fast(steps, sight)
    // The second has seen the first, and nobody has seen any other.
    #expect(taken.joined().map { $0 } == [0])
    #expect(sight.offsets == count - 1 && sight.lineages == count)
  }

  @Test("one that has seen all removes all, and looks none up again")
  func all() throws {
    let (first, claims) = concurrent(1000)
    var steps = first
    for base in [500, 1000, 1000] as [UInt64] {
      var last = steps[0]
      last.key.head.id.replica = ReplicaNumber(rawValue: UInt32(steps.count + 1))
      last.key.baseOffset = base
      steps.append(last)
    }
    let sight = CountingSight(claims)
    let taken = try fast(steps, sight)
    #expect(taken[1000] == Array(1..<500) && taken[1001] == Array(500..<1000) && taken[1002] == [])
    #expect(sight.offsets == 1002)
  }

  #if DEBUG
    /// The calls of LMDB for an explanation of a field that this many replicas have set, each after the
    /// first.
    private func calls(heads: UInt64) async throws -> Int {
      let directory = TemporaryDirectory()
      let plan = FaultPlan()
      let store = try directory.store { $0.faults = plan }
      try await store.makeAttachedZone()
      var remote = TestRemote()
      _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 0)])])
      for number in 1...heads {
        _ = try remote.append([
          transaction(UInt128(number) + 1, 1, base: 1, [set("r", "f", .int(Int64(number)))])
        ])
      }
      _ = try await store.ingest(remote.segments)
      let before = plan.count
      let explanation = try #require(try store.read { try $0.explain(note("r"), field: "f") })
      #expect(
        explanation.heads.count == Int(heads) && explanation.losses.count { $0 != nil } == Int(heads) - 1)
      #expect(explanation.replaced.map(\.content) == [.value(0)])
      let count = plan.count - before
      store.close()
      return count
    }

    @Test("are read by an explanation in work that grows with them")
    func explained() async throws {
      let (few, many) = (try await calls(heads: 50), try await calls(heads: 400))
      #expect(many <= 8 * few + 100, "\(few) and \(many) calls")
    }
  #endif
}
