import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Lists and texts")
struct ListsAndTexts {
  let directory = TemporaryDirectory()

  private func makeStore(_ name: String = "store") async throws -> LocalStore {
    let store = try await directory.noteStore(name)
    try await store.write { try $0.create(note("r"), type: "note") }
    return store
  }

  private func change(_ field: Name, _ change: FieldChange) -> LogOperation {
    .update(record: "r", type: "note", field: field, change)
  }

  private func text(_ store: LocalStore) throws -> String? {
    try store.read { try $0.text(of: "body", in: note("r")) }
  }

  private func list(_ store: LocalStore) throws -> [Value]? {
    try store.read { try $0.list("steps", of: note("r")) }
  }

  private func operations(_ store: LocalStore) throws -> [LogOperation] {
    try store.read { tx in
      var operations: [LogOperation] = []
      try tx.history { entry in
        operations += entry.transaction.operations
        return true
      }
      return operations
    }
  }

  @Test("text is inserted and removed by index, in scalars, and reads in the write and after it")
  func texts() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      #expect(try tx.text(of: "body", in: note("r")) == nil)
      try tx.insertText("Hällo 𝄞", at: 0, in: "body", of: note("r"))
      try tx.insertText("!", at: 7, in: "body", of: note("r"))
      try tx.insertText(">> ", at: 0, in: "body", of: note("r"))
      try tx.removeText(4..<6, from: "body", of: note("r"))
      try tx.insertText("", at: 2, in: "body", of: note("r"))
      #expect(try tx.text(of: "body", in: note("r")) == ">> Hlo 𝄞!")
      #expect(try tx.count(of: "body", in: note("r"), as: .text) == 9)
    }
    #expect(try text(store) == ">> Hlo 𝄞!")
    #expect(try store.read { try $0.text(in: 3..<6, of: "body", in: note("r")) } == "Hlo")
    #expect(try store.read { try $0.value(of: "body", in: note("r")) } == ">> Hlo 𝄞!")
    #expect(try store.read { try $0.text(of: "body", in: note("x")) } == nil)
    try await checkSound(store)
  }

  @Test("text typed in pieces in one write is one operation, with the same result as one insertion")
  func joined() async throws {
    let store = try await makeStore()
    let other = try await makeStore("other")
    try await store.write { tx in
      for (index, scalar) in "typed".unicodeScalars.enumerated() {
        try tx.insertText(String(scalar), at: index, in: "body", of: note("r"))
      }
      try tx.insertText("0", at: 0, in: "body", of: note("r"))
    }
    let made = try operations(store)
    #expect(made.count == 3)
    #expect(made[1] == change("body", .insertText("typed", after: nil)))
    #expect(made[2] == change("body", .insertText("0", after: nil)))
    try await other.write { tx in
      try tx.insertText("typed", at: 0, in: "body", of: note("r"))
      try tx.insertText("0", at: 0, in: "body", of: note("r"))
    }
    let rows = try (store.rows(\.runs), other.rows(\.runs))
    #expect(rows.0 == rows.1)
    try await checkSound(store)
  }

  @Test("a text too long for one operation takes several, and none splits a scalar")
  func long() async throws {
    let store = try await makeStore()
    let long = String(repeating: "aä𝄞", count: 30_000)
    try await store.write { tx in
      try tx.insertText("[]", at: 0, in: "body", of: note("r"))
      try tx.insertText(long, at: 1, in: "body", of: note("r"))
    }
    #expect(try text(store) == "[" + long + "]")
    #expect(try operations(store).count > 4)
    try await store.write { try $0.removeText(1..<90_001, from: "body", of: note("r")) }
    #expect(try text(store) == "[]")
    try await checkSound(store)
  }

  @Test("a list's elements are inserted, moved, replaced and removed by index")
  func lists() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      #expect(try tx.list("steps", of: note("r")) == nil)
      try tx.insertElements(["a", "b", "c", .null], at: 0, in: "steps", of: note("r"))
      try tx.moveElement(from: 0, to: 2, in: "steps", of: note("r"))
      #expect(try tx.list("steps", of: note("r")) == ["b", "c", "a", .null])
      try tx.moveElement(from: 3, to: 0, in: "steps", of: note("r"))
      try tx.moveElement(from: 1, to: 1, in: "steps", of: note("r"))
      #expect(try tx.list("steps", of: note("r")) == [.null, "b", "c", "a"])
      try tx.replaceElement(at: 2, in: "steps", of: note("r"), with: ["new": 1])
      try tx.removeElements(0..<2, from: "steps", of: note("r"))
      try tx.insertElements([], at: 1, in: "steps", of: note("r"))
      #expect(try tx.list("steps", of: note("r")) == [["new": 1], "a"])
    }
    #expect(try list(store) == [["new": 1], "a"])
    #expect(try store.read { try $0.element(at: 1, of: "steps", in: note("r")) } == "a")
    #expect(try store.read { try $0.count(of: "steps", in: note("r"), as: .list) } == 2)
    #expect(try store.read { try $0.value(of: "steps", in: note("r")) } == .array([["new": 1], "a"]))
    try await store.write { try $0.removeElements(0..<2, from: "steps", of: note("r")) }
    #expect(try list(store) == nil)
    #expect(try store.rows(\.elements).isEmpty)
    try await checkSound(store)
  }

  @Test("seventeen thousand elements are read and moved: no number is misread")
  func manyElements() async throws {
    let store = try await makeStore()
    var expected = (0..<17_000).map { Value.int($0) }
    try await store.write { [expected] in try $0.insertElements(expected, at: 0, in: "steps", of: note("r")) }
    #expect(try store.read { try $0.list("steps", of: note("r")) } == expected)
    // Numbers whose lowest seven bits are all set are varints that begin with 255.
    let moves = [(127, 0), (255, 16_511), (383, 3), (16_383, 16_385), (16_999, 1)]
    try await store.write { tx in
      for (source, target) in moves {
        try tx.moveElement(from: source, to: target, in: "steps", of: note("r"))
      }
      for number in 0..<300 { try tx.moveElement(from: number, to: 300, in: "steps", of: note("r")) }
    }
    for (source, target) in moves + (0..<300).map({ ($0, 300) }) {
      expected.insert(expected.remove(at: source), at: target)
    }
    #expect(try store.read { try $0.list("steps", of: note("r")) } == expected)
    try await checkSound(store)
  }

  @Test("a missing index, and a missing record, change nothing")
  func refusals() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try tx.insertText("abc", at: 0, in: "body", of: note("r"))
      try tx.insertElements([1, 2], at: 0, in: "steps", of: note("r"))
    }
    let before = try store.readView()
    for change: @Sendable (inout WriteTransaction) throws -> Void in [
      { try $0.insertText("x", at: 4, in: "body", of: note("r")) },
      { try $0.insertText("x", at: -1, in: "body", of: note("r")) },
      { try $0.removeText(2..<4, from: "body", of: note("r")) },
      { try $0.insertElements([1], at: 3, in: "steps", of: note("r")) },
      { try $0.removeElements(0..<3, from: "steps", of: note("r")) },
      { try $0.moveElement(from: 2, to: 0, in: "steps", of: note("r")) },
      { try $0.moveElement(from: 0, to: 2, in: "steps", of: note("r")) },
      { try $0.replaceElement(at: 2, in: "steps", of: note("r"), with: 1) },
    ] {
      let code = await awaitedCode { try await store.write { try change(&$0) } }
      #expect(code == .indexInvalid)
    }
    let unknown = await awaitedCode {
      try await store.write { try $0.insertText("x", at: 0, in: "body", of: note("x")) }
    }
    #expect(unknown == .recordUnknown)
    #expect(
      awaitedRead { _ = try store.read { try $0.text(in: 2..<4, of: "body", in: note("r")) } }
        == .indexInvalid)
    #expect(try store.readView() == before)
  }

  @Test(
    "an index or a range of any number is refused, and none traps",
    arguments: [Int.min, -1, 9, .max - 1, .max])
  func extremeIndexes(_ index: Int) async throws {
    let store = try await makeStore()
    try await store.write { tx in
      try tx.insertText("abc", at: 0, in: "body", of: note("r"))
      try tx.insertElements([1, 2], at: 0, in: "steps", of: note("r"))
    }
    let before = try store.readView()
    let range = index < 0 ? index..<1 : 1..<index
    for change: @Sendable (inout WriteTransaction) throws -> Void in [
      { try $0.insertText("x", at: index, in: "body", of: note("r")) },
      { try $0.insertText("", at: index, in: "body", of: note("r")) },
      { try $0.removeText(range, from: "body", of: note("r")) },
      { try $0.removeText(index..<index, from: "body", of: note("r")) },
      { try $0.insertElements([1], at: index, in: "steps", of: note("r")) },
      { try $0.removeElements(range, from: "steps", of: note("r")) },
      { try $0.removeElements(.min ..< .max, from: "steps", of: note("r")) },
      { try $0.moveElement(from: index, to: 0, in: "steps", of: note("r")) },
      { try $0.moveElement(from: 0, to: index, in: "steps", of: note("r")) },
      { try $0.replaceElement(at: index, in: "steps", of: note("r"), with: 1) },
    ] {
      let code = await awaitedCode { try await store.write { try change(&$0) } }
      #expect(code == .indexInvalid)
    }
    for read: (borrowing ReadTransaction) throws -> Void in [
      { _ = try $0.element(at: index, of: "steps", in: note("r")) },
      { _ = try $0.text(in: range, of: "body", in: note("r")) },
      { _ = try $0.text(in: index..<index, of: "body", in: note("r")) },
    ] {
      #expect(awaitedRead { try store.read { try read($0) } } == .indexInvalid)
    }
    #expect(try store.readView() == before)
  }

  @Test("a limit of none, or less, gives nothing", arguments: [0, -1, Int.min])
  func limits(_ limit: Int) async throws {
    let store = try await makeStore()
    try await store.write { try $0.insertText("abc", at: 0, in: "body", of: note("r")) }
    #expect(try store.read { try $0.pending(in: note("r").zone, limit: limit).isEmpty })
    #expect(try store.read { try $0.rejectedSegments(in: note("r").zone, limit: limit).isEmpty })
    #expect(try store.read { try $0.pending(in: note("r").zone, limit: .max).count } == 2)
  }

  private func awaitedRead(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch let error as StoreError { return error.code } catch {}
    return nil
  }

  @Test(
    "concurrent changes merge: a move and an edit both stay, one of two moves wins, removals stay")
  func concurrently() async throws {
    let store = try await directory.noteStore("one")
    let other = try await directory.noteStore("two")
    var remote = TestRemote()
    let by = UnitMaker(replica: ReplicaID(rawValue: 1), epoch: 0)
    func unit(_ number: UInt64) -> UnitReference { UnitReference(maker: by, number: number) }
    _ = try remote.append([
      transaction(
        1, 1, at: 100,
        [
          create("r"), change("steps", .insertElements(["a", "b", "c", "d"], after: nil)),
          change("body", .insertText("milk", after: nil)),
        ])
    ])
    _ = try remote.append([
      transaction(
        2, 1, base: 1, at: 200,
        [
          change("steps", .moveElement(unit(0), after: unit(3))),
          change("steps", .removeElements([UnitSpan(first: unit(1), count: 1)])),
          change("body", .insertText("oat", after: nil)),
        ])
    ])
    _ = try remote.append([
      transaction(
        3, 1, base: 1, at: 300,
        [
          change("steps", .replaceElement(unit(0), "A")), change("steps", .replaceElement(unit(1), "B")),
          change("steps", .moveElement(unit(1), after: nil)), change("body", .insertText("soy", after: nil)),
        ])
    ])
    _ = try remote.append([
      transaction(4, 1, base: 1, at: 250, [change("steps", .moveElement(unit(0), after: unit(1)))])
    ])
    _ = try await store.ingest(remote.segments)
    for index in [0, 3, 2, 1] { _ = try? await other.ingest([remote.segments[index]]) }
    _ = try await other.ingest(remote.segments)
    #expect(try list(store) == ["A", "c", "d"])
    #expect(try text(store) == "oatsoymilk")
    #expect(try store.digest() == other.digest())
    try await checkSound(store)
    try await checkSound(other)
  }

  @Test("a later create removes the units that it has seen, and no others")
  func recreated() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    let by = UnitMaker(replica: ReplicaID(rawValue: 1), epoch: 0)
    _ = try remote.append([
      transaction(
        1, 1,
        [
          create("r"), change("body", .insertText("seen", after: nil)),
          change("steps", .insertElements(["seen"], after: nil)),
        ])
    ])
    _ = try remote.append([
      transaction(
        2, 1, base: 1, at: 50,
        [
          change("body", .insertText(" unseen", after: UnitReference(maker: by, number: 3))),
          change("steps", .insertElements(["unseen"], after: UnitReference(maker: by, number: 0))),
        ])
    ])
    _ = try remote.append([transaction(3, 1, base: 1, at: 60, [.delete(record: "r"), create("r")])])
    _ = try await store.ingest(remote.segments)
    #expect(try text(store) == " unseen")
    #expect(try list(store) == ["unseen"])
    try await checkSound(store)
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      try tx.insertText("new", at: 0, in: "body", of: note("r"))
    }
    #expect(try text(store) == "new")
    #expect(try list(store) == nil)
    try await checkSound(store)
  }

  @Test(
    "units that are missing, unseen or too large are skipped; later units keep their numbers"
  )
  func hostile() async throws {
    let store = try await directory.noteStore()
    var remote = TestRemote()
    let nobody = UnitMaker(replica: ReplicaID(rawValue: 99), epoch: 0)
    let late = UnitMaker(replica: ReplicaID(rawValue: 3), epoch: 0)
    func far(_ maker: UnitMaker?, _ number: UInt64 = .max - 1) -> UnitReference {
      UnitReference(maker: maker, number: number)
    }
    _ = try remote.append([
      transaction(1, 1, [create("r"), change("steps", .insertElements([1, 2], after: nil))])
    ])
    _ = try remote.append([
      transaction(3, 1, base: 1, [change("steps", .insertElements([3], after: nil))])
    ])
    _ = try remote.append([
      transaction(
        2, 1, base: 1,
        [
          change("steps", .insertElements(["x"], after: far(nobody))),
          change("steps", .moveElement(far(nobody), after: far(nil))),
          change("steps", .moveElement(far(late, 0), after: nil)),
          change("steps", .replaceElement(far(late, 0), "hostile")),
          change("steps", .removeElements([UnitSpan(first: far(late, 0), count: 1)])),
          change("steps", .removeElements([UnitSpan(first: far(nil, 0), count: .max)])),
          change("body", .removeText([UnitSpan(first: far(nobody), count: 1)])),
          change("body", .insertText("t", after: far(nil))),
          change("steps", .insertElements(["y"], after: UnitReference(number: 2))),
        ])
    ])
    _ = try await store.ingest(remote.segments)
    #expect(try list(store).map { Set($0) } == [1, 2, 3, "y"])
    #expect(try text(store) == "t")
    try await checkSound(store)
  }

  @Test("a text's explanation has who inserted its parts, a list element's has its earlier values")
  func explained() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      tx.author = "ann"
      try tx.insertText("milk and more", at: 0, in: "body", of: note("r"))
      try tx.insertElements(["a", "b"], at: 0, in: "steps", of: note("r"))
    }
    try await store.write { tx in
      tx.author = "bob"
      try tx.insertText("oat ", at: 0, in: "body", of: note("r"))
      try tx.removeText(8..<17, from: "body", of: note("r"))
      try tx.replaceElement(at: 1, in: "steps", of: note("r"), with: "B")
    }
    let text = try #require(try store.read { try $0.explain(note("r"), field: "body") })
    #expect(text.kind == .text && text.heads.map(\.head.content) == [.text("oat "), .text("milk")])
    #expect(text.heads.map(\.entry?.transaction.author) == ["bob", "ann"])
    let list = try #require(try store.read { try $0.explain(note("r"), field: "steps") })
    #expect(list.kind == .list && list.heads.map(\.head.content.value) == ["a", "B"] && list.reasons == [])
    let unit = try #require(list.heads[1].head.content.element)
    let one = try #require(try store.read { try $0.explain(note("r"), field: "steps", element: unit) })
    #expect(one.heads.map(\.head.content.value) == ["B"])
  }

  @Test("typed text takes few bytes for each character, in records and in the log")
  func bytes() async throws {
    let count = 5000
    func size(_ rows: [Row]) -> Double {
      rows.reduce(0) { $0 + 18.5 + Double($1.key.count + $1.value.count) } / Double(count)
    }
    let store = try await makeStore("one")
    let before = size(try store.rows(\.log))
    for index in 0..<count {
      try await store.write { try $0.insertText("x", at: index, in: "body", of: note("r")) }
    }
    let records = size(try store.rows(\.runs)) + size(try store.rows(\.records))
    let log = size(try store.rows(\.log)) - before
    #expect(records < 3 && log < 80, "\(records) in records, \(log) in the log")
    let other = try await makeStore("fifty")
    for start in stride(from: 0, to: count, by: 50) {
      try await other.write { tx in
        for index in start..<start + 50 { try tx.insertText("x", at: index, in: "body", of: note("r")) }
      }
    }
    let joined = size(try other.rows(\.runs)) + size(try other.rows(\.records))
    let shared = size(try other.rows(\.log)) - before
    #expect(joined < 3 && shared < 4, "\(joined) in records, \(shared) in the log")
    print("bytes a character: records \(records) and \(joined), log \(log) and \(shared)")
  }
}
