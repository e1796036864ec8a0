import Testing

@testable import StoreTesting

/// All schedules of three replicas that write to one field of one record; each transaction is one operation.
@Suite("All small schedules of three replicas")
struct SmallSchedulesOfThree {
  /// The next action of a replica: it writes, or it sends and fetches everything.
  struct Act: Hashable {
    var replica: Int
    var isWrite: Bool
  }

  /// All orders of so many writes of each replica and up to so many syncs, without a sync that follows another
  /// of the same replica, without syncs before the first write, and without syncs after the last one, which the
  /// end of a schedule has anyway.
  static func orders(writes: [Int], syncs: Int) -> [[Act]] {
    var found: [[Act]] = []
    func extend(_ acts: [Act], _ writes: [Int], _ syncs: Int) {
      if writes.allSatisfy({ $0 == 0 }) { return found.append(acts) }
      for replica in writes.indices where writes[replica] > 0 {
        var left = writes
        left[replica] -= 1
        extend(acts + [Act(replica: replica, isWrite: true)], left, syncs)
      }
      guard syncs > 0, !acts.isEmpty else { return }
      for replica in writes.indices {
        let sync = Act(replica: replica, isWrite: false)
        if acts.last != sync { extend(acts + [sync], writes, syncs - 1) }
      }
    }
    extend([], writes, syncs)
    return found
  }

  /// The clock of each replica, in milliseconds: one is right, one an hour ahead, one an hour behind.
  private static let clocks: [Int64] = [3_600_001, 7_200_001, 1]

  /// A record that all three have, with a value in its field, and then the actions.
  ///
  /// - Parameter operations: those of the writes, in the order of `acts`.
  static func schedule(_ acts: [Act], _ operations: [FoldOperation], seed: Int) -> FoldSchedule {
    var schedule = FoldSchedule(replicas: 3, records: 1, fields: 1, seed: UInt64(seed))
    let wall: (Int) -> Int64 = { clocks[($0 + seed) % 3] }
    func sync(_ replica: Int) {
      schedule.steps.append(.ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false))
      schedule.steps.append(.fetch(replica: replica, segments: 8, wallMilliseconds: wall(replica)))
    }
    let made = [
      FoldOperation(.create, record: 0), FoldOperation(.set, record: 0, value: FoldValue(rawValue: 7)),
    ]
    schedule.steps.append(.write(replica: 0, wallMilliseconds: wall(0), operations: made))
    for replica in 0..<3 { sync(replica) }
    var next = operations.makeIterator()
    for act in acts {
      guard act.isWrite else {
        sync(act.replica)
        continue
      }
      guard let operation = next.next() else { break }
      schedule.steps.append(
        .write(replica: act.replica, wallMilliseconds: wall(act.replica), operations: [operation]))
    }
    return schedule
  }

  /// Which writes each write has seen, by their numbers in the order of the actions: a second look at the same
  /// actions, without clocks, logs or folding.
  static func seen(_ acts: [Act]) -> [Set<Int>] {
    var (seen, shared): ([Set<Int>], Set<Int>) = ([], [])
    var known: [Set<Int>] = [[], [], []]
    for act in acts {
      if act.isWrite {
        seen.append(known[act.replica])
        known[act.replica].insert(seen.count - 1)
      } else {
        shared.formUnion(known[act.replica])
        known[act.replica] = shared
      }
    }
    return seen
  }

  #if DEBUG
    static let (stride, strideOfTwo) = WideTests.choose((1, 1), otherwise: (37, 7))
    static let syncs = 2
  #else
    static let (stride, strideOfTwo) = (1, 1)
    static let syncs = 3
  #endif

  @Test("one transaction each that creates, sets or deletes: as the oracle says, after each step")
  func oneEach() {
    var sizes = FoldCheckSizes()
    sizes.orders = 0
    let check = FoldCheck(seed: 0, sizes: sizes)
    var coverage = FoldCheckCoverage()
    var (number, count) = (0, 0)
    for acts in Self.orders(writes: [1, 1, 1], syncs: Self.syncs) {
      for choice in 0..<27 {
        number += 1
        guard number.isMultiple(of: Self.stride) else { continue }
        count += 1
        let operations = [choice % 3, choice / 3 % 3, choice / 9].map { SmallSchedules.operations[$0] }
        let schedule = Self.schedule(acts, operations, seed: number)
        if let failure = check.run(schedule, coverage: &coverage) {
          Issue.record("\(failure)")
          return
        }
      }
    }
    #expect(count == Self.orders(writes: [1, 1, 1], syncs: Self.syncs).count * 27 / Self.stride)
  }

  /// What another replica does while the first one deletes the record and creates it again.
  private static let others = [
    FoldOperation(.set, record: 0, value: FoldValue(rawValue: 1)),
    FoldOperation(.set, record: 0, value: FoldValue(rawValue: 2)), FoldOperation(.delete, record: 0),
  ]

  @Test(
    "one replica deletes and creates again, the others set or delete: the record is there, without the former value, and with what was set concurrently"
  )
  func createdAgain() throws {
    let (delete, create) = (FoldOperation(.delete, record: 0), FoldOperation(.create, record: 0))
    var (number, count, concurrent) = (0, 0, 0)
    for acts in Self.orders(writes: [2, 1, 1], syncs: Self.syncs - 1) {
      let writers = acts.filter(\.isWrite).map(\.replica)
      let seen = Self.seen(acts)
      let creation = try #require(writers.lastIndex(of: 0))
      for choice in 0..<9 {
        number += 1
        guard number.isMultiple(of: Self.strideOfTwo) else { continue }
        count += 1
        var own = [create, delete]
        let operations = writers.map { writer in
          writer == 0 ? own.removeLast() : Self.others[writer == 1 ? choice % 3 : choice / 3]
        }
        let heads = try Self.schedule(acts, operations, seed: number).heads(ofRecord: 0)
        // A write is in what is shown unless one that replaces it has seen it. A creation replaces all.
        let replaced = operations.indices.filter { write in
          operations.indices.contains { seen[$0].contains(write) && operations[$0].kind != .delete }
        }
        let sets = operations.indices.filter { operations[$0].kind == .set && !replaced.contains($0) }
        let isDeleted = operations.indices.contains { write in
          operations[write].kind == .delete && !operations.indices.contains { seen[$0].contains(write) }
        }
        let isSame =
          heads[0].contains("alive") == !Self.isGone(operations, seen)
          && heads[0].contains("dead") == isDeleted
          && Set(heads[1]) == Set(sets.map { "\(operations[$0].value.rawValue)" })
          && heads[1].count == sets.count
        guard isSame else {
          Issue.record("\(acts), \(operations): \(heads)")
          return
        }
        // Nobody's deletion has seen the creation: it is there if updates win, and if it is later.
        if !writers.indices.contains(where: {
          operations[$0].kind == .delete && seen[$0].contains(creation)
        }) {
          guard heads[0].contains("alive"), !heads[1].contains("7") else {
            Issue.record("\(acts), \(operations): \(heads)")
            return
          }
        }
        if sets.contains(where: { !seen[$0].contains(creation) && !seen[creation].contains($0) }) {
          concurrent += 1
        }
      }
    }
    #expect(count > 20 && concurrent > 2)
  }

  /// Whether every write that lets the record exist was seen by another one.
  private static func isGone(_ operations: [FoldOperation], _ seen: [Set<Int>]) -> Bool {
    !operations.indices.contains { write in
      operations[write].kind != .delete && !operations.indices.contains { seen[$0].contains(write) }
    }
  }
}
