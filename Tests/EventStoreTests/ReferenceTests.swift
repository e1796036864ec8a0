import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("References")
struct ReferenceTests {
  let directory = TemporaryDirectory()

  private func to(_ record: Name, _ rule: ReferenceRule = .none, zone: ZoneID? = nil) -> Value {
    .reference(Reference(zone: zone, record: record, rule: rule))
  }

  private func holder(
    _ record: String, _ field: Name, _ rule: ReferenceRule = .none, _ kind: FieldKind = .register,
    of target: String = "t"
  ) -> Holder {
    Holder(record: note(record), field: field, kind: kind, rule: rule, target: note(target))
  }

  private func names(_ store: LocalStore) throws -> [Name] {
    try store.read { try $0.records(in: noteZone).map(\.id.name) }
  }

  private func contains(_ store: LocalStore, _ name: String) throws -> Bool {
    try store.read { try $0.contains(note(name)) }
  }

  private func holders(_ store: LocalStore, _ name: String, in zone: ZoneID? = nil) throws -> [Holder] {
    try store.read { try $0.holders(of: note(name), in: zone) }
  }

  private func make(_ store: LocalStore, _ names: String...) async throws {
    try await store.write { tx in
      for name in names { try tx.create(note(name), type: "note") }
    }
  }

  // MARK: The index

