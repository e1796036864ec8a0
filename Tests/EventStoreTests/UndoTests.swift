import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

/// All that a record shows.
private struct Shown: Equatable, CustomStringConvertible {
  var registers: [Name: Value] = [:]
  var counter: Value?
  var tags: Set<Value> = []
  var prices: [Name: Value] = [:]
  var steps: [Value] = []
  var body = ""

  init?(_ record: RecordID, _ store: LocalStore) throws {
    guard try store.read({ try $0.contains(record) }) else { return nil }
    self = try store.read { tx in try Shown(tx, record) }
  }

  private init(_ tx: borrowing ReadTransaction, _ record: RecordID) throws {
    for field in ["f0", "f1", "f2"] as [Name] {
      if let value = try tx.heads(of: field, in: record).first?.content.value, value != .null {
        registers[field] = value
      }
    }
    counter = try tx.counter("likes", of: record)?.value ?? .int(0)
    tags = try tx.elements(of: "tags", in: record) ?? []
    prices = try tx.entries(of: "prices", in: record) ?? [:]
    steps = try tx.list("steps", of: record) ?? []
    body = try tx.text(of: "body", in: record) ?? ""
  }

  var description: String { "\(registers) \(counter as Any) \(tags) \(prices) \(steps) “\(body)”" }
}

/// One change of a record, and what it is called.
private struct Change: Sendable, CustomStringConvertible {
  let name: String
  let make: @Sendable (inout WriteTransaction, RecordID) throws -> Void

  init(_ name: String, _ make: @escaping @Sendable (inout WriteTransaction, RecordID) throws -> Void) {
    (self.name, self.make) = (name, make)
  }

  var description: String { name }

  static let all: [Change] = each + [everything, deletion, Change("delete") { tx, r in try tx.delete(r) }]

  private static let everything = Change("everything") { tx, r in
    for change in each { try change.make(&tx, r) }
  }

  private static let deletion = Change("change and delete") { tx, r in
    try tx.set("f0", of: r, to: "last")
    try tx.delete(r)
  }

  private static let each: [Change] = [
    Change("set") { tx, r in try tx.set("f0", of: r, to: "new") },
    Change("set twice") { tx, r in
      try tx.set("f0", of: r, to: "newer")
      try tx.set("f0", of: r, to: "newest")
    },
    Change("first set") { tx, r in try tx.set("f1", of: r, to: 7) },
    Change("clear") { tx, r in try tx.clear("f0", of: r) },
    Change("add") { tx, r in try tx.add(5, to: "likes", of: r) },
    Change("add twice") { tx, r in
      try tx.add(5, to: "likes", of: r)
      try tx.add(-2, to: "likes", of: r)
    },
    Change("insert into set") { tx, r in try tx.insert("new", into: "tags", of: r) },
    Change("insert what is there") { tx, r in try tx.insert("old", into: "tags", of: r) },
    Change("remove from set") { tx, r in try tx.remove("old", from: "tags", of: r) },
    Change("put") { tx, r in try tx.put("new", at: "key", in: "prices", of: r) },
    Change("first put") { tx, r in try tx.put("new", at: "other", in: "prices", of: r) },
    Change("remove key") { tx, r in try tx.removeValue(at: "key", from: "prices", of: r) },
    Change("insert elements") { tx, r in try tx.insertElements(["x", "y"], at: 1, in: "steps", of: r) },
    Change("remove elements") { tx, r in try tx.removeElements(1..<3, from: "steps", of: r) },
    Change("replace element") { tx, r in try tx.replaceElement(at: 1, in: "steps", of: r, with: "z") },
    Change("move element") { tx, r in try tx.moveElement(from: 0, to: 2, in: "steps", of: r) },
    Change("move, replace and remove") { tx, r in
      try tx.moveElement(from: 3, to: 0, in: "steps", of: r)
      try tx.replaceElement(at: 0, in: "steps", of: r, with: "z")
      try tx.removeElements(2..<3, from: "steps", of: r)
    },
    Change("insert text") { tx, r in try tx.insertText("new ", at: 3, in: "body", of: r) },
    Change("remove text") { tx, r in try tx.removeText(2..<9, from: "body", of: r) },
    Change("replace text") { tx, r in
      try tx.removeText(4..<7, from: "body", of: r)
      try tx.insertText("änders", at: 4, in: "body", of: r)
    },
  ]
}

