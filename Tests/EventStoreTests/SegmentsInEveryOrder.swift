import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Six segments of three replicas, in every order")
struct SegmentsInEveryOrder {
  let directory = TemporaryDirectory()

  /// All permutations of the numbers below a count.
  static func orders(_ count: Int) -> [[Int]] {
    var orders: [[Int]] = [[]]
    for number in 0..<count {
      orders = orders.flatMap { order in
        (0...order.count).map { place in Array(order[..<place]) + [number] + Array(order[place...]) }
      }
    }
    return orders
  }

  /// The operations of a replica's transaction: there are two of each of three replicas.
  private static func operations(_ replica: Int, _ sequence: Int) -> [LogOperation] {
    var operations = [
      set("shared", "f", .int(Int64(replica * 10 + sequence))),
      set("shared", Name("of \(replica)"), .int(Int64(sequence))),
    ]
    if sequence == 1 { operations.insert(create("shared"), at: 0) }
    if replica == 2 { operations.append(.delete(record: Name("r\(sequence)"))) }
    return operations + [set(Name("r\(replica)"), "g", .int(Int64(sequence)))]
  }

  /// A zone's log whose segments have a given order of their numbers: number / 2 is the replica.
  private func log(_ zone: ZoneID, _ order: [Int], basesFollow: Bool) throws -> TestRemote {
    var remote = TestRemote()
    remote.zone = zone
    for number in order {
      let (replica, sequence) = (number / 2, number % 2 + 1)
      // The last one of each replica has seen the log up to two places before it.
      let base = basesFollow && sequence == 2 && remote.last > 1 ? remote.last - 1 : nil
      _ = try remote.append([
        transaction(
          UInt128(replica + 1), UInt64(sequence), base: base, zone: zone, Self.operations(replica, sequence))
      ])
    }
    return remote
  }

  @Test(
    "one log that arrives in any of the 720 orders: early segments wait, and the state is the same")
  func arrivals() async throws {
    let store = try directory.store()
    let orders = Self.orders(6)
    #expect(Set(orders).count == 720)
    let written = [0, 2, 4, 1, 3, 5]
    var digests: Set<ContentHash> = []
    var refusals = 0
    let step = WideTests.choose(1, otherwise: 7)
    for (index, order) in orders.enumerated() where index.isMultiple(of: step) {
      let zone = ZoneID(name: Name("zone \(index)"))
      try await store.makeZone(zone)
      let remote = try log(zone, written, basesFollow: true)
      var waiting = order
      while !waiting.isEmpty {
        var early: [Int] = []
        for number in waiting {
          let segments = [remote.segments[number]]
          let code = await awaitedCode { _ = try await store.ingest(segments) }
          guard code != nil else { continue }
          #expect(code == .outOfOrder, "order \(order)")
          early.append(number)
        }
        guard early.count < waiting.count else {
          Issue.record("order \(order): nothing goes on")
          return
        }
        refusals += early.count
        waiting = early
      }
      digests.insert(try store.digest(of: zone))
      let token = try store.read { try $0.token(of: zone)?.offset }
      #expect(token == 6)
    }
    #expect(digests.count == 1)
    // In one order none is too early; in the others some are.
    #expect(refusals > 719 / step)
    let report = try store.verify()
    #expect(report.problems == [])
    store.close()
  }

  @Test("the 90 logs of three replicas that have not seen each other end in the same state")
  func interleavings() async throws {
    let store = try directory.store()
    var digests: Set<ContentHash> = []
    var logs = 0
    var holes = 0
    for (index, order) in Self.orders(6).enumerated() {
      let zone = ZoneID(name: Name("zone \(index)"))
      let isInOrder = stride(from: 0, to: 6, by: 2).allSatisfy { first in
        order.firstIndex(of: first)! < order.firstIndex(of: first + 1)!
      }
      try await store.makeZone(zone)
      let segments = try log(zone, order, basesFollow: false).segments
      let code = await awaitedCode { _ = try await store.ingest(segments) }
      #expect(code == (isInOrder ? nil : .outOfOrder), "order \(order)")
      if isInOrder {
        logs += 1
        digests.insert(try store.digest(of: zone))
      } else {
        holes += 1
        let token = try store.read { try $0.token(of: zone) }
        #expect(token == nil)
      }
    }
    #expect(logs == 90 && holes == 630 && digests.count == 1)
    store.close()
  }
}
