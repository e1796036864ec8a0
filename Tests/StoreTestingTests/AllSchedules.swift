import Testing

@testable import StoreTesting

/// The schedules that `replay foldcheck --schedules` runs.
@Suite("Schedules of three replicas that are run by number")
struct AllSchedules {
  typealias Act = FoldSchedules.Act

  /// The same actions in another order of what is done side by side, and without syncs at which nothing moves.
  private static func standardized(_ acts: [SmallSchedulesOfThree.Act]) -> [Act] {
    var found: [Act] = []
    var (unsent, read, length) = ([0, 0, 0], [0, 0, 0], 0)
    for act in acts {
      if act.isWrite {
        unsent[act.replica] += 1
      } else if unsent[act.replica] > 0 || read[act.replica] < length {
        found += Array(repeating: .write(act.replica), count: unsent[act.replica]) + [.sync(act.replica)]
        length += unsent[act.replica]
        (unsent[act.replica], read[act.replica]) = (0, length)
      }
    }
    return found + unsent.indices.flatMap { Array(repeating: Act.write($0), count: unsent[$0]) }
  }

  @Test("they are those of all orders, and each is there once", arguments: [(1, 3), (1, 4), (2, 2), (3, 1)])
  func complete(_ transactions: Int, _ syncs: Int) {
    let all = FoldSchedules(transactions: transactions, syncs: syncs)
    let orders = SmallSchedulesOfThree.orders(
      writes: [transactions, transactions, transactions], syncs: syncs)
    #expect(Set(orders.map(Self.standardized)) == Set(all.orders))
    #expect(Set(all.orders).count == all.orders.count && orders.count > 5 * all.orders.count)
  }

  @Test("each number is another schedule")
  func numbers() {
    let all = FoldSchedules(transactions: 1, syncs: 2)
    let schedules = Set((0..<all.count).map { all[$0].steps })
    #expect(all.count == all.orders.count * 27 && schedules.count == all.count)
  }

  @Test("they are as the oracle says: all of one transaction each, a selection of three")
  func run() {
    var sizes = FoldCheckSizes()
    sizes.orders = 0
    let one = FoldCheck(seed: 1, sizes: sizes, schedules: FoldSchedules(transactions: 1, syncs: 2))
    let report = one.run(sequences: 0..<one.schedules!.count)
    #expect(report.failure == nil, "\(report.failure!)")
    let three = FoldSchedules(transactions: 3, syncs: 2)
    let check = FoldCheck(seed: 1, sizes: sizes, schedules: three)
    for number in stride(from: 7, to: three.count, by: 20_011) {
      let report = check.run(sequences: number..<number + 1)
      #expect(report.failure == nil, "\(report.failure!)")
    }
  }

  @Test("they find a base that is one too low, and say how to run the schedule again")
  func findFault() throws {
    let all = FoldSchedules(transactions: 2, syncs: 2)
    let check = FoldCheck(seed: 1, fault: .baseTooLow, schedules: all)
    let failure = try #require(check.run(sequences: 0..<all.count).failure)
    let command = "replay foldcheck --schedules 2 --syncs 2 --only \(failure.sequence) --plant baseTooLow"
    #expect(failure.description.contains(command))
  }
}
