import Foundation
import StoreTesting
import Testing
import Tributary

// The example of WhichKindOfField.md is between the marks: an app author's code, which may use only public API.

@Suite("The example of the page Which kind of field")
struct FieldChoicePage {
  // page
  struct Cook: Model {
    static let type: Name = "cook"
    let name = Field<String>("name")
  }

  struct Step: Codable, Sendable, Hashable {
    var text: String
    var minutes: Int?
  }

  struct Recipe: Model {
    static let type: Name = "recipe"
    let title = Field<String>("title")
    let servings = Field<Int?>("servings")
    let cooked = CounterField("cooked")
    let cost = DecimalCounterField("cost")
    let tags = SetField<String>("tags")
    let titles = MapField<String>("titles")  // by language
    let steps = ListField<Step>("steps")
    let notes = ProseField("notes")
    let best = ReducedField<Int, Int>("best", initial: 0) { $0 = max($0, $1) }
    let author = Field<Ref<Cook>?>("author", .nullify)
    let photo = Field<AssetReference?>("photo")
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("two devices change each field at once, and show what the table says")
  func concurrentChanges() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    func open(_ name: String) throws -> Store {
      try Store(
        directory.path + "/" + name, .consistent, models: [Cook.self, Recipe.self],
        zones: [.synced("kitchen")])
    }
    let (ann, bob) = (try open("a"), try open("b"))
    func sync() async throws {
      for store in [ann, bob, ann] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    let recipe = try await ann.write { tx in
      let cook = try tx.create(Cook.self, in: "kitchen")
      return try tx.create(Recipe.self, in: "kitchen") {
        $0.title = "Soup"
        $0.tags.insert("warm")
        $0.steps.append(contentsOf: [Step(text: "cut"), Step(text: "cook")])
        $0.notes.set("Add salt.")
        $0.author = cook
      }
    }
    try await sync()
    let steps = try #require(try bob.fetch(recipe)).steps
    try await ann.write { tx in
      let recipe = tx[recipe]
      recipe.title = "Stew"
      recipe.cooked.add(1)
      recipe.cost.add(DecimalNumber("0.10")!)
      recipe.tags.remove("warm")
      recipe.tags.insert("cheap")
      recipe.titles["fr"] = "Soupe"
      recipe.steps.move(id: steps[1].id, to: 0)
      recipe.notes.set("Add no salt.")
      recipe.best.contribute(3)
    }
    try await bob.write { tx in
      let recipe = tx[recipe]
      recipe.title = "Broth"
      recipe.cooked.add(2)
      recipe.cost.add(DecimalNumber("0.20")!)
      recipe.tags.insert("warm")
      recipe.titles["de"] = "Suppe"
      recipe.steps[id: steps[1].id]?.minutes = 20
      recipe.notes.append(" And pepper.")
      recipe.best.contribute(5)
    }
    try await sync()
    for store in [ann, bob] {
      let row = try #require(try store.fetch(recipe))
      #expect(["Stew", "Broth"].contains(row.title) && row.cooked == 3 && row.cost == DecimalNumber("0.30"))
      #expect(row.tags == ["warm", "cheap"] && row.titles == ["fr": "Soupe", "de": "Suppe"])
      #expect(row.steps.map(\.value) == [Step(text: "cook", minutes: 20), Step(text: "cut")])
      #expect(row.notes == "Add no salt. And pepper." && row.best == 5)
      #expect(try store.conflicts(of: recipe).map(\.field) == ["title"])
    }
    #expect(try ann.fetch(recipe)?.title == bob.fetch(recipe)?.title)
  }
}