@Suite("Writes that are taken back")
struct UndoTests {
  let directory = TemporaryDirectory()
  private let record = note("r")

  private func makeStore() async throws -> LocalStore {
    let store = try await directory.noteStore()
    let record = record
    try await store.write { tx in
      try tx.create(record, type: "note", fields: ["f0": "old"])
      try tx.add(3, to: "likes", of: record)
      try tx.insert("old", into: "tags", of: record)
      try tx.put("old", at: "key", in: "prices", of: record)
      try tx.insertElements(["a", "b", "c", "d"], at: 0, in: "steps", of: record)
      try tx.insertText("the quick brown fox", at: 0, in: "body", of: record)
    }
    return store
  }

  @Test("each kind of change goes, comes back and goes again", arguments: Change.all)
  private func kinds(change: Change) async throws {
    let store = try await makeStore()
    let record = record
    let before = try Shown(record, store)
    try await store.write { tx in
      tx.label = "Edit"
      try change.make(&tx, record)
    }
    let after = try Shown(record, store)
    let position = try store.lastPosition()
    for _ in 0..<3 {
      let report = try await store.undo(position)
      #expect(report.kept == [] && report.undone == [position])
      let undone = try Shown(record, store)
      #expect(undone == before)
      let again = try await store.redo(position)
      #expect(again.kept == [])
      let redone = try Shown(record, store)
      #expect(redone == after)
    }
    let labels = try store.entries().compactMap(\.transaction.label)
    #expect(labels.prefix(3) == ["Edit", "Undo Edit", "Redo Edit"] || after == before)
    try await checkSound(store)
  }

