import Foundation
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A write reads what it has done with the verbs of a read")
struct ReadingInWrites {
  typealias Answers = [ReadingVerb: [ReadingVerb.Answer]]

  /// What one write does.
  struct Step: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var run: @Sendable (inout WriteTransaction) throws -> Void

    init(_ testDescription: String, _ run: @escaping @Sendable (inout WriteTransaction) throws -> Void) {
      (self.testDescription, self.run) = (testDescription, run)
    }
  }

  let directory = TemporaryDirectory()
  private static let other = ZoneID(name: "other")
  private static let made = ZoneID(name: "made")
  private static let subject = ReadingVerb.Subject(
    zones: [noteZone, other, made],
    records: ["a", "b", "contested", "gone", "holder", "moved", "new", "wide"].map { note($0) } + [
      RecordID(zone: other, name: "moved"), RecordID(zone: made, name: "new"),
    ],
    fields: ["title", "body", "items", "likes", "tags", "map", "stars", "parent", "f7", "unused"])

  static let steps: [Step] = [
    Step("nothing") { _ in },
    Step("creates a record") { try $0.create(note("new"), type: "note", fields: ["title": "New"]) },
    Step("creates a record of another type") { try $0.create(note("new"), type: "memo") },
    Step("sets and clears fields") { tx in
      try tx.set("title", of: note("a"), to: "Oat milk")
      try tx.set("photo", of: note("b"), to: .string(String(repeating: "x", count: 3000)))
      try tx.clear("title", of: note("b"))
    },
    Step("adds to a counter") { tx in
      try tx.add(4, to: "likes", of: note("a"))
      try tx.add(-2, to: "likes", of: note("b"))
    },
    Step("changes a set and a map") { tx in
      try tx.remove("red", from: "tags", of: note("a"))
      try tx.insert("blue", into: "tags", of: note("a"))
      try tx.put(2, at: "k", in: "map", of: note("a"))
      try tx.put(3, at: "l", in: "map", of: note("a"))
      try tx.removeValue(at: "k", from: "map", of: note("a"))
    },
    Step("types text") { tx in
      try tx.insertText("Dear ", at: 0, in: "body", of: note("a"))
      try tx.insertText("Ann, ", at: 5, in: "body", of: note("a"))
      try tx.removeText(1..<3, from: "body", of: note("a"))
    },
    Step("changes a list") { tx in
      try tx.insertElements(["x", "y"], at: 1, in: "items", of: note("a"))
      try tx.moveElement(from: 0, to: 2, in: "items", of: note("a"))
      try tx.replaceElement(at: 1, in: "items", of: note("a"), with: "z")
      try tx.removeElements(3..<4, from: "items", of: note("a"))
    },
    Step("contributes") { tx in
      try tx.contribute(7, to: "stars", of: note("a"))
      try tx.contribute(8, to: "stars", of: note("b"))
    },
    Step("deletes a record that others refer to") { try $0.delete(note("b")) },
    Step("brings a record back that others refer to") { try $0.create(note("gone"), type: "note") },
    Step("refers to a record that does not exist") { tx in
      try tx.set("parent", of: note("a"), to: .reference(Reference(record: "nobody", rule: .cascade)))
    },
    Step("moves a record") { try $0.move(note("moved"), to: other) },
    Step("settles conflicts") { tx in
      for conflict in try tx.conflicts(in: noteZone) {
        try tx.restore(conflict.losers[0].operation, in: conflict.field, of: conflict.record)
      }
    },
    Step("changes a wide record") { tx in
      try tx.set("f7", of: note("wide"), to: "changed")
      try tx.insertText("text", at: 0, in: "body", of: note("wide"))
    },
    Step("makes a zone") { tx in
      try tx.createZone(made)
      try tx.create(RecordID(zone: made, name: "new"), type: "note", fields: ["title": "Here"])
    },
    Step("attaches a zone") { try $0.attachZone(other) },
    Step("deletes a zone") { try $0.deleteZone(other) },
    Step("deletes a zone, and makes it again") { tx in
      try tx.deleteZone(other)
      try tx.createZone(other)
      try tx.create(RecordID(zone: other, name: "moved"), type: "note")
    },
  ]

  private func answers(_ tx: borrowing some RecordReading & ~Copyable) throws -> Answers {
    var answers: Answers = [:]
    for verb in ReadingVerb.allCases { answers[verb] = try verb.answers(about: Self.subject, in: tx) }
    return answers
  }

  private func check(_ found: Answers, _ expected: Answers, _ comment: String) {
    for verb in ReadingVerb.allCases {
      #expect(found[verb] == expected[verb], "\(verb.rawValue) \(comment)")
    }
  }

  /// A store with records of all kinds of fields, conflicts, a hidden record, a surviving source and a wide record.
  private func makeStore(_ name: String = "store") async throws -> LocalStore {
    let store = try directory.store(name) {
      $0.wallMilliseconds = { 3_000_000 }
      $0.indexes = [IndexDefinition("titles", of: ["note"], by: [IndexPart(.value(.value(of: "title")))])]
    }
    try await store.makeZone()
    _ = try await store.write { try $0.createZone(Self.other) }
    var remote = TestRemote()
    let wide = (0..<300).map { set("wide", Name("f\($0)"), .string(String(repeating: "x", count: 100))) }
    let names: [Name] = ["a", "b", "contested", "gone", "holder", "moved", "survivor"]
    _ = try remote.append([transaction(1, 1, names.map { create($0) } + [set("contested", "title", "one")])])
    _ = try remote.append([transaction(5, 1, [create("wide")] + wide)])
    _ = try remote.append([
      transaction(2, 1, base: 2, at: 1_600_000, [set("contested", "title", "two"), .delete(record: "gone")])
    ])
    _ = try remote.append([
      transaction(
        3, 1, base: 2, at: 1_700_000,
        [set("contested", "title", "three"), .moveAway(record: "survivor", to: note("copy"))])
    ])
    _ = try remote.append([
      transaction(4, 1, base: 2, at: 1_800_000, [set("survivor", "title", "Still here")])
    ])
    _ = try await store.ingest(remote.segments)
    try await store.write { tx in
      let a = note("a")
      try tx.insertText("Milk and honey", at: 0, in: "body", of: a)
      try tx.insertElements(["p", "q", "r"], at: 0, in: "items", of: a)
      try tx.add(3, to: "likes", of: a)
      try tx.insert("red", into: "tags", of: a)
      try tx.put(1, at: "k", in: "map", of: a)
      try tx.contribute(5, to: "stars", of: a)
      try tx.set("parent", of: a, to: .reference(Reference(record: "b")))
      try tx.set("title", of: note("b"), to: "Soy milk")
      try tx.set("parent", of: note("holder"), to: .reference(Reference(record: "gone", rule: .cascade)))
      try tx.set("parent", of: note("contested"), to: .reference(Reference(record: "b", rule: .cascade)))
      try tx.set("title", of: note("moved"), to: "Moved")
    }
    return store
  }

  @Test("each verb answers in a write as in the reads before and after it", arguments: steps)
  func beforeAndAfter(_ step: Step) async throws {
    let store = try await makeStore()
    let before = try store.read { try answers($0) }
    let (first, last) = try await store.write { tx in
      let first = try answers(tx)
      try step.run(&tx)
      return (first, try answers(tx))
    }
    check(first, before, "before the write did anything")
    check(last, try store.read { try answers($0) }, "after the write")
    if step.testDescription != "nothing" { #expect(last != before) }
  }

  @Test("each verb answers in a write of many steps as if each were a write")
  func manySteps() async throws {
    let (single, stepwise) = try await (makeStore("single"), makeStore("stepwise"))
    let steps = Self.steps.filter {
      !["creates a record of another type", "moves a record", "deletes a zone, and makes it again"].contains(
        $0.testDescription)
    }
    let after = try await single.write { tx in
      try steps.map { step in
        try step.run(&tx)
        return try tx.records(in: noteZone)
      }
    }
    for (step, found) in zip(steps, after) {
      try await stepwise.write(step.run)
      #expect(try stepwise.read { try $0.records(in: noteZone) } == found, "after “\(step.testDescription)”")
    }
    check(
      try await single.write { try answers($0) }, try single.read { try answers($0) }, "after all steps")
  }

  @Test("a write that throws leaves nothing to read")
  func undone() async throws {
    struct Undone: Error {}
    let store = try await makeStore()
    let before = try store.read { try answers($0) }
    for step in Self.steps {
      await #expect(throws: Undone.self) {
        try await store.write { tx in
          try step.run(&tx)
          _ = try answers(tx)
          throw Undone()
        }
      }
    }
    check(try await store.write { try answers($0) }, before, "in the next write")
  }

  @Test("the table names every public verb")
  func wholeList() throws {
    let list = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let face = try String(contentsOfFile: "/\(list)/HouseTests/PublicFace/EventStore.txt", encoding: .utf8)
    let verbs = face.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("RecordReading: "), let range = line.range(of: "func ") else { return nil }
      return Self.fullName(line[range.upperBound...])
    }
    #expect(verbs.sorted() == ReadingVerb.allCases.map(\.rawValue).sorted())
  }

  /// `name(label:label:)` of a declaration's text.
  private static func fullName(_ text: Substring) -> String {
    var labels = ""
    var label = ""
    var depth = 0
    var isLabel = false
    scanning: for character in text.drop(while: { $0 != "(" }).replacing("->", with: "") {
      switch character {
      case "(", "[", "<":
        depth += 1
        if depth == 1 { (isLabel, label) = (true, "") }
      case ")", "]", ">":
        depth -= 1
        if depth == 0 { break scanning }
      case "," where depth == 1: (isLabel, label) = (true, "")
      case " ", ":":
        if isLabel, !label.isEmpty {
          labels += label + ":"
          isLabel = false
        }
      default: if isLabel { label.append(character) }
      }
    }
    return "\(text.prefix { $0 != "(" && $0 != "<" })(\(labels))"
  }
}
