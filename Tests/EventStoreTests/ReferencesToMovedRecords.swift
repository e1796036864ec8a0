import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("References to records that moved")
struct ReferencesToMovedRecords {
  let directory = TemporaryDirectory()
  private static let (trip, archive) = (ZoneID(name: "trip"), ZoneID(name: "archive"))
  private let home = note("t")
  private let away = RecordID(zone: trip, name: "t")
  private let far = RecordID(zone: archive, name: "t")

  private static func to(_ rule: ReferenceRule, _ zone: ZoneID? = nil) -> Value {
    .reference(Reference(zone: zone, record: "t", rule: rule))
  }

  /// A target `t`, and records that refer to it: `c` by a cascade, `n` by a nullify reference, `p` without a rule.
  private func makeStore() async throws -> LocalStore {
    let store = try await directory.noteStore()
    for zone in [Self.trip, Self.archive] { try await store.makeZone(zone) }
    try await store.write { tx in
      try tx.create(note("t"), type: "note", fields: ["title": "Target"])
      try tx.create(note("c"), type: "note", fields: ["f": Self.to(.cascade)])
      try tx.create(note("n"), type: "note", fields: ["f": Self.to(.nullify)])
      try tx.create(note("p"), type: "note", fields: ["f": Self.to(.none)])
    }
    return store
  }