  @Test("a record that was created goes, unless somebody has changed it since; what stays is told")
  func creations() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try tx.create(note("new"), type: "note", fields: ["f0": 1])
    }
    let creation = try store.lastPosition()
    try await store.undo(creation)
    #expect(try store.read { try !$0.contains(note("new")) })
    try await store.redo(creation)
    #expect(try store.value("f0", note("new")) == 1)
    try await store.write { tx in try tx.set("f1", of: note("new"), to: 2) }
    let report = try await store.undo(creation)
    #expect(report.kept.map(\.reason) == [.changedSince])
    #expect(report.positions == [])
    #expect(try store.value("f0", note("new")) == 1)
  }

  @Test("a record that was created with a text and a list goes")
  func creationsWithUnits() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try tx.create(note("new"), type: "note")
      try tx.insertText("text", at: 0, in: "body", of: note("new"))
    }
    let creation = try store.lastPosition()
    try await store.write { tx in
      try tx.insertElements([1], at: 0, in: "steps", of: note("new"))
    }
    try await store.undo(try store.lastPosition())
    let report = try await store.undo(creation)
    #expect(report.kept == [])
    #expect(try store.read { try !$0.contains(note("new")) })
    try await store.redo(creation)
    #expect(try store.read { try $0.text(of: "body", in: note("new")) } == "text")
    try await checkSound(store)
  }

  @Test("what somebody changed since stays, and is told with who it was")
  func changedSince() async throws {
    let store = try await makeStore()
    let record = record
    try await store.write { try $0.set("f0", of: record, to: "mine") }
    let mine = try store.lastPosition()
    try await store.write { tx in
      tx.author = "bob"
      try tx.set("f0", of: record, to: "his")
    }
    let report = try await store.undo(mine)
    #expect(report.kept.map(\.author) == ["bob"] && report.kept.map(\.field) == ["f0"])
    #expect(try store.value("f0", record) == "his")
    // The later write goes too: nothing of the first is left.
    try await store.undo(Position(rawValue: mine.rawValue + 1))
    #expect(try store.value("f0", record) == "old")
  }

  @Test("what was taken back out of order stays away when what came over it goes too")
  func outOfOrder() async throws {
    for removesPast in [false, true] {
      let store = try await directory.noteStore("\(removesPast)")
      let record = record
      try await store.write { try $0.create(record, type: "note") }
      for (field, value) in [("f0", 1), ("f1", 1), ("f0", 5)] as [(Name, Int64)] {
        try await store.write { try $0.set(field, of: record, to: .int(value)) }
      }
      try await store.undo(Position(rawValue: 2))
      try await store.undo(Position(rawValue: 3))
      if removesPast { try store.removePast() }
      let report = try await store.undo(Position(rawValue: 4))
      #expect(report.kept == [])
      let shown = try Shown(record, store)
      #expect(shown?.registers == [:])
    }
  }

  @Test("a deletion that has not seen the undo does not win over what was written after what was taken back")
  func deletionsElsewhere() async throws {
    var remote = TestRemote()
    var stores: [LocalStore] = []
    let clocks = [TestClock(1000), TestClock(1000)]
    for number in 0..<2 {
      let store = try directory.store("\(number)") {
        $0.wallMilliseconds = { clocks[number].milliseconds }
        $0.makeRandom = { 77 &+ UInt64(number) }
      }
      try await store.makeAttachedZone()
      stores.append(store)
    }
    let record = record
    func sync(_ store: LocalStore) async throws {
      _ = try await store.ingest(remote.news(for: store))
      while let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    }
    try await stores[0].write { try $0.create(record, type: "note", fields: ["f0": "old"]) }
    for store in stores { try await sync(store) }
    clocks[0].milliseconds = 10_000
    try await stores[0].write { try $0.set("f0", of: record, to: "new") }
    let position = try stores[0].lastPosition()
    clocks[1].milliseconds = 15_000
    try await stores[1].write { try $0.delete(record) }
    clocks[0].milliseconds = 20_000
    try await stores[0].write { try $0.set("f1", of: record, to: "kept") }
    let report = try await stores[0].undo(position)
    #expect(report.positions.count == 2)
    for store in stores + stores { try await sync(store) }
    for store in stores {
      let shown = try Shown(record, store)
      #expect(shown?.registers == ["f0": "old", "f1": "kept"])
      try await checkSound(store)
    }
    // Both transactions go and come together.
    try await stores[0].redo(position)
    #expect(try stores[0].value("f0", record) == "new")
    try await stores[0].undo(position)
    #expect(try stores[0].value("f0", record) == "old")
  }

  @Test("an element that somebody has changed since stays, and very many are taken back at once")
  func manyElements() async throws {
    let store = try await makeStore()
    let record = record
    try await store.write { tx in
      try tx.insertElements((0..<3000).map { .int($0) }, at: 0, in: "many", of: record)
      for number in 0..<3000 { try tx.insert(.int(Int64(number)), into: "tags", of: record) }
    }
    let insertion = try store.lastPosition()
    try await store.write { tx in try tx.removeElements(0..<3000, from: "many", of: record) }
    let removal = try store.lastPosition()
    try await store.undo(removal)
    let list = try store.read { try $0.list("many", of: record) }
    #expect(list == (0..<3000).map { .int($0) })
    try await store.undo(insertion)
    let tags = try store.read { try $0.elements(of: "tags", in: record) }
    #expect(tags == ["old"])
    try await checkSound(store)
  }

  @Test(
    "more than one transaction may do is taken back, and comes again, in several", .timeLimit(.minutes(20)))
  func veryMany() async throws {
    let store = try await makeStore()
    let record = record
    for part in 0..<2 {
      try await store.write { tx in
        let values = (0..<9000).map { Value.int(Int64(part * 9000 + $0)) }
        try tx.insertElements(values, at: part * 9000, in: "many", of: record)
      }
    }
    try await store.write { tx in try tx.removeElements(0..<18_000, from: "many", of: record) }
    let removal = try store.lastPosition()
    try await store.write { tx in
      try tx.insertText(String(repeating: "ü", count: 70_000), at: 0, in: "long", of: record)
    }
    let insertion = try store.lastPosition()
    for _ in 0..<WideTests.choose(2, otherwise: 1) {
      let report = try await store.undo(removal)
      #expect(report.positions.count > 1 && report.kept == [])
      let list = try store.read { try $0.list("many", of: record) }
      #expect(list == (0..<18_000).map { .int($0) })
      try await store.redo(removal)
      let none = try store.read { try $0.list("many", of: record) }
      #expect(none ?? [] == [])
      try await store.undo(insertion)
      let shown = try store.read { try $0.text(of: "long", in: record) }
      #expect(shown ?? "" == "")
      try await store.redo(insertion)
      #expect(try store.read { try $0.text(of: "long", in: record) }?.unicodeScalars.count == 70_000)
    }
    let manager = store.undoManager()
    #expect(try manager.next?.position == insertion)
  }

  /// Moves the record to another zone.
  private func moveRecord(in store: LocalStore) async throws -> (RecordID, Position) {
    let other = ZoneID(name: "other")
    try await store.makeZone(other)
    let record = record
    try await store.write { tx in _ = try tx.move(record, to: other) }
    return (RecordID(zone: other, name: record.name), try store.lastPosition())
  }

  @Test("a record that was changed where it was moved stays there, and comes back nowhere else")
  func movedAndChanged() async throws {
    let store = try await makeStore()
    let (moved, move) = try await moveRecord(in: store)
    try await store.write { tx in
      tx.author = "bob"
      try tx.set("f0", of: moved, to: "bob's")
    }
    let report = try await store.undo(move)
    #expect(Set(report.kept.map(\.record)) == [record, moved] && report.positions == [])
    #expect(try store.read { try !$0.contains(record) && $0.contains(moved) })
    try await checkSound(store)
  }

  @Test("a record that was moved and changed stays when the change is taken back after the move")
  func changeOfMoved() async throws {
    let store = try await makeStore()
    let (moved, move) = try await moveRecord(in: store)
    try await store.write { try $0.set("f0", of: moved, to: "changed") }
    let change = try store.lastPosition()
    try await store.undo(move)
    let report = try await store.undo(change)
    #expect(report.kept.map(\.record) == [moved])
    #expect(try store.read { try !$0.contains(record) && $0.contains(moved) })
    try await checkSound(store)
  }

  @Test("an element that another author of the store has changed since stays, and is told")
  func elementsOfOthers() async throws {
    let store = try await makeStore()
    let record = record
    try await store.write { tx in
      tx.author = "ann"
      try tx.insertElements(["x", "y"], at: 0, in: "steps", of: record)
    }
    try await store.write { tx in
      tx.author = "bob"
      try tx.replaceElement(at: 0, in: "steps", of: record, with: "bob's")
    }
    let report = try await store.undoManager(author: "ann").undo()
    #expect(report?.kept.map(\.author) == ["bob"])
    #expect(try store.read { try $0.list("steps", of: record) } == ["bob's", "a", "b", "c", "d"])
  }

  @Test("several calls at once each take another step")
  func atOnce() async throws {
    let store = try await makeStore()
    let record = record
    for number in 1...8 { try await store.write { try $0.set("f0", of: record, to: .int(Int64(number))) } }
    let manager = store.undoManager()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<6 { group.addTask { _ = try await manager.undo() } }
      try await group.waitForAll()
    }
    #expect(try store.value("f0", record) == 2)
  }

  @Test("rows of links that cannot be are passed over")
  func damagedLinks() async throws {
    let store = try await makeStore()
    let record = record
    try await store.write { try $0.set("f0", of: record, to: 1) }
    let position = try store.lastPosition()
    let prefix = Array("undo ".utf8)
    try store.overwrite(prefix, [1], in: \.meta)
    try store.overwrite(prefix + [0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 9], in: \.meta)
    try store.overwrite(
      prefix + [255, 255, 255, 255, 255, 255, 255, 255], Array(repeating: 255, count: 9), in: \.meta)
    try store.overwrite(prefix + [0, 0, 0, 0, 0, 0, 0, 1], [1, 2, 3], in: \.meta)
    #expect(try store.undoManager().next?.position == position)
    try await store.undo(position)
    #expect(try store.value("f0", record) == "old")
    #expect(await awaitedCode { try await store.undo(Position(rawValue: .max)) } == .positionUnknown)
  }

  @Test("writes in two zones, moves between them included, go together")
  func zones() async throws {
    let store = try await makeStore()
    let other = ZoneID(name: "other")
    try await store.makeZone(other)
    let record = record
    let before = try Shown(record, store)
    try await store.write { tx in _ = try tx.move(record, to: other) }
    let report = try await store.undo(try store.lastPosition())
    #expect(report.undone.count == 2)
    #expect(report.positions.count == 2)
    #expect(report.kept == [])
    let after = try Shown(record, store)
    #expect(after == before)
    #expect(try store.read { try !$0.contains(RecordID(zone: other, name: record.name)) })
  }

  @Test("the manager goes back write by write, forward again, and knows them after a restart")
  func manager() async throws {
    var store = try await makeStore()
    let record = record
    for number in 1...4 {
      try await store.write { tx in
        (tx.author, tx.label) = ("ann", "\(number)")
        try tx.set("f0", of: record, to: .int(Int64(number)))
      }
    }
    var manager = store.undoManager(author: "ann")
    #expect(try manager.next?.label == "4" && manager.nextRedo == nil)
    try await manager.undo()
    try await manager.undo()
    #expect(try store.value("f0", record) == 2)
    #expect(try manager.next?.label == "2" && manager.nextRedo?.label == "3")
    store.close()
    store = try directory.store { $0.wallMilliseconds = { 1_000_000 } }
    manager = store.undoManager(author: "ann")
    try await manager.redo()
    #expect(try store.value("f0", record) == 3)
    #expect(try manager.next?.label == "3" && manager.nextRedo?.label == "4")
    // Those of others are none of its.
    try await store.write { try $0.set("f1", of: record, to: 1) }
    #expect(try manager.nextRedo?.label == "4")
    try await store.write { tx in
      (tx.author, tx.label) = ("ann", "5")
      try tx.set("f2", of: record, to: 1)
    }
    #expect(try manager.next?.label == "5" && manager.nextRedo == nil)
    for _ in 0..<4 { try await manager.undo() }
    let report = try await manager.undo()
    #expect(report == nil)
    #expect(try store.value("f0", record) == "old")
    try await checkSound(store)
  }

  @Test(
    "undo and redo go back and forth as on a stack, whatever was written",
    arguments: WideTests.choose(0..<40, otherwise: 0..<10))
  func stack(seed: UInt64) async throws {
    let store = try await directory.noteStore("\(seed)")
    let record = record
    try await store.write { tx in try tx.create(record, type: "note", fields: ["f0": "old"]) }
    let manager = store.undoManager()
    _ = try await manager.undo()
    _ = try await manager.redo()
    var random = SeededRandom(seed: seed)
    var shown = [try Shown(record, store)]
    var (place, steps) = (0, [String]())
    for _ in 0..<24 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0...1 where place > 0:
        let report = try await manager.undo()
        place -= 1
        #expect(report?.kept == [], "\(seed): \(steps)")
        steps.append("undo")
      case 2...3 where place < shown.count - 1:
        let report = try await manager.redo()
        place += 1
        #expect(report?.kept == [], "\(seed): \(steps)")
        steps.append("redo")
      default:
        let draw = UInt64.random(in: 0 ... .max, using: &random)
        steps.append(try await edit(store, draw))
        let now = try Shown(record, store)
        shown = Array(shown[...place]) + [now]
        place += 1
      }
      let now = try Shown(record, store)
      #expect(now == shown[place], "\(seed): \(steps)")
      if now != shown[place] { return }
    }
    try await checkSound(store)
  }

  /// Changes the record in some way, as far as it can be; it may become another one with the same name.
  private func edit(_ store: LocalStore, _ seed: UInt64) async throws -> String {
    let record = record
    let done = Shared("")
    try await store.write { tx in
      var random = SeededRandom(seed: seed)
      guard try tx.contains(record) else {
        try tx.create(record, type: "note", fields: ["f1": .int(Int64(seed % 100))])
        done.value = "create"
        return
      }
      let steps = try tx.list("steps", of: record)?.count ?? 0
      let length = try tx.text(of: "body", in: record)?.unicodeScalars.count ?? 0
      let number = Int64(seed % 50)
      let choice = Int.random(in: 0..<16, using: &random)
      done.value = "\(choice) with \(number)"
      switch choice {
      case 0, 1: try tx.set("f0", of: record, to: .int(number))
      case 2: try tx.clear("f0", of: record)
      case 3: try tx.add(.int(number), to: "likes", of: record)
      case 4: try tx.insert(.int(number % 3), into: "tags", of: record)
      case 5: try tx.remove(.int(number % 3), from: "tags", of: record)
      case 6: try tx.put(.int(number), at: "key", in: "prices", of: record)
      case 7: try tx.removeValue(at: "key", from: "prices", of: record)
      case 8 where steps > 1:
        try tx.moveElement(from: .random(in: 0..<steps, using: &random), to: 0, in: "steps", of: record)
      case 9 where steps > 0:
        let first = Int.random(in: 0..<steps, using: &random)
        try tx.removeElements(first..<min(steps, first + 2), from: "steps", of: record)
      case 10 where steps > 0:
        let place = Int.random(in: 0..<steps, using: &random)
        try tx.replaceElement(at: place, in: "steps", of: record, with: .int(number))
      case 8...10:
        try tx.insertElements([.int(number), .int(-number)], at: steps, in: "steps", of: record)
      case 11 where length > 0:
        let first = Int.random(in: 0..<length, using: &random)
        try tx.removeText(first..<min(length, first + 3), from: "body", of: record)
      case 11...13:
        let place = Int.random(in: 0...length, using: &random)
        try tx.insertText("<\(number)>", at: place, in: "body", of: record)
      case 14: try tx.delete(record)
      default:
        try tx.delete(record)
        try tx.create(record, type: number > 25 ? "note" : "other", fields: ["f2": .int(number)])
        try tx.insertText("new", at: 0, in: "body", of: record)
      }
    }
    return done.value
  }

  @Test("what cannot be taken back is an error that says why")
  func errors() async throws {
    let store = try await makeStore()
    let record = record
    try await store.write { tx in try tx.contribute(1, to: "votes", of: record) }
    let position = try store.lastPosition()
    let report = try await store.undo(position)
    #expect(report.kept.map(\.reason) == [.lasting] && report.positions == [])
    #expect(await awaitedCode { try await store.undo(position) } == .notUndoable)
    try await store.redo(position)
    #expect(await awaitedCode { try await store.redo(position) } == .notUndoable)
    #expect(await awaitedCode { try await store.undo(Position(rawValue: 99)) } == .positionUnknown)
    #expect(await awaitedCode { try await store.undo(.start) } == .positionUnknown)
    try await store.write { try $0.set("f0", of: record, to: 1) }
    let last = try store.lastPosition()
    try await store.undo(last)
    #expect(await awaitedCode { try await store.undo(try store.lastPosition()) } == .notUndoable)
  }
}

