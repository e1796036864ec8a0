import Testing

@testable import StoreTesting

/// Small histories whose outcome is obvious from the rule of conflicts. The oracle must know it; otherwise an
/// equal mistake in fold and oracle would be unnoticed. The heads are read from a run's counts.
@Suite("The results of the oracle")
struct WhatTheOracleSays {
  private func write(_ replica: Int, at wall: Int64, _ operations: FoldOperation...) -> FoldStep {
    .write(replica: replica, wallMilliseconds: wall, operations: operations)
  }

  private func sync(_ replica: Int) -> [FoldStep] {
    [
      .ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false),
      .fetch(replica: replica, segments: 8, wallMilliseconds: 0),
    ]
  }

  private func heads(_ steps: [FoldStep], replicas: Int = 2, fields: Int = 1, of cell: Int) throws -> [String]
  {
    let schedule = FoldSchedule(replicas: replicas, records: 1, fields: fields, seed: 1, steps: steps)
    return try schedule.heads(record: 0, cell: cell)
  }

  private let one = FoldOperation(.set, record: 0, value: FoldValue(rawValue: 1))
  private let two = FoldOperation(.set, record: 0, value: FoldValue(rawValue: 2))
  private let delete = FoldOperation(.delete, record: 0)
  private let create = FoldOperation(.create, record: 0)

  @Test("of two concurrent values the later is greater, and the other is kept")
  func concurrent() throws {
    let found = try heads([write(0, at: 5000, one), write(1, at: 9000, two)], of: 0)
    #expect(found == ["2", "1"])
  }

  @Test("a write that has seen the other replaces it, although its clock is in 1970")
  func successor() throws {
    let steps = [write(0, at: 2_000_000_000_000, one)] + sync(0) + sync(1) + [write(1, at: 0, two)]
    let found = try heads(steps, of: 0)
    #expect(found == ["2"])
  }

  @Test("a concurrent delete and update are both heads, and the field stays")
  func deleteAgainstUpdate() throws {
    let start = [write(0, at: 1000, create, one)] + sync(0) + sync(1)
    let steps = start + [write(0, at: 2000, delete), write(1, at: 3000, two)]
    let existence = try heads(steps, of: -1)
    #expect(existence == ["alive", "dead"])
    let field = try heads(steps, of: 0)
    #expect(field == ["2"])
  }

  @Test("two concurrent moves are both heads, and a later creation removes both")
  func moves() throws {
    let start = [write(0, at: 1000, create, one)] + sync(0) + sync(1)
    let places = (0..<2).map { FoldOperation(.moveAway, record: 0, element: $0) }
    let steps = start + [write(0, at: 2000, places[0]), write(1, at: 3000, places[1])]
    let existence = try heads(steps, of: -1)
    #expect(existence == ["moved to p1", "moved to p0"])
    let after = try heads(steps + sync(0) + sync(1) + sync(0) + [write(0, at: 0, create)], of: -1)
    #expect(after == ["alive"])
  }

  @Test("a creation clears the fields that it has seen, and nothing else")
  func creationClears() throws {
    let start = [write(0, at: 1000, one)] + sync(0) + sync(1)
    let found = try heads(start + [write(0, at: 2000, delete, create), write(1, at: 1500, two)], of: 0)
    #expect(found == ["2"])
    let alone = try heads(start + [write(0, at: 2000, create)], of: 0)
    #expect(alone == [])
  }

  @Test("an identity has seen what its parent had, and not what came after")
  func lineage() throws {
    let held = [
      write(0, at: 1000, one), .copy(from: 0, to: 2, identity: nil), write(2, at: 2000, two),
    ]
    let found = try heads(held, of: 0)
    #expect(found == ["2"])
    let later = try heads(held + [write(0, at: 3000, one)], of: 0)
    #expect(later == ["1", "2"])
  }

  @Test("a clock in 2099 counts at most five minutes after the receipt")
  func cap() throws {
    let year2099: Int64 = 4_070_908_800_000
    let steps = [
      write(0, at: year2099, one), .ship(replica: 0, count: 1, receivedMilliseconds: 1_000_000, again: false),
      write(1, at: 1_300_001, two),
    ]
    let found = try heads(steps, of: 0)
    #expect(found == ["2", "1"])
    let uncapped = try heads([steps[0], steps[2]], of: 0)
    #expect(uncapped == ["1", "2"])
  }

  // MARK: Floors

  /// A replica names its token as the floor, or one below or above it, and all learn of it.
  private func floor(_ replica: Int, below: Int = 0) -> [FoldStep] {
    [.nameFloor(replica: replica, wallMilliseconds: 0, below: below)] + sync(replica)
  }

  private func add(_ value: UInt8) -> FoldOperation {
    FoldOperation(.add, record: 0, value: FoldValue(rawValue: value))
  }

  @Test("a floor leaves the greatest value, and a sum of all addends")
  func floors() throws {
    let start =
      [write(0, at: 5000, one, add(1)), write(1, at: 9000, two, add(2))] + sync(0) + sync(1) + sync(0)
    #expect(try heads(start, of: 0) == ["2", "1"])
    #expect(try heads(start + floor(0), of: 0) == ["2"])
    #expect(try heads(start, of: 1) == ["2 added", "1 added"])
    #expect(try heads(start + floor(0), of: 1) == ["3 added"])
  }

  @Test("a floor above its base does not count, nor one below the last")
  func floorsThatDoNotCount() throws {
    let start = [write(0, at: 5000, one), write(1, at: 9000, two)] + sync(0) + sync(1) + sync(0)
    #expect(try heads(start + floor(0, below: -1), of: 0) == ["2", "1"])
    let three = FoldOperation(.set, record: 0, value: FoldValue(rawValue: 3))
    // The first floor leaves 2. Two that have seen it conflict, until a floor reaches both.
    let later = start + floor(0) + sync(1) + [write(0, at: 9500, one), write(1, at: 9600, three)]
    let synced = later + sync(0) + sync(1) + sync(0)
    #expect(try heads(synced + floor(0, below: 3), of: 0) == ["3", "1"])
    #expect(try heads(synced + floor(0), of: 0) == ["3"])
  }

  @Test("a late value is in conflict with the one that its writer had seen, and a late addend counts once")
  func late() throws {
    let start =
      [write(0, at: 1000, create, one, add(1))] + sync(0) + sync(1) + [write(0, at: 2000, add(2))] + sync(0)
    let lateWrite = write(1, at: 3000, two, add(4))
    #expect(try heads(start + [lateWrite], of: 0) == ["2"])
    #expect(try heads(start + [lateWrite] + floor(0), of: 0) == ["2", "1"])
    #expect(try heads(start + [lateWrite] + floor(0), of: 1) == ["4 added", "3 added"])
    // One that has seen the floor replaces the value.
    #expect(try heads(start + floor(0) + sync(1) + [lateWrite], of: 0) == ["2"])
  }

  @Test("a dropped record keeps nothing but where it moved to, and a late change keeps its head")
  func dropped() throws {
    let start = [write(0, at: 1000, create, one, add(1))] + sync(0) + sync(1)
    let gone = start + [write(0, at: 2000, delete)] + sync(0)
    #expect(try heads(gone, of: 0) == ["1"])
    #expect(try heads(gone + floor(0), of: 0) == [])
    #expect(try heads(gone + floor(0), of: -1) == [])
    let moved = start + [write(0, at: 2000, FoldOperation(.moveAway, record: 0, element: 1))] + sync(0)
    #expect(try heads(moved + floor(0), of: 0) == [])
    #expect(try heads(moved + floor(0), of: -1) == ["moved to p1"])
    let lateWrite = write(1, at: 3000, two)
    #expect(try heads(gone + [lateWrite], of: -1) == ["alive", "dead"])
    #expect(try heads(gone + [lateWrite] + floor(0), of: -1) == ["alive"])
    #expect(try heads(gone + [lateWrite] + floor(0), of: 0) == ["2"])
  }

  @Test("a record that is not created is not there until it is, and until then shows in no heads but its own")
  func notCreated() throws {
    let gone = [write(0, at: 1000, create, one)] + sync(0) + sync(1) + [write(0, at: 2000, delete)] + sync(0)
    func isCreated(_ steps: [FoldStep]) throws -> Bool {
      let schedule = FoldSchedule(replicas: 2, records: 1, fields: 1, seed: 1, steps: steps)
      var world = FoldWorld(schedule, fault: nil)
      try world.run(orders: 1, exhaustiveTransactionsMax: 6)
      return world.history.flooredRecord(0, world.history.whole).isCreated
    }
    #expect(try isCreated(gone))
    let dropped = gone + floor(0)
    #expect(try !isCreated(dropped))
    #expect(try !isCreated(dropped + [write(1, at: 3000, two)]))
    #expect(try isCreated(dropped + [write(1, at: 3000, two), write(1, at: 3001, create)]))
  }
}