  /// Whether references within the zone of notes find the target: by a cascade and by a nullify reference.
  private func isThere(_ store: LocalStore, sourceLocation: SourceLocation = #_sourceLocation) throws -> Bool
  {
    try store.read { tx in
      let isShown = try tx.contains(note("c"))
      let value = try tx.value(of: "f", in: note("n"))
      #expect(value == (isShown ? Self.to(.nullify) : nil), sourceLocation: sourceLocation)
      #expect(try tx.value(of: "f", in: note("p")) == Self.to(.none), sourceLocation: sourceLocation)
      return isShown
    }
  }

  private func place(_ store: LocalStore, _ record: RecordID) throws -> RecordPlace {
    try store.read { tx in
      let place = try tx.place(of: record)
      let expected: RecordID? = if case .here(let record) = place { record } else { nil }
      #expect(try tx.current(record) == expected)
      return place
    }
  }

  private func forwardings(_ store: LocalStore, _ zone: ZoneID = noteZone) throws -> [Forwarding] {
    try store.read { try $0.forwardings(in: zone) }
  }

  @Test("rules and readers follow a target to another zone and onward, until it is deleted there")
  func followed() async throws {
    let store = try await makeStore()
    #expect(try place(store, home) == .here(home))
    try await store.write { _ = try $0.move(note("t"), to: Self.trip) }
    #expect(try isThere(store) && place(store, home) == .here(away))
    #expect(try forwardings(store) == [Forwarding(from: home, to: away, place: .here(away))])
    try await store.write { _ = try $0.move(RecordID(zone: Self.trip, name: "t"), to: Self.archive) }
    #expect(try isThere(store) && place(store, home) == .here(far) && place(store, away) == .here(far))
    #expect(try forwardings(store) == [Forwarding(from: home, to: away, place: .here(far))])
    #expect(try forwardings(store, Self.trip) == [Forwarding(from: away, to: far, place: .here(far))])
    #expect(try forwardings(store, Self.archive) == [])
    try await checkSound(store)

    let digest = try store.digest()
    try await store.write { try $0.delete(RecordID(zone: Self.archive, name: "t")) }
    #expect(try !isThere(store) && place(store, home) == .nowhere(far))
    #expect(try forwardings(store) == [Forwarding(from: home, to: away, place: .nowhere(far))])
    let hidden = try store.read { try $0.hiddenRecords(in: noteZone) }
    #expect(hidden.map(\.record.id) == [note("c")] && hidden.map(\.missing) == [far])
    #expect(try store.read { try $0.missingTarget(of: note("c")) } == far)
    // What another zone has is in no digest.
    #expect(try store.digest() == digest)
    try await store.write { try $0.create(RecordID(zone: Self.archive, name: "t"), type: "note") }
    #expect(try isThere(store) && place(store, home) == .here(far))
    try await checkSound(store)
  }

  @Test("a record that moves back, or is created again at its old place, is there")
  func backAgain() async throws {
    let store = try await makeStore()
    for round in 0..<2 {
      try await store.write { _ = try $0.move(note("t"), to: Self.trip) }
      #expect(try place(store, home) == .here(away), "round \(round)")
      try await store.write { _ = try $0.move(RecordID(zone: Self.trip, name: "t"), to: noteZone) }
      #expect(try isThere(store) && place(store, home) == .here(home) && place(store, away) == .here(home))
      #expect(try forwardings(store) == [])
      #expect(try forwardings(store, Self.trip) == [Forwarding(from: away, to: home, place: .here(home))])
    }
    try await store.write { _ = try $0.move(note("t"), to: Self.trip) }
    try await store.write { try $0.create(note("t"), type: "note", fields: ["title": "Another"]) }
    #expect(try place(store, home) == .here(home) && place(store, away) == .here(away))
    try await store.write { try $0.delete(note("t")) }
    #expect(try !isThere(store) && place(store, home) == .nowhere(home))
    try await checkSound(store)
  }

  @Test("an undone move takes references back")
  func undone() async throws {
    let store = try await makeStore()
    let moved = try await store.write { tx in
      _ = try tx.move(note("t"), to: Self.trip)
      return tx.written
    }
    let position = try #require(moved.transactions.first?.position)
    _ = try await store.undo(position)
    #expect(try isThere(store) && place(store, home) == .here(home) && place(store, away) == .nowhere(away))
    _ = try await store.redo(position)
    #expect(try isThere(store) && place(store, home) == .here(away))
  }

  @Test("a target that is hidden where it went counts as missing")
  func hiddenThere() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      let copy = try tx.move(note("t"), to: Self.trip)
      try tx.create(RecordID(zone: Self.trip, name: "owner"), type: "note")
      try tx.set("of", of: copy, to: .reference(Reference(record: "owner", rule: .cascade)))
    }
    #expect(try isThere(store))
    let owner = RecordID(zone: Self.trip, name: "owner")
    try await store.write { try $0.delete(RecordID(zone: Self.trip, name: "owner")) }
    #expect(try !isThere(store) && place(store, home) == .nowhere(away))
    #expect(try store.read { try $0.missingTarget(of: note("c")) } == owner)
    // And on from there: the owner moves, and both are back.
    try await store.write { tx in
      try tx.create(RecordID(zone: Self.trip, name: "owner"), type: "note")
      _ = try tx.move(RecordID(zone: Self.trip, name: "owner"), to: noteZone)
    }
    #expect(try isThere(store) && place(store, home) == .here(away))
  }

  // MARK: What has not arrived

  private func away(to place: RecordID) -> LogTransaction {
    transaction(1, 2, base: 1, at: 2_000_000, [.moveAway(record: "t", to: place)])
  }

  /// A store that has the target, its holders and this.
  private func store(_ others: [LogTransaction], named name: String = "store") async throws -> LocalStore {
    let store = try directory.store(name) { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeAttachedZone()
    var remote = TestRemote()
    let made = [
      create("t"), create("c"), set("c", "f", Self.to(.cascade)), create("n"),
      set("n", "f", Self.to(.nullify)),
      create("p"), set("p", "f", Self.to(.none)),
    ]
    _ = try remote.append([transaction(1, 1, made)])
    for other in others { _ = try remote.append([other]) }
    _ = try await store.ingest(remote.segments)
    return store
  }

  @Test("what is absent is not deleted: a zone that the store does not have, a copy that has not arrived")
  func absent() async throws {
    let store = try await store([away(to: away)])
    #expect(
      try isThere(store) && place(store, home) == .elsewhere(away) && place(store, away) == .elsewhere(away))
    #expect(try forwardings(store) == [Forwarding(from: home, to: away, place: .elsewhere(away))])
    let screen = try store.watchedRead { try $0.contains(note("c")) }
    try await store.makeZone(Self.trip)
    #expect(
      try isThere(store) && place(store, home) == .elsewhere(away) && place(store, away) == .nowhere(away))
    try await store.write { try $0.create(RecordID(zone: Self.trip, name: "t"), type: "note") }
    #expect(try isThere(store) && place(store, home) == .here(away))
    try await store.write { try $0.delete(RecordID(zone: Self.trip, name: "t")) }
    try await expect([false], of: [screen])
    #expect(try !isThere(store))
    try await store.write { try $0.deleteZone(Self.trip) }
    try await expect([true], of: [screen])
    #expect(try isThere(store) && place(store, home) == .elsewhere(away))
    _ = try await store.reclaim()
    #expect(try isThere(store) && place(store, home) == .elsewhere(away))
  }

  @Test("moves that lead back without an end, and a move that changes the name")
  func strange() async throws {
    let store = try await store([away(to: away)])
    let zone = Self.trip
    try await store.makeAttachedZone(zone, IncarnationID(rawValue: 5))
    var remote = TestRemote(zone: zone, incarnation: IncarnationID(rawValue: 5))
    _ = try remote.append([transaction(1, 1, zone: zone, [create("t"), .moveAway(record: "t", to: home)])])
    _ = try await store.ingest(remote.segments)
    // Each says that it is at the other place: the later of the two copies has not arrived.
    #expect(
      try isThere(store) && place(store, home) == .elsewhere(home) && place(store, away) == .elsewhere(away))
    let holders = try store.read { tx in try [home, away].map { try tx.holders(of: $0).count } }
    #expect(holders == [3, 3])
    let renamed = try await self.store([away(to: RecordID(zone: zone, name: "u"))], named: "renamed")
    #expect(try !isThere(renamed) && place(renamed, home) == .nowhere(home) && forwardings(renamed) == [])
  }

  @Test("the greatest of concurrent ends decides, and a source that survives stays where it is")
  func concurrent() async throws {
    func end(_ replica: UInt128, _ operation: LogOperation, at milliseconds: UInt64) -> LogTransaction {
      transaction(replica, 1, base: 1, at: milliseconds, [operation])
    }
    let (late, early): (UInt64, UInt64) = (2_000_001, 1_999_999)
    for (name, other, expected) in [
      ("deleted later", end(2, .delete(record: "t"), at: late), .nowhere(home)),
      ("deleted before", end(2, .delete(record: "t"), at: early), .elsewhere(away)),
      ("moved later", end(2, .moveAway(record: "t", to: far), at: late), .elsewhere(far)),
      ("moved before", end(2, .moveAway(record: "t", to: far), at: early), .elsewhere(away)),
      ("changed later", end(2, set("t", "title", "x"), at: late), .here(home)),
      ("changed before", end(2, set("t", "title", "x"), at: early), .elsewhere(away)),
    ] as [(String, LogTransaction, RecordPlace)] {
      let store = try await store([away(to: away), other], named: name)
      #expect(try place(store, home) == expected, "\(name)")
      #expect(try isThere(store) == (expected != .nowhere(home)), "\(name)")
      let survives = try store.read { try $0.survivingSources(in: noteZone) }
      #expect(survives.isEmpty == (expected != .here(home)), "\(name)")
      try await store.setExistencePolicy(.deleteWins, of: "note")
      // The latest of those that end it, whatever came after.
      #expect(try place(store, home) == (expected == .here(home) ? .elsewhere(away) : expected), "\(name)")
      try await store.setExistencePolicy(.updateWins, of: "note")
      let isChanged = name.hasPrefix("changed")
      #expect(try place(store, home) == (isChanged ? .here(home) : expected), "\(name)")
      try await checkSound(store)
    }
  }

  // MARK: Holders

  @Test("holders of a moved record are found by any of its places, with what they name, in all zones")
  func holders() async throws {
    let store = try await makeStore()
    let (one, two) = (RecordID(zone: Self.archive, name: "one"), RecordID(zone: Self.trip, name: "two"))
    try await store.write { tx in
      _ = try tx.move(note("t"), to: Self.trip)
      try tx.create(
        RecordID(zone: Self.archive, name: "one"), type: "note", fields: ["f": Self.to(.none, noteZone)])
      try tx.create(RecordID(zone: Self.trip, name: "two"), type: "note", fields: ["f": Self.to(.cascade)])
      _ = try tx.move(note("p"), to: Self.archive)
    }
    func holder(_ record: RecordID, _ rule: ReferenceRule, _ target: RecordID) -> Holder {
      Holder(record: record, field: "f", kind: .register, rule: rule, target: target)
    }
    let former = [
      holder(one, .none, home), holder(RecordID(zone: Self.archive, name: "p"), .none, home),
      holder(note("c"), .cascade, home), holder(note("n"), .nullify, home),
    ]
    let places = [home, away, far]
    let found = try store.read { tx in try places.map { try tx.holders(of: $0) } }
    #expect(found == [former, former + [holder(two, .cascade, away)], []])
    #expect(try store.read { try $0.holders(of: away, in: noteZone) } == Array(former[2...]))
    // A reference to the old place means the new record there.
    try await store.write { try $0.create(note("t"), type: "note") }
    let again = try store.read { tx in try places.map { try tx.holders(of: $0) } }
    #expect(again == [former, [holder(two, .cascade, away)], []])
  }

  @Test("a way through forty zones")
  func longWay() async throws {
    let store = try await makeStore()
    let zones = (0..<40).map { ZoneID(name: Name("z\($0)")) }
    try await store.write { tx in for zone in zones { try tx.createZone(zone) } }
    try await store.write { tx in
      var record = note("t")
      for zone in zones { record = try tx.move(record, to: zone) }
    }
    let last = RecordID(zone: zones[39], name: "t")
    #expect(try isThere(store) && place(store, home) == .here(last))
    #expect(try store.read { try $0.holders(of: last).map(\.target) } == [home, home, home])
    try await store.write { try $0.delete(RecordID(zone: ZoneID(name: "z39"), name: "t")) }
    #expect(try !isThere(store) && place(store, home) == .nowhere(last))
  }

  @Test("zones of another owner are named as this store's user sees them")
  func owners() async throws {
    let store = try directory.store()
    let (list, done) = (ZoneID(owner: "alice", name: "list"), ZoneID(owner: "alice", name: "done"))
    for zone in [list, done] { try await store.makeZone(zone) }
    let (milk, copy) = (RecordID(zone: list, name: "milk"), RecordID(zone: done, name: "milk"))
    let holder = RecordID(zone: list, name: "h")
    try await store.write { tx in
      let list = ZoneID(owner: "alice", name: "list")
      let milk = Reference(record: "milk", rule: .cascade)
      try tx.create(RecordID(zone: list, name: "milk"), type: "note")
      try tx.create(RecordID(zone: list, name: "h"), type: "note", fields: ["f": .reference(milk)])
      _ = try tx.move(RecordID(zone: list, name: "milk"), to: ZoneID(owner: "alice", name: "done"))
    }
    #expect(try place(store, milk) == .here(copy))
    #expect(try store.read { try $0.holders(of: copy).map(\.record) } == [holder])
  }

  // MARK: Queries, observers, the past

  /// What screens show once they are told, and only then read again.
  private func expect<Value: Equatable>(
    _ expected: [Value], of screens: [WatchedRead<Value>], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for _ in 0..<2000 where screens.map(\.value) != expected {
      for screen in screens where screen.isTold { try screen.read() }
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(screens.map(\.value) == expected, sourceLocation: sourceLocation)
  }

  @Test("queries follow a moved target, by a path and by an index of a nullify reference")
  func queries() async throws {
    let store = try await makeStore()
    try await store.declareIndexes([
      IndexDefinition("references", of: ["note"], by: [IndexPart(.value(.value(of: "f")))])
    ])
    let title = QueryField(.field("title", .register), path: ["f"])
    let queries = [
      RecordQuery(zones: [noteZone], condition: .compare(title, .equal, "Target")),
      RecordQuery(
        types: ["note"], zones: [noteZone],
        condition: .compare(.value(of: "f"), .equal, Self.to(.none, noteZone))),
    ]
    func found() throws -> [[Name]] {
      try store.read { tx in try queries.map { try tx.records($0).map(\.name) } }
    }
    let all: [[Name]] = [["c", "n", "p"], ["c", "n", "p"]]
    #expect(try found() == all)
    try await store.write { _ = try $0.move(note("t"), to: Self.trip) }
    #expect(try found() == all)
    try await store.write { _ = try $0.move(RecordID(zone: Self.trip, name: "t"), to: Self.archive) }
    #expect(try found() == all)
    try await store.write { try $0.delete(RecordID(zone: Self.archive, name: "t")) }
    #expect(try found() == [[], ["p"]])
  }

  @Test("observers are told when a target is deleted, changed or made where it went")
  func observed() async throws {
    let store = try await makeStore()
    let title = QueryField(.field("title", .register), path: ["f"])
    let query = RecordQuery(zones: [noteZone], condition: .compare(title, .equal, "Target"))
    let screens: [WatchedRead<Int>] = try [
      store.watchedRead { try $0.records(in: noteZone).count },
      store.watchedRead { try $0.hits(query).count },
      store.watchedRead { try $0.holders(of: RecordID(zone: Self.archive, name: "t")).count },
      store.watchedRead { try $0.place(of: note("t")) == .here(note("t")) ? 1 : 0 },
    ]
    try await expect([4, 3, 0, 1], of: screens)
    try await store.write { _ = try $0.move(note("t"), to: Self.trip) }
    try await expect([3, 3, 0, 0], of: screens)
    try await store.write { _ = try $0.move(RecordID(zone: Self.trip, name: "t"), to: Self.archive) }
    try await expect([3, 3, 3, 0], of: screens)
    try await store.write { try $0.set("title", of: RecordID(zone: Self.archive, name: "t"), to: "Changed") }
    try await expect([3, 0, 3, 0], of: screens)
    try await store.write { try $0.delete(RecordID(zone: Self.archive, name: "t")) }
    try await expect([2, 0, 2, 0], of: screens)
    try await store.write { tx in
      try tx.create(RecordID(zone: Self.archive, name: "t"), type: "note", fields: ["title": "Target"])
    }
    try await expect([3, 3, 3, 0], of: screens)
  }

  @Test("the past has its own ways, and a write sees its own moves")
  func past() async throws {
    let store = try await makeStore()
    let before = try store.lastPosition()
    let seen = try await store.write { tx in
      let copy = try tx.move(note("t"), to: Self.trip)
      var seen = [try tx.place(of: note("t"))]
      var shown = [try tx.contains(note("c"))]
      try tx.delete(copy)
      seen.append(try tx.place(of: note("t")))
      shown.append(try tx.contains(note("c")))
      try tx.create(copy, type: "note")
      seen.append(try tx.place(of: note("t")))
      shown.append(try tx.contains(note("c")))
      return (seen, shown)
    }
    #expect(seen.0 == [.here(away), .nowhere(away), .here(away)] && seen.1 == [true, false, true])
    let moved = try store.lastPosition()
    try await store.write { try $0.delete(RecordID(zone: Self.trip, name: "t")) }
    for (position, expected) in [(before, RecordPlace.here(home)), (moved, .here(away))] {
      let found = try await store.snapshot(at: position).read {
        try ($0.place(of: home), $0.contains(note("c")))
      }
      #expect(found.0 == expected && found.1)
    }
    #expect(try !isThere(store))
  }
}