// MARK: Two stores

@Suite("Writes that are taken back between the writes of another store")
struct UndoOfTwoStores {
  let directory = TemporaryDirectory()
  private let records = (0..<3).map { note("r\($0)") }

  private struct Pair {
    var stores: [LocalStore]
    var clocks: [TestClock]
    var remote = TestRemote()
    var random: SeededGenerator
    /// What the second store wrote last at each place; nil for nothing.
    var theirs: [String: Value?] = [:]
    var sums: [Name: Int64] = [:]
    var number = 0

    mutating func sync(_ index: Int) async throws {
      while let acknowledgement = try remote.ship(stores[index]) {
        _ = try await stores[index].ingest(
          remote.news(for: stores[index]).filter { $0.offset < acknowledgement.offset })
        _ = try await stores[index].acknowledge(acknowledgement)
      }
      _ = try await stores[index].ingest(remote.news(for: stores[index]))
    }

    mutating func write(_ index: Int, _ records: [RecordID]) async throws {
      clocks[index].milliseconds += Int64(random.below(50))
      number += 1
      let tag = (index == 0 ? "a" : "b") + "\(number)"
      let isTheirs = index == 1
      let draws = (0..<1 + random.below(3)).map { _ in
        (random.below(9), records[random.below(records.count)], random.below(3), random.below(1000))
      }
      try await stores[index].write { tx in
        if !isTheirs { tx.author = "ann" }
        for (kind, record, place, draw) in draws {
          let field = Name("f\(place)")
          let element = Value.string("e\(place)")
          switch kind {
          case 0, 1: try tx.set(field, of: record, to: .string(tag))
          case 2: try tx.add(isTheirs ? 100 : 1, to: "likes", of: record)
          case 3: try tx.insert(element, into: "tags", of: record)
          case 4: try tx.remove(element, from: "tags", of: record)
          case 5: try tx.put(.string(tag), at: Name("k\(place)"), in: "prices", of: record)
          case 6: try tx.removeValue(at: Name("k\(place)"), from: "prices", of: record)
          case 7:
            let count = try tx.count(of: "body", in: record, as: .text)
            // The first store alone removes: what the second one has written must be there at the end.
            if isTheirs || count < 4 || draw % 2 == 0 {
              try tx.insertText(isTheirs ? "B" : "a", at: draw % (count + 1), in: "body", of: record)
            } else {
              let start = draw % (count - 2)
              try tx.removeText(start..<start + 2, from: "body", of: record)
            }
          default:
            let count = try tx.count(of: "steps", in: record, as: .list)
            if isTheirs || count < 3 || draw % 3 == 0 {
              try tx.insertElements(
                [.string(isTheirs ? "B" : "a")], at: draw % (count + 1), in: "steps", of: record)
            } else if draw % 3 == 1 {
              try tx.removeElements(draw % count..<draw % count + 1, from: "steps", of: record)
            } else {
              try tx.moveElement(from: draw % count, to: (draw / 7) % count, in: "steps", of: record)
            }
          }
        }
      }
      guard isTheirs else { return }
      for (kind, record, place, _) in draws {
        switch kind {
        case 0, 1: theirs["\(record.name) f\(place)"] = .some(.string(tag))
        case 2: sums[record.name, default: 0] += 100
        case 3: theirs["\(record.name) e\(place)"] = .some(.bool(true))
        case 4: theirs["\(record.name) e\(place)"] = .some(.bool(false))
        case 5: theirs["\(record.name) k\(place)"] = .some(.string(tag))
        case 6: theirs["\(record.name) k\(place)"] = .some(nil)
        case 7: sums[Name("\(record.name) B"), default: 0] += 1
        default: sums[Name("\(record.name) s"), default: 0] += 1
        }
      }
    }
  }

