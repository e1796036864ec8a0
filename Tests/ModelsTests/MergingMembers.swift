import Foundation
import StoreTesting
import Testing
import Tributary

private struct Chore: Model {
  static let type: Name = "chore"
  struct Step: Codable, Hashable, Sendable {
    var text: String
    var done = false
    var note: String?
  }
  let steps = ListField<Step>("steps").mergingMembers.indexed
}

/// A later version of the app, whose elements have one member more.
private struct LaterChore: Model {
  static let type: Name = "chore"
  struct Step: Codable, Hashable, Sendable {
    var text: String
    var done = false
    var color = "red"
  }
  let steps = ListField<Step>("steps", filledBy: Step(text: "")).mergingMembers
}

@Suite("Elements whose members merge")
struct MergingMembers {
  let directory = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func store(_ name: String, _ model: any Model.Type = Chore.self) throws -> Store {
    try Store(directory.path + "/" + name, .consistent, models: [model], zones: [.synced("z")])
  }

  private func sync(_ stores: Store...) async throws {
    for _ in 0..<2 {
      for store in stores { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
  }

  @Test(
    "keep what two devices changed of one element; queries and indexes see it; removed ones leave nothing")
  func merge() async throws {
    let (a, b) = (try store("a"), try store("b"))
    let chore = try await a.write { tx in
      try tx.create(Chore.self, in: "z") {
        $0.steps.append(contentsOf: [Chore.Step(text: "milk"), Chore.Step(text: "eggs", note: "six")])
      }
    }
    try await sync(a, b)
    let milk = try #require(try a.fetch(chore)?.steps.first?.id)
    let eggs = try #require(try a.fetch(chore)?.steps.last?.id)
    try await a.write { tx in
      tx[chore].steps[id: milk]?.done = true
      tx[chore].steps[id: eggs]?.note = nil
      #expect(tx[chore].steps[id: milk]?.done == true)
    }
    try await b.write { tx in
      tx[chore].steps[id: milk]?.text = "oat milk"
      tx[chore].steps[id: eggs]?.done = true
    }
    try await sync(a, b)
    for store in [a, b] {
      let steps = try #require(try store.fetch(chore)?.steps)
      #expect(
        steps.map(\.value) == [
          Chore.Step(text: "oat milk", done: true), Chore.Step(text: "eggs", done: true),
        ])
      #expect(
        try store.count(Chore.where { $0.steps.any { $0["text"] == "oat milk" && $0["done"] == true } }) == 1)
      #expect(try store.count(Chore.where { $0.steps.any { $0["text"] == "milk" } }) == 0)
      let eggs = Chore.Step(text: "eggs", done: true)
      #expect(try store.count(Chore.where { $0.steps.contains(eggs) }) == 1)
      #expect(try store.explain(Chore.where { $0.steps.contains(eggs) }).index != nil)
      #expect(try store.local.verify().problems == [])
      #expect(try store.conflicts(of: chore) == [])
    }

    // A struct that is written back changes members, and not the elements.
    struct Shown: Codable {
      var steps: [Chore.Step]
    }
    var shown = try #require(try a.fetch(chore)).decode(Shown.self)
    shown.steps[0].note = "cold"
    shown.steps.append(Chore.Step(text: "bread"))
    try await a.write { [shown] tx in try tx.update(chore, with: shown) }
    try await b.write { tx in tx[chore].steps[id: milk]?.done = false }
    try await sync(a, b)
    for store in [a, b] {
      let steps = try #require(try store.fetch(chore)?.steps)
      #expect(steps.map(\.text) == ["oat milk", "eggs", "bread"] && steps[0].id == milk)
      #expect(steps[0].value == Chore.Step(text: "oat milk", done: false, note: "cold"))
    }

    try await a.write { tx in
      tx[chore].steps.remove(id: milk)
      tx[chore].steps.remove(at: 0)
    }
    #expect(try a.fetch(chore)?.steps.map(\.text) == ["bread"])
    #expect(try a.read { try $0.entries(of: "steps", in: chore.record) } ?? [:] == [:])
  }

  @Test("keep members that a later version of the app wrote")
  func versions() async throws {
    let (old, new) = (try store("old"), try store("new", LaterChore.self))
    let chore = try await old.write { tx in
      try tx.create(Chore.self, in: "z") { $0.steps.append(Chore.Step(text: "milk", note: "cold")) }
    }
    try await sync(old, new)
    let later = Ref<LaterChore>(chore.record)
    let milk = try #require(try new.fetch(later)?.steps.first)
    #expect(milk.color == "red")
    try await new.write { $0[later].steps[id: milk.id]?.color = "blue" }
    try await sync(new, old)
    try await old.write { $0[chore].steps[id: milk.id]?.done = true }
    try await sync(old, new)
    #expect(
      try new.fetch(later)?.steps.map(\.value) == [LaterChore.Step(text: "milk", done: true, color: "blue")])
    #expect(try old.fetch(chore)?.steps.map(\.value) == [Chore.Step(text: "milk", done: true, note: "cold")])
  }
}
