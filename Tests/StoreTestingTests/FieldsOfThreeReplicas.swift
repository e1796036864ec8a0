import StoreTesting
import Testing

/// Three replicas have a record, and each then sets some of three fields without having seen the others.
@Suite("Three replicas set three fields of one record")
struct FieldsOfThreeReplicas {
  static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

  /// - Parameters:
  ///   - writes: the fields that each replica sets, one bit each.
  ///   - order: the order in which they send.
  static func schedule(_ writes: [Int], _ order: [Int], seed: Int) -> FoldSchedule {
    var schedule = FoldSchedule(replicas: 3, records: 1, fields: 3, seed: UInt64(seed))
    let before = (0..<3 as Range<UInt8>).map {
      FoldOperation(.set, record: 0, field: $0, value: FoldValue(rawValue: 7))
    }
    schedule.steps = [
      .write(replica: 0, wallMilliseconds: 1000, operations: [FoldOperation(.create, record: 0)] + before),
      .ship(replica: 0, count: 8, receivedMilliseconds: nil, again: false),
    ]
    for replica in 0..<3 {
      schedule.steps.append(.fetch(replica: replica, segments: 8, wallMilliseconds: 1000))
    }
    for replica in 0..<3 where writes[replica] != 0 {
      let operations = (0..<3 as Range<UInt8>).filter { writes[replica] & 1 << Int($0) != 0 }.map { field in
        FoldOperation(.set, record: 0, field: field, value: FoldValue(rawValue: UInt8(replica + 1)))
      }
      // The order of the clocks differs from that of the replicas' numbers.
      schedule.steps.append(
        .write(replica: replica, wallMilliseconds: Int64(3000 - replica * 100), operations: operations))
    }
    for replica in order {
      schedule.steps.append(.ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false))
      schedule.steps.append(.fetch(replica: replica, segments: 8, wallMilliseconds: 4000))
    }
    return schedule
  }

  @Test(
    "every choice of fields, sent in every order: a field has the value of each that set it, and no other",
    .enabled(if: WideTests.areWanted, "`make test-wide` runs it"))
  func allChoices() throws {
    var number = 0
    for choice in 0..<512 {
      let writes = [choice & 7, choice >> 3 & 7, choice >> 6]
      // The greatest first: the earlier the replica, the later its clock. A field that nobody set is
      // unchanged.
      let expected = (0..<3).map { field in
        let writers = (0..<3).filter { writes[$0] & 1 << field != 0 }
        return writers.isEmpty ? ["7"] : writers.map { "\($0 + 1)" }
      }
      for order in Self.orders {
        number += 1
        let found = try Self.schedule(writes, order, seed: number).heads(ofRecord: 0)
        guard Array(found[1...]) == expected else {
          Issue.record("fields \(writes), shipped in the order \(order): \(found), expected \(expected)")
          return
        }
      }
    }
    #expect(number == 3072)
  }
}