  private func makePair(_ seed: UInt64) async throws -> Pair {
    var pair = Pair(stores: [], clocks: [], random: SeededGenerator(seed: seed))
    for number in 0..<2 {
      let clock = TestClock(1_700_000_000_000)
      let store = try directory.store("\(seed)-\(number)") {
        $0.wallMilliseconds = { clock.milliseconds }
        $0.makeRandom = { seed &* 1000 &+ UInt64(number) }
      }
      try await store.makeAttachedZone()
      pair.stores.append(store)
      pair.clocks.append(clock)
    }
    let records = records
    try await pair.stores[1].write { tx in for record in records { try tx.create(record, type: "note") } }
    try await pair.sync(1)
    try await pair.sync(0)
    return pair
  }

  @Test(
    "in any order of sync, what the other store wrote is left, and nothing else",
    arguments: WideTests.choose(1...40, otherwise: 1...8))
  func everything(seed: UInt64) async throws {
    var pair = try await makePair(seed)
    // The other store writes on while the first one takes its writes back, or it does not.
    let isQuiet = seed % 2 == 0
    for _ in 0..<30 {
      let index = pair.random.below(2)
      if pair.random.chance(30) { try await pair.sync(index) } else { try await pair.write(index, records) }
    }
    if isQuiet { for index in [0, 1, 0, 1] { try await pair.sync(index) } }
    let manager = pair.stores[0].undoManager(author: "ann", levels: 1000)
    while try manager.canUndo {
      try await manager.undo()
      if !isQuiet {
        if pair.random.chance(40) { try await pair.write(1, records) }
        if pair.random.chance(40) { try await pair.sync(pair.random.below(2)) }
      }
    }
    for index in [0, 1, 0, 1] { try await pair.sync(index) }
    let digests = try pair.stores.map { try $0.digest() }
    #expect(digests[0] == digests[1], "seed \(seed)")
    for store in pair.stores { try await checkSound(store, "seed \(seed)") }
    try expectTheirs(pair, isQuiet: isQuiet, "seed \(seed)")
  }

