import Testing

@testable import StoreTesting

/// All schedules of two replicas that write to one field of one record; each transaction is one operation.
@Suite("All small schedules")
struct SmallSchedules {
  static let operations = [
    FoldOperation(.create, record: 0), FoldOperation(.set, record: 0, value: FoldValue(rawValue: 1)),
    FoldOperation(.delete, record: 0),
  ]

  /// The next action of a replica: it writes, or it sends and fetches everything.
  enum Act: CaseIterable {
    case writesFirst, writesSecond, syncsFirst, syncsSecond
    var replica: Int { self == .writesFirst || self == .syncsFirst ? 0 : 1 }
    var isWrite: Bool { self == .writesFirst || self == .writesSecond }
  }

  /// All orders of this many writes of each replica and up to this many syncs, without a sync that follows
  /// another of the same replica and without syncs after the last write, which the end of a schedule has
  /// anyway.
  static func orders(writes: Int, syncs: Int) -> [[Act]] {
    var found: [[Act]] = []
    func extend(_ acts: [Act], _ first: Int, _ second: Int, _ syncs: Int) {
      if first == 0 && second == 0 { return found.append(acts) }
      if first > 0 { extend(acts + [.writesFirst], first - 1, second, syncs) }
      if second > 0 { extend(acts + [.writesSecond], first, second - 1, syncs) }
      guard syncs > 0 else { return }
      for act in [Act.syncsFirst, .syncsSecond] where acts.last != act {
        extend(acts + [act], first, second, syncs - 1)
      }
    }
    extend([], writes, writes, syncs)
    return found
  }

  /// A schedule of the actions. If the clocks differ, the first replica's is an hour ahead.
  static func schedule(_ acts: [Act], choice: Int, clocksDiffer: Bool) -> FoldSchedule {
    var choice = choice
    var schedule = FoldSchedule(replicas: 2, records: 1, fields: 1, seed: UInt64(choice))
    for act in acts {
      let wall: Int64 = clocksDiffer && act.replica == 1 ? 1000 : 3_601_000
      if act.isWrite {
        let operation = operations[choice % operations.count]
        choice /= operations.count
        schedule.steps.append(.write(replica: act.replica, wallMilliseconds: wall, operations: [operation]))
      } else {
        schedule.steps.append(
          .ship(replica: act.replica, count: 8, receivedMilliseconds: nil, again: false))
        schedule.steps.append(.fetch(replica: act.replica, segments: 8, wallMilliseconds: wall))
      }
    }
    return schedule
  }

  /// Runs every `stride`-th of the schedules, and returns how many ran.
  private func run(writes: Int, syncs: Int, stride: Int) -> Int {
    var sizes = FoldCheckSizes()
    sizes.orders = 0
    let check = FoldCheck(seed: 0, sizes: sizes)
    var coverage = FoldCheckCoverage()
    var number = 0
    var count = 0
    let choices = (0..<2 * writes).reduce(1) { choices, _ in choices * Self.operations.count }
    for acts in Self.orders(writes: writes, syncs: syncs) {
      for choice in 0..<choices {
        number += 1
        guard number.isMultiple(of: stride) else { continue }
        count += 1
        let schedule = Self.schedule(acts, choice: choice, clocksDiffer: choice.isMultiple(of: 2))
        if let failure = check.run(schedule, coverage: &coverage) {
          Issue.record("\(failure)")
          return count
        }
      }
    }
    return count
  }

  #if DEBUG
    static let (strideOfTwo, stride) = WideTests.choose((1, 2741), otherwise: (5, 9973))
    static let syncs = 1
  #else
    static let (strideOfTwo, stride) = (1, 31)
    static let syncs = 3
  #endif

  @Test("one transaction each, up to four syncs: all of them")
  func oneEach() {
    let count = run(writes: 1, syncs: 4, stride: 1)
    #expect(count == 82 * 9)
  }

  @Test("two transactions each, up to one sync, in a release build three: all of them, or an even selection")
  func twoEach() {
    let count = run(writes: 2, syncs: Self.syncs, stride: Self.strideOfTwo)
    #expect(count == Self.orders(writes: 2, syncs: Self.syncs).count * 81 / Self.strideOfTwo)
  }

  @Test("three transactions each, up to three syncs: an even selection")
  func threeEach() {
    let count = run(writes: 3, syncs: 3, stride: Self.stride)
    #expect(count == Self.orders(writes: 3, syncs: 3).count * 729 / Self.stride)
  }

  /// Whether the second of two writes, one of each replica, was made after its replica fetched the first.
  private static func hasSeen(_ acts: [Act]) -> Bool {
    guard let first = acts.first(where: \.isWrite), let write = acts.lastIndex(where: \.isWrite),
      let firstWrite = acts.firstIndex(of: first)
    else { return false }
    guard let shipped = acts[firstWrite...].firstIndex(where: { !$0.isWrite && $0.replica == first.replica })
    else { return false }
    return acts[shipped...].prefix { !$0.isWrite }.contains { $0.replica == acts[write].replica }
      && shipped < write
  }

  @Test(
    "a write that has seen the other replica's is the only head, also if the other's clock is an hour ahead"
  )
  func successors() throws {
    var successors = [0, 0]
    for acts in Self.orders(writes: 1, syncs: 4) where Self.hasSeen(acts) {
      successors[acts.last(where: \.isWrite)!.replica] += 1
      for choice in 0..<9 {
        let operation = Self.operations[choice / 3]
        let heads = try Self.schedule(acts, choice: choice, clocksDiffer: true).heads(ofRecord: 0)
        #expect(heads[0] == [operation.kind == .delete ? "dead" : "alive"], "\(acts), choice \(choice)")
        if operation.kind != .delete {
          #expect(heads[1] == (operation.kind == .set ? ["1"] : []), "\(acts), choice \(choice)")
        }
      }
    }
    // The replica with the slower clock is second as often as the other one.
    #expect(successors[0] > 0 && successors[0] == successors[1])
  }

  @Test("they find a base that is one too low")
  func findFault() {
    let check = FoldCheck(seed: 0, fault: .baseTooLow)
    var coverage = FoldCheckCoverage()
    var failures = 0
    let orders = Self.orders(writes: 1, syncs: 2)
    for acts in orders {
      for choice in 0..<9 {
        let schedule = Self.schedule(acts, choice: choice, clocksDiffer: false)
        if check.run(schedule, coverage: &coverage) != nil { failures += 1 }
      }
    }
    #expect(failures > 0 && failures < orders.count * 9)
  }
}
