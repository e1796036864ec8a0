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
    return try schedule.heads(record: 0, field: cell)
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
}