  @Test(
    "what was written as it was already wins over what another store wrote before, unless it is taken back",
    arguments: [false, true])
  func sameAgain(comesBack: Bool) async throws {
    var pair = try await makePair(1000)
    let record = records[0]
    @Sendable func write(_ value: Value, _ tx: inout WriteTransaction) throws {
      try tx.set("f0", of: record, to: value)
      try tx.put(value, at: "key", in: "prices", of: record)
    }
    try await pair.stores[0].write { tx in try write("old", &tx) }
    for index in [0, 1] { try await pair.sync(index) }
    for clock in pair.clocks { clock.milliseconds += 10 }
    try await pair.stores[1].write { tx in try write("theirs", &tx) }
    pair.clocks[0].milliseconds += 10
    try await pair.stores[0].write { tx in
      tx.author = "ann"
      try write("old", &tx)
      try tx.set("f1", of: record, to: "more")
    }
    let manager = pair.stores[0].undoManager(author: "ann")
    try await manager.undo()
    if comesBack { try await manager.redo() }
    for index in [0, 1, 0] { try await pair.sync(index) }
    for store in pair.stores {
      let shown = try #require(try Shown(record, store))
      let expected: Value = comesBack ? "old" : "theirs"
      #expect(shown.registers["f0"] == expected && shown.prices["key"] == expected)
      #expect(shown.registers["f1"] == (comesBack ? "more" : nil))
      try await checkSound(store, "\(comesBack)")
    }
  }

