import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Moving a record to another zone")
struct MovesBetweenZones {
  let directory = TemporaryDirectory()
  private let record = note("r")
  private static let other = ZoneID(name: "other")
  private let copy = RecordID(zone: other, name: "r")
  private static let large = Value.bytes([UInt8](repeating: 7, count: 2000))

  private func makeStore(_ name: String = "store") async throws -> LocalStore {
    let store = try directory.store(name)
    for zone in [noteZone, Self.other] { try await store.makeZone(zone) }
    return store
  }

  @Test("a change through the old place says where the record is now, or what became of it")
  func changesOfOldPlace() async throws {
    let store = try await makeStore()
    let (record, copy) = (record, copy)
    try await store.write { tx in
      try tx.create(record, type: "note")
      try tx.move(record, to: copy.zone)
    }
    let calls: [@Sendable (inout WriteTransaction) throws -> Void] = [
      { try $0.set("title", of: record, to: "x") }, { try $0.delete(record) },
      { try $0.add(1, to: "votes", of: record) }, { try $0.insertText("x", at: 0, in: "body", of: record) },
      { try $0.removeText(0..<1, from: "body", of: record) },
      { try $0.move(record, to: ZoneID(name: "third")) },
    ]
    try await store.makeZone(ZoneID(name: "third"))
    for call in calls {
      let error = await #expect(throws: StoreError.self) { try await store.write(call) }
      #expect(
        error?.code == .recordUnknown && error?.message.contains("it is \(copy) now") == true
          && error?.hint.contains("current") == true && error?.hint.contains("create") == false, "\(error!)")
    }
    try await store.write { try $0.delete(copy) }
    for call in calls {
      let error = await #expect(throws: StoreError.self) { try await store.write(call) }
      #expect(error?.message.contains("to \(copy), and was deleted there") == true, "\(error!)")
    }
    let never = await #expect(throws: StoreError.self) {
      try await store.write { try $0.delete(note("never")) }
    }
    #expect(never?.hint.contains("create it") == true)
  }

  /// Every kind of cell, some of them with the same name.
  private static func fill(_ record: RecordID, _ tx: inout WriteTransaction) throws {
    try tx.create(record, type: "note", fields: ["title": "Hello", "large": large, "gone": 1])
    try tx.clear("gone", of: record)
    for amount: Value in [5, -2, .decimal(DecimalNumber("0.25")!)] {
      try tx.add(amount, to: "votes", of: record)
    }
    for element: Value in ["a", large, 3] { try tx.insert(element, into: "tags", of: record) }
    try tx.remove(3, from: "tags", of: record)
    try tx.put(1, at: "k", in: "prices", of: record)
    try tx.put(large, at: "l", in: "prices", of: record)
    try tx.put(.null, at: "", in: "prices", of: record)
    try tx.insertElements([1, 2, large, 4], at: 0, in: "steps", of: record)
    try tx.moveElement(from: 3, to: 0, in: "steps", of: record)
    try tx.replaceElement(at: 1, in: "steps", of: record, with: "one")
    try tx.removeElements(2..<3, from: "steps", of: record)
    try tx.insertText("Grüße 𝄞", at: 0, in: "body", of: record)
    try tx.insertText("viele ", at: 0, in: "body", of: record)
    try tx.removeText(0..<1, from: "body", of: record)
    try tx.set("mixed", of: record, to: "shown")
    try tx.add(7, to: "mixed", of: record)
    try tx.insert("hidden", into: "mixed", of: record)
    try tx.put("hidden", at: "k", in: "mixed", of: record)
    try tx.insertElements(["hidden"], at: 0, in: "mixed", of: record)
    try tx.insertText("hidden", at: 0, in: "mixed", of: record)
    try tx.contribute("hidden", to: "mixed", of: record)
    for payload: Value in ["e4", large, "e5"] { try tx.contribute(payload, to: "moves", of: record) }
    try tx.insertText("x", at: 0, in: "empty", of: record)
    try tx.removeText(0..<1, from: "empty", of: record)
  }

  /// Everything that a record shows, whichever cell a field shows first.
  private struct Shown: Equatable {
    var type: Name?
    var fields: [Name: Value]
    var counters: [Counter?]
    var sets: [Set<Value>?]
    var maps: [[Name: Value]?]
    var lists: [[Value]?]
    var texts: [String?]
    var payloads: [[Value]?]

    init(_ record: RecordID, _ tx: borrowing ReadTransaction) throws {
      let found = try tx.record(record)
      type = found?.type
      // An emptied text exists, but there is nothing to copy.
      fields = (found?.fields ?? [:]).filter { $0.key != "empty" }
      counters = try ["votes", "mixed"].map { try tx.counter($0, of: record) }
      sets = try ["tags", "mixed"].map { try tx.elements(of: $0, in: record) }
      maps = try ["prices", "mixed"].map { try tx.entries(of: $0, in: record) }
      lists = try ["steps", "mixed"].map { try tx.list($0, of: record) }
      texts = try ["body", "mixed"].map { try tx.text(of: $0, in: record) }
      payloads = try ["moves", "mixed"].map { try tx.contributions(of: $0, in: record)?.map(\.payload) }
    }
  }

  @Test("everything it shows moves with it, and each zone's transaction has the other place")
  func everyKind() async throws {
    let store = try await makeStore()
    try await store.write { tx in try Self.fill(note("r"), &tx) }
    let before = try store.read { try Shown(record, $0) }
    #expect(before.fields.count == 9 && before.lists[0] == [4, "one", Self.large])
    let made = try await store.write { tx in
      tx.label = "moving"
      return try tx.move(note("r"), to: Self.other)
    }
    #expect(made == copy)
    let after = try store.read { try Shown(copy, $0) }
    #expect(after == before)
    let isThere = try store.read { try $0.contains(record) }
    #expect(!isThere)
    let existence = try store.read { try $0.existence(of: record).map(\.content) }
    #expect(existence == [.moved(to: copy)])
    let entries = try store.entries().suffix(2).map(\.transaction)
    #expect(entries.map(\.zone) == [noteZone, Self.other])
    #expect(entries[0].operations == [.moveAway(record: "r", to: copy)])
    #expect(entries[1].operations.first == .moveHere(record: "r", type: "note", from: record))
    #expect(entries[0].writeID != nil && entries[0].writeID == entries[1].writeID)
    #expect(entries.allSatisfy { $0.label == "moving" && $0.timestamp == entries[0].timestamp })
    #expect(try store.read { try $0.survivingSources(in: noteZone) } == [])
    #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
    try await checkSound(store)
  }

  @Test("four thousand elements of each kind, and a text of many operations")
  func many() async throws {
    let store = try await makeStore()
    // Scalars of three bytes: none ends where an operation's text must.
    let text = String(repeating: "中a文", count: 30_000)
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for number in 0..<4_000 as Range<Int64> {
        try tx.insert(.int(number), into: "tags", of: note("r"))
        try tx.put(.int(number), at: Name("key \(number)"), in: "prices", of: note("r"))
      }
      try tx.insertElements((0..<4_000).map { .int($0) }, at: 0, in: "steps", of: note("r"))
      try tx.insertText(text, at: 0, in: "body", of: note("r"))
    }
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    #expect(try store.read { try $0.elements(of: "tags", in: copy) }?.count == 4_000)
    #expect(try store.read { try $0.entries(of: "prices", in: copy) }?["key 77"] == 77)
    #expect(try store.read { try $0.count(of: "prices", in: copy, as: .map) } == 4_000)
    #expect(try store.read { try $0.list("steps", of: copy) } == (0..<4_000).map { .int($0) })
    let found = try store.read { try $0.text(of: "body", in: copy) }
    #expect(found == text)
    let operations = try store.entries().last?.transaction.operations ?? []
    // One operation has the origin, one is the list, and each for the text takes 64 KiB less the part that
    // must not be split.
    #expect(operations.count == 8_000 + 2 + 4)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("what cannot be moved is refused and changes nothing, even if the write continues")
  func refused() async throws {
    let store = try await makeStore()
    let full = ZoneID(name: "full")
    let name = Name(String(repeating: "x", count: 38))
    let references = [Value](repeating: .reference(Reference(record: name)), count: 22_000)
    try await store.write { tx in
      try tx.createZone(full)
      for name in ["r", "there", "deleted", "wide"] {
        try tx.create(note(name), type: "note", fields: ["f": 1, "g": 2])
      }
      try tx.create(RecordID(zone: Self.other, name: "there"), type: "note")
      try tx.delete(note("deleted"))
      // Each reference gets the name of its zone.
      try tx.set("refs", of: note("wide"), to: .array(references))
    }
    let before = try store.readView()
    try await store.write { tx in
      func refusal(_ name: String, _ zone: ZoneID, from: ZoneID = noteZone) -> StoreError.Code? {
        code { try tx.move(RecordID(zone: from, name: Name(name)), to: zone) }
      }
      #expect(refusal("r", noteZone) == .recordExists)
      #expect(refusal("there", Self.other) == .recordExists)
      #expect(refusal("never", Self.other) == .recordUnknown)
      #expect(refusal("never", noteZone) == .recordUnknown)
      #expect(refusal("deleted", Self.other) == .recordUnknown)
      #expect(refusal(String(repeating: "n", count: 256), Self.other) == .recordUnknown)
      #expect(refusal("", Self.other) == .recordUnknown)
      #expect(refusal("r", ZoneID(name: "none")) == .zoneUnknown)
      #expect(refusal("r", Self.other, from: ZoneID(name: "none")) == .zoneUnknown)
      #expect(refusal("wide", Self.other) == .valueInvalid)
      #expect(tx.operationCounts == [])
    }
    let after = try store.readView()
    #expect(after == before)
    try await store.write { tx in
      try tx.create(RecordID(zone: full, name: "s"), type: "note")
      for _ in 0..<24_574 { try tx.set("f", of: RecordID(zone: full, name: "s"), to: 1) }
      let counts = tx.operationCounts
      // The copy takes three operations, and only one is left.
      let refusal = code { try tx.move(note("r"), to: full) }
      #expect(refusal == .transactionTooLarge)
      #expect(tx.operationCounts == counts)
      let (isThere, isMoved) = (
        try tx.contains(note("r")), try tx.contains(RecordID(zone: full, name: "r"))
      )
      #expect(isThere && !isMoved)
    }
    try await store.write { tx in
      for number in 0..<7 {
        let bytes = Value.bytes([UInt8](repeating: 5, count: (1 << 20) - 4))
        try tx.set(Name("f\(number)"), of: RecordID(zone: full, name: "s"), to: bytes)
      }
      let large = Value.bytes([UInt8](repeating: 6, count: (1 << 20) - 100))
      try tx.set("f", of: note("r"), to: large)
      try tx.set("g", of: note("r"), to: large)
      let refusal = code { try tx.move(note("r"), to: full) }
      #expect(refusal == .transactionTooLarge)
    }
    try await checkSound(store)
  }

  @Test("there and back: it has its new state, and nothing of the old one")
  func back() async throws {
    let store = try await makeStore()
    try await store.write { tx in try Self.fill(note("r"), &tx) }
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    try await store.write { tx in
      try tx.clear("title", of: RecordID(zone: Self.other, name: "r"))
      try tx.insertText("!", at: 0, in: "body", of: RecordID(zone: Self.other, name: "r"))
      try tx.insertElements(["new"], at: 0, in: "steps", of: RecordID(zone: Self.other, name: "r"))
    }
    let before = try store.read { try Shown(copy, $0) }
    try await store.write { _ = try $0.move(RecordID(zone: Self.other, name: "r"), to: noteZone) }
    let after = try store.read { try Shown(record, $0) }
    #expect(after == before && after.fields["title"] == nil && after.texts[0]?.first == "!")
    #expect(try store.read { try $0.existence(of: record).map(\.content) } == [.alive(type: "note")])
    #expect(try store.read { try $0.existence(of: copy).map(\.content) } == [.moved(to: record)])
    // In one write, through a third zone, which is created in the same write.
    let third = ZoneID(name: "third")
    try await store.write { tx in
      try tx.createZone(third)
      try tx.create(note("s"), type: "note", fields: ["f": 1])
      for (from, to) in [
        (noteZone, Self.other), (Self.other, third), (third, noteZone), (noteZone, Self.other),
      ] {
        try tx.move(RecordID(zone: from, name: "s"), to: to)
      }
    }
    #expect(try store.value("f", RecordID(zone: Self.other, name: "s")) == 1)
    for zone in [noteZone, third] {
      #expect(try store.value("f", RecordID(zone: zone, name: "s")) == nil)
    }
    try await checkSound(store)
  }

  @Test("references keep their targets, however deeply they are nested")
  func references() async throws {
    let store = try await makeStore()
    let here = Value.reference(Reference(record: "x", rule: .cascade))
    let named = Value.reference(Reference(zone: noteZone, record: "x", rule: .cascade))
    let there = Value.reference(Reference(zone: Self.other, record: "x"))
    try await store.write { tx in
      let record = note("r")
      try tx.create(note("x"), type: "note")
      try tx.create(record, type: "note", fields: ["one": here, "two": there, "deep": [["k": [here, 1]]]])
      try tx.set("missing", of: record, to: .reference(Reference(record: "y", rule: .nullify)))
      #expect(try tx.value(of: "missing", in: record) == nil)
      try tx.insert(here, into: "set", of: record)
      try tx.put(here, at: "k", in: "map", of: record)
      try tx.insertElements([here, there], at: 0, in: "list", of: record)
    }
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    let found = try store.read { try $0.record(copy) }
    #expect(found?["one"] == named && found?["two"] == there)
    // A reference that reads as missing is not lost; in another zone nobody can tell.
    #expect(found?["missing"] == .reference(Reference(zone: noteZone, record: "y", rule: .nullify)))
    let holders = try store.read { try $0.holders(of: note("y"), in: Self.other) }
    #expect(holders.map(\.field) == ["missing"])
    #expect(found?["deep"] == [["k": [named, 1]]])
    #expect(found?["set"] == [named] && found?["map"] == ["k": named] && found?["list"] == [named, there])
    // And back: they still have the zone's name.
    try await store.write { _ = try $0.move(RecordID(zone: Self.other, name: "r"), to: noteZone) }
    #expect(try store.value("one", record) == named)
    #expect(try store.value("missing", record) == nil)
  }

  @Test("a counter beyond any value moves as its clamped value; losers of conflicts do not move")
  func losers() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "title", "first")])])
    for replica in 2...3 as ClosedRange<UInt128> {
      _ = try remote.append([
        transaction(
          replica, 1, base: 1, at: 1_000_000 + UInt64(replica),
          [
            set("r", "title", .int(Int64(replica))),
            .add(record: "r", type: "note", field: "n", value: .int(.max)),
            .update(record: "r", type: "note", field: "m", .put(key: "k", .int(Int64(replica)))),
          ])
      ])
    }
    _ = try await store.ingest(remote.segments)
    #expect(try store.read { try $0.counter("n", of: record) } == Counter(value: .int(.max), isClamped: true))
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    let sum = try store.read { try $0.counter("n", of: copy) }
    #expect(sum == Counter(value: .int(.max), isClamped: false))
    #expect(try store.heads("title", copy) == [3])
    #expect(try store.read { try $0.entries(of: "m", in: copy) } == ["k": 3])
    #expect(try store.read { try $0.conflicts(in: Self.other) } == [])
    #expect(try store.heads("title", record) == [3, 2])
    try await checkSound(store)
  }

  @Test("its assets are the new zone's too: they outlive the old zone")
  func assets() async throws {
    let store = try await makeStore()
    let (photo, deep) = (assetBytes(70_000), assetBytes(500, seed: 2))
    let assets = [try await store.importAsset(bytes: photo), try await store.importAsset(bytes: deep)]
    try await store.write { tx in
      try tx.create(note("r"), type: "note", fields: ["photo": .asset(assets[0])])
      try tx.insertElements([[.asset(assets[1])]], at: 0, in: "list", of: note("r"))
    }
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    var zones: [[ZoneID]] = []
    try store.forEachAsset {
      zones.append($0.zones.sorted())
      return true
    }
    #expect(zones == [[noteZone, Self.other].sorted(), [noteZone, Self.other].sorted()])
    try store.forgetHolds()
    try await store.write { try $0.deleteZone(noteZone) }
    _ = try await store.reclaim()
    #expect(try store.asset("photo", copy) == assets[0])
    let content = try store.assetContent(assets[0])
    #expect(content == photo)
    let deepContent = try store.assetContent(assets[1])
    #expect(deepContent == deep)
    // An asset that is not here moves by its reference.
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.move(RecordID(zone: Self.other, name: "r"), to: noteZone)
    }
    try await checkSound(store)
  }

  @Test("the past has it in its old zone, and an exported log gives the same state")
  func pastAndExport() async throws {
    let store = try await makeStore()
    try await store.write { tx in try Self.fill(note("r"), &tx) }
    let position = try store.lastPosition()
    let before = try store.read { try Shown(record, $0) }
    try await store.write { _ = try $0.move(note("r"), to: Self.other) }
    let past = try store.snapshotBlockingThisThread(at: position)
    let then = try past.read { try Shown(record, $0) }
    #expect(then == before)
    let present = try store.snapshotBlockingThisThread(at: try store.lastPosition())
    let digests = try present.read { [try $0.digest(of: noteZone), try $0.digest(of: Self.other)] }
    #expect(digests == [try store.digest(), try store.digest(of: Self.other)])
    let imported = try directory.store("imported")
    try await imported.importLines(store.exportedLines())
    let snapshots = (try store.readView(), try imported.readView())
    #expect(snapshots.1.digests == snapshots.0.digests)
    try await checkSound(imported)
  }
}