  @Test("holders are found by the visible values of each kind of field, and only by those")
  func holders() async throws {
    let store = try await directory.noteStore()
    let long = Name(String(repeating: "long", count: 60))
    let large = Value.array([.string(String(repeating: "x", count: 2000)), to("t", .nullify)])
    try await make(store, "t", "r", "s")
    try await store.write { tx in
      let (r, s) = (note("r"), note("s"))
      try tx.set("one", of: r, to: to("t"))
      try tx.set("nested", of: r, to: .map(["k": .array([to("t"), to("t"), to("t", .cascade)])]))
      try tx.set("large", of: r, to: large)
      try tx.insert(to("t"), into: "set", of: r)
      try tx.insert(large, into: "set", of: r)
      try tx.put(to("t", .nullify), at: long, in: "map", of: r)
      try tx.insertElements([1, to("t"), to("t")], at: 0, in: "list", of: r)
      try tx.set("one", of: s, to: to("t", .cascade, zone: noteZone))
      let seen = try tx.holders(of: note("t"), in: noteZone)
      #expect(seen.count == 9)
    }
    let all = [
      holder("r", "large", .nullify), holder("r", "list", .none, .list), holder("r", "map", .nullify, .map),
      holder("r", "nested"), holder("r", "nested", .cascade), holder("r", "one"),
      holder("r", "set", .none, .set), holder("r", "set", .nullify, .set), holder("s", "one", .cascade),
    ]
    #expect(try holders(store, "t") == all)
    #expect(try holders(store, "t", in: noteZone) == all)
    #expect(try holders(store, "r") == [])
    try await checkSound(store)

    try await store.write { tx in
      let r = note("r")
      try tx.set("one", of: r, to: 1)
      try tx.set("nested", of: r, to: .array([to("t", .cascade)]))
      try tx.set("large", of: r, to: .string(String(repeating: "y", count: 2000)))
      try tx.remove(to("t"), from: "set", of: r)
      try tx.removeValue(at: long, from: "map", of: r)
      try tx.removeElements(0..<2, from: "list", of: r)
      try tx.replaceElement(at: 0, in: "list", of: r, with: to("s"))
      try tx.delete(note("s"))
    }
    let left = [holder("r", "nested", .cascade), holder("r", "set", .nullify, .set)]
    #expect(try holders(store, "t") == left)
    #expect(try holders(store, "s") == [holder("r", "list", .none, .list, of: "s")])
    try await checkSound(store)

    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
    }
    #expect(try holders(store, "t") == [])
    let rows = try store.rows(\.references)
    #expect(rows.allSatisfy { String(decoding: $0.value, as: UTF8.self) == "s" || $0.key[4] < 4 })
    try await checkSound(store)
  }

  @Test("a record without references has no rows in the index, and no flag in its row")
  func none() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t", "r")
    try await store.write { tx in
      try tx.set("f", of: note("r"), to: to("t", .cascade))
      try tx.clear("f", of: note("r"))
      try tx.set("g", of: note("r"), to: .array([10, .string("\n")]))
    }
    #expect(try store.rows(\.references).isEmpty)
    let flags = try store.rows(\.records).map { StoredRow($0.value.span.bytes).flags }
    #expect(flags.allSatisfy { $0 == [] })
    try await checkSound(store)
  }

  @Test("a loser's references do not count until it is restored")
  func losers() async throws {
    let store = try directory.store { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeAttachedZone()
    var remote = TestRemote()
    let first = try remote.append([
      transaction(1, 1, at: 10, [create("r"), create("t"), set("r", "f", to("t", .cascade))])
    ])
    let second = try remote.append([
      transaction(2, 1, at: 20, [create("u"), set("r", "f", to("u", .cascade))])
    ])
    for segment in [first, second] { _ = try await store.ingest([segment]) }
    #expect(try holders(store, "u") == [holder("r", "f", .cascade, of: "u")])
    #expect(try holders(store, "t") == [])
    try await store.write { try $0.delete(note("t")) }
    #expect(try contains(store, "r"))
    let loser = try #require(try store.read { try $0.conflicts(of: note("r")) }.last?.losers.first)
    try await store.write { try $0.restore(loser.operation, in: "f", of: note("r")) }
    #expect(try contains(store, "r") == false)
    try await checkSound(store)
  }

  // MARK: Rules

  @Test("each read follows the rules, and a restored target restores its holders")
  func rules() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t", "r", "c")
    let (kept, gone) = (to("t"), to("t", .nullify))
    try await store.write { tx in
      let r = note("r")
      try tx.set("kept", of: r, to: kept)
      try tx.set("gone", of: r, to: gone)
      try tx.set("nested", of: r, to: .array([gone, kept, .map(["k": gone])]))
      for element in [kept, gone, 1] { try tx.insert(element, into: "set", of: r) }
      try tx.put(gone, at: "a", in: "map", of: r)
      try tx.put(kept, at: "b", in: "map", of: r)
      try tx.insertElements([gone, kept, 2], at: 0, in: "list", of: r)
      try tx.set("by", of: note("c"), to: to("t", .cascade))
    }
    for round in 0..<2 {
      let isThere = round == 1
      try await store.write { tx in
        if isThere { try tx.create(note("t"), type: "note") } else { try tx.delete(note("t")) }
      }
      try store.read { tx in
        let r = note("r")
        let shown: Value? = isThere ? gone : nil
        let inside = shown ?? .null
        #expect(try tx.value(of: "kept", in: r) == kept)
        #expect(try tx.value(of: "gone", in: r) == shown)
        #expect(try tx.value(of: "nested", in: r) == .array([inside, kept, .map(["k": inside])]))
        #expect(try tx.elements(of: "set", in: r) == Set([kept, 1] + (isThere ? [gone] : [])))
        #expect(try tx.contains(gone, in: "set", of: r) == isThere)
        #expect(try tx.contains(kept, in: "set", of: r))
        #expect(try tx.entries(of: "map", in: r) == (isThere ? ["a": gone, "b": kept] : ["b": kept]))
        #expect(try tx.value(at: "a", of: "map", in: r) == shown)
        #expect(try tx.list("list", of: r) == [inside, kept, 2])
        #expect(try tx.element(at: 0, of: "list", in: r) == inside)
        let record = try #require(try tx.record(r))
        #expect(record["gone"] == shown && record["list"] == .array([inside, kept, 2]))
        #expect(try tx.withRecord(r) { try $0.value(of: "gone") } == shown)
        #expect(try tx.contains(note("c")) == isThere)
        #expect(try tx.record(note("c")) == nil || isThere)
        let hidden = try tx.hiddenRecords(in: noteZone)
        #expect(hidden.map(\.record.id) == (isThere ? [] : [note("c")]))
        #expect(try tx.missingTarget(of: note("c")) == (isThere ? nil : note("t")))
        if let one = hidden.first {
          #expect(one.missing == note("t"))
          #expect(one.record["by"] == to("t", .cascade))
        }
      }
      try await checkSound(store)
    }
  }

  @Test("only targets in the holder's zone count, whether or not the reference names the zone")
  func zones() async throws {
    let store = try await directory.noteStore()
    let other = ZoneID(name: "other")
    try await store.makeZone(other)
    try await make(store, "own", "named", "far")
    try await store.write { tx in
      try tx.set("f", of: note("own"), to: to("x", .cascade))
      try tx.set("f", of: note("named"), to: to("x", .cascade, zone: noteZone))
      try tx.set("f", of: note("far"), to: to("x", .cascade, zone: other))
      try tx.set("g", of: note("far"), to: to("x", .nullify, zone: other))
    }
    #expect(try names(store) == ["far"])
    let x = RecordID(zone: other, name: "x")
    #expect(try store.value("g", note("far")) == to("x", .nullify, zone: other))
    let (all, there) = try store.read { tx in
      (try tx.holders(of: x).map(\.rule), try tx.holders(of: x, in: other))
    }
    #expect(all == [.cascade, .nullify] && there == [])
    #expect(try holders(store, "x") == [])
    #expect(Reference(record: "x").target(from: other) == x)
    #expect(Reference(zone: noteZone, record: "x").target(from: other) == note("x"))
    try await store.write { try $0.create(note("x"), type: "note") }
    #expect(try names(store) == ["far", "named", "own", "x"])
    #expect(try holders(store, "x").map(\.record.name) == ["named", "own"])
    try await checkSound(store)
  }

  @Test("a hidden record can be changed, created again and deleted")
  func hiddenOnes() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t", "u", "a", "b", "c")
    try await store.write { tx in
      for name in ["a", "b", "c"] { try tx.set("f", of: note(name), to: to("t", .cascade)) }
      try tx.delete(note("t"))
    }
    #expect(try names(store) == ["u"])
    try await store.write { tx in
      try tx.set("f", of: note("a"), to: to("u", .cascade))
      try tx.create(note("b"), type: "note")
      try tx.delete(note("c"))
    }
    #expect(try names(store) == ["a", "b", "u"])
    let exists = await awaitedCode { try await store.write { try $0.create(note("a"), type: "note") } }
    let unknown = await awaitedCode { try await store.write { try $0.set("f", of: note("c"), to: 1) } }
    #expect(exists == .recordExists && unknown == .recordUnknown)
    try await checkSound(store)
  }

  @Test("the policy of a target's type decides whether the target exists")
  func policies() async throws {
    let store = try directory.store { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeAttachedZone()
    var remote = TestRemote()
    _ = try await store.ingest([
      try remote.append([
        transaction(1, 1, at: 10, [create("t"), create("r"), set("r", "f", to("t", .cascade))])
      ])
    ])
    _ = try await store.ingest([
      try remote.append([transaction(1, 2, at: 20, [.delete(record: "t")])])
    ])
    _ = try await store.ingest([
      try remote.append([transaction(2, 1, base: 1, at: 30, [set("t", "title", "late")])])
    ])
    #expect(try names(store) == ["r", "t"])
    try await store.setExistencePolicy(.deleteWins, of: "note")
    #expect(try names(store) == [])
    try await store.setExistencePolicy(.updateWins, of: "note")
    #expect(try names(store) == ["r", "t"])
    try await checkSound(store)
  }

  // MARK: Graphs

  @Test("a chain of 20,000 cascades is hidden with its first record, and restored with it")
  func chain() async throws {
    let store = try await directory.noteStore()
    let count = 20_000
    try await store.write { tx in
      for number in 0...count { try tx.create(note("r\(number)"), type: "note") }
    }
    for start in stride(from: 1, through: count, by: 5000) {
      try await store.write { tx in
        for number in start..<start + 5000 {
          try tx.set("f", of: note("r\(number)"), to: to(Name("r\(number - 1)"), .cascade))
        }
      }
    }
    #expect(try names(store).count == count + 1)
    try await store.write { try $0.delete(note("r0")) }
    #expect(try contains(store, "r\(count)") == false)
    #expect(try names(store) == [])
    let hidden = try store.read { try $0.hiddenRecords(in: noteZone) }
    #expect(hidden.count == count && hidden.allSatisfy { $0.missing == note("r0") })
    try await store.write { try $0.create(note("r0"), type: "note") }
    #expect(try names(store).count == count + 1)
  }

  /// The greatest set of records that are alive and whose cascades stay within the set.
  private static func shown(_ alive: Set<Int>, _ cascades: [Int: Set<Int>]) -> Set<Int> {
    var shown = alive
    while let next = shown.first(where: { !cascades[$0, default: []].isSubset(of: shown) }) {
      shown.remove(next)
    }
    return shown
  }

  @Test("random graphs with cycles show the greatest self-contained set", arguments: 1...6)
  func graphs(seed: UInt64) async throws {
    let store = try await directory.noteStore()
    var generator = SeededGenerator(seed: seed)
    let count = 12
    var alive: Set<Int> = []
    var edges: [Int: Set<Int>] = [:]
    for round in 0..<120 {
      let (from, target) = (generator.below(count), generator.below(count))
      let chance = generator.below(10)
      let isAlive = alive.contains(from)
      try await store.write { tx in
        switch chance {
        case 0..<2 where isAlive: try tx.delete(note("\(from)"))
        case _ where !isAlive: try tx.create(note("\(from)"), type: "note")
        case 2..<5: try tx.remove(to(Name("\(target)"), .cascade), from: "set", of: note("\(from)"))
        default: try tx.insert(to(Name("\(target)"), .cascade), into: "set", of: note("\(from)"))
        }
      }
      switch chance {
      case 0..<2 where isAlive: alive.remove(from)
      case _ where !isAlive:
        alive.insert(from)
        edges[from] = []
      case 2..<5: edges[from, default: []].remove(target)
      default: edges[from, default: []].insert(target)
      }
      let expected = Self.shown(alive, edges)
      try store.read { tx in
        // In the order of names, and each separately, in a snapshot without a cache.
        let found = try tx.records(in: noteZone).map(\.id.name)
        #expect(Set(found) == Set(expected.map { Name("\($0)") }), "seed \(seed), round \(round)")
        let hidden = try tx.hiddenRecords(in: noteZone)
        #expect(hidden.count == alive.count - expected.count)
        for one in hidden { #expect(!alive.contains(Int(one.missing.name.rawValue) ?? -1)) }
      }
      let one = generator.below(count)
      #expect(try contains(store, "\(one)") == expected.contains(one))
    }
    try await checkSound(store)
  }

  // MARK: Damage and earlier versions

  @Test("a missing or changed row of the index is reported, and no read traps")
  func damage() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t", "r")
    try await store.write { try $0.set("f", of: note("r"), to: to("t", .cascade)) }
    for row in try store.rows(\.references) {
      for value in [nil, [], [9], row.value + [0], Array(row.value.dropLast())] as [[UInt8]?] {
        try store.overwrite(row.key, value, in: \.references)
        let report = try store.verify()
        #expect(report.problems.map(\.kind) == [.record], "\(row) to \(value ?? [])")
        _ = code { _ = try store.read { try ($0.records(in: noteZone), $0.holders(of: note("t"))) } }
        _ = await awaitedCode {
          try await store.write { tx in
            try tx.set("f", of: note("r"), to: to("t", .nullify))
            throw CancellationError()
          }
        }
      }
      try store.overwrite(row.key, row.value, in: \.references)
    }
    let place = try #require(try store.rows(\.references).first { $0.key[4] == 3 })
    try store.overwrite(place.key, nil, in: \.references)
    #expect(code { _ = try store.read { try $0.contains(note("r")) } } == .damaged)
    _ = try await store.rebuild()
    #expect(try contains(store, "r"))
    try await checkSound(store)
  }

  @Test("a zone's rows of the index are deleted with the zone")
  func reclaimed() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t", "r")
    try await store.write { try $0.set("f", of: note("r"), to: to("t", .cascade)) }
    try await store.write { try $0.deleteZone(noteZone) }
    _ = try await store.reclaim()
    #expect(try store.rows(\.references).isEmpty)
  }

  @Test("one operation deletes a record with 10,000 holders, and hides them")
  func manyHolders() async throws {
    let store = try await directory.noteStore()
    try await make(store, "t")
    for start in [0, 5000] {
      try await store.write { tx in
        for number in start..<start + 5000 {
          try tx.create(note("r\(number)"), type: "note", fields: ["f": to("t", .cascade)])
        }
      }
    }
    #expect(try holders(store, "t").count == 10_000)
    let before = try store.rows(\.references).count
    try await store.write { tx in
      try tx.delete(note("t"))
      #expect(tx.operationCounts == [1])
    }
    #expect(try store.rows(\.references).count == before)
    #expect(try names(store) == [])
    #expect(try holders(store, "t") == [])
  }
}