  @Test(
    "a write stays whole beside those of another store that set some of its fields to the same",
    arguments: [false, true], [false, true])
  func partlyTheSame(isSeen: Bool, comesBack: Bool) async throws {
    var pair = try await makePair(2000)
    let record = records[0]
    @Sendable func write(_ f0: Value, _ f1: Value, _ tx: inout WriteTransaction) throws {
      try tx.set("f0", of: record, to: f0)
      try tx.set("f1", of: record, to: f1)
    }
    // More than the other store's clock follows.
    pair.clocks[0].milliseconds += 3_600_000
    pair.clocks[1].milliseconds += 10
    try await pair.stores[1].write { tx in try write("same", "theirs", &tx) }
    try await pair.stores[0].write { tx in try write("same", "mine", &tx) }
    let position = try pair.stores[0].lastPosition()
    for index in [1, 0] { try await pair.sync(index) }
    if isSeen { try await pair.sync(1) }
    pair.clocks[1].milliseconds += 10
    try await pair.stores[1].write { tx in try write("last", "last", &tx) }
    let report = try await pair.stores[0].undo(position)
    #expect(report.kept.map(\.field) == ["f0"])
    if comesBack { try await pair.stores[0].redo(position) }
    for index in [1, 0, 1] { try await pair.sync(index) }
    for store in pair.stores {
      let shown = try #require(try Shown(record, store))
      #expect(shown.registers == (comesBack ? ["f0": "same", "f1": "mine"] : ["f0": "last", "f1": "last"]))
      try await checkSound(store, "\(isSeen) \(comesBack)")
    }
  }

  private func expectTheirs(_ pair: Pair, isQuiet: Bool, _ comment: Comment) throws {
    for record in records {
      let shown = try #require(try Shown(record, pair.stores[0]))
      for place in 0..<3 {
        let value = pair.theirs["\(record.name) f\(place)"] ?? nil
        #expect(shown.registers[Name("f\(place)")] == value, comment)
        let entry = pair.theirs["\(record.name) k\(place)"] ?? nil
        let isThere = pair.theirs["\(record.name) e\(place)"] == .some(.some(.bool(true)))
        // Without having seen it, a removal loses against what comes back.
        if isQuiet || entry != nil { #expect(shown.prices[Name("k\(place)")] == entry, comment) }
        if isQuiet || isThere { #expect(shown.tags.contains(.string("e\(place)")) == isThere, comment) }
      }
      #expect(shown.counter == .int(pair.sums[record.name] ?? 0), comment)
      let letters = String(repeating: "B", count: Int(pair.sums[Name("\(record.name) B")] ?? 0))
      #expect(shown.body == letters, comment)
      #expect(
        shown.steps == Array(repeating: "B", count: Int(pair.sums[Name("\(record.name) s")] ?? 0)), comment)
    }
  }
}
