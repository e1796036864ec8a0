import StoreTesting
import Testing
import Tributary

private struct Cook: Model {
  static let type: Name = "cook"
  let name = Field<String>("name", default: "")
}

private struct Recipe: Model {
  static let type: Name = "recipe"
  let title = Field<String>("title", default: "")
  let author = Field<Ref<Cook>?>("author", .nullify)
  let friend = Field<Ref<Cook>?>("friend")
  static let indexes: [Index] = [Index { [$0.author] }]
}

private struct Step: Model {
  static let type: Name = "step"
  let owner = Field<Ref<Cook>?>("owner", .cascade)
}

@Suite("Refs to records that moved")
struct RefsToMovedRecords {
  let directory = TemporaryDirectory()

  private struct Values: Encodable { var name: String }

  private func open() throws -> Store {
    try Store(
      directory.path + "/store", .consistent, models: [Cook.self, Recipe.self, Step.self],
      zones: [.synced("home"), .synced("club"), .synced("past")])
  }

  @Test("fetch, queries and rules follow them; contains and edits stay where a ref is")
  func followed() async throws {
    let store = try open()
    let (cook, recipe, step) = try await store.write { tx in
      let cook = try tx.create(Cook.self, in: "home") { $0.name = "Ann" }
      let recipe = try tx.create(Recipe.self, in: "home") {
        $0.author = cook
        $0.friend = cook
      }
      return (cook, recipe, try tx.create(Step.self, in: "home") { $0.owner = cook })
    }
    var place = cook
    for zone in ["club", "past"] as [ZoneID] {
      let last = place
      place = try await store.write { try $0.move(last, to: zone) }
      #expect(place == Ref(in: zone, cook.name))
      let row = try #require(try store.fetch(cook))
      #expect(row.id == place && row.name == "Ann")
      #expect(try store.fetch(last)?.id == place)
      let found = try #require(try store.fetch(recipe))
      #expect(found.author == cook && found.friend == cook)
      #expect(try store.fetch(step) != nil)
      #expect(try store.keys(Recipe.where { $0.author.name == "Ann" }) == [recipe])
      #expect(try store.keys(Recipe.where { $0.friend.name == "Ann" }) == [recipe])
      #expect(try store.keys(Recipe.where { $0.author == cook }) == [recipe])
      let places = try store.read { try [$0.current(cook), $0.current(last)] }
      #expect(places == [place, place])
      let isThere = try store.read { try [$0.contains(cook), $0.contains(place)] }
      #expect(isThere == [false, true])
    }
    await #expect(throws: StoreError.self) { try await store.write { $0[cook].name = "Bob" } }
    await #expect(throws: StoreError.self) {
      try await store.write { try $0.update(cook, with: Values(name: "Bob")) }
    }
    try await store.write { tx in
      let now = try #require(try tx.current(cook))
      tx[now].name = "Bob"
    }
    #expect(try store.fetch(cook)?.name == "Bob")
    let last = place
    try await store.write { try $0.delete(last) }
    #expect(try store.fetch(cook) == nil && store.fetch(step) == nil)
    #expect(try store.read { try $0.current(cook) } == nil)
    let found = try #require(try store.fetch(recipe))
    #expect(found.author == nil && found.friend == cook)
    let (authored, friends) = (Recipe.where { $0.author == cook }, Recipe.where { $0.friend.name == "Bob" })
    #expect(try store.keys(authored) == [] && store.keys(friends) == [])
  }

  @Test("a screen of a record follows it, and is told of its changes there")
  func observed() async throws {
    let store = try open()
    let cook = try await store.write { try $0.create(Cook.self, in: "home") { $0.name = "Ann" } }
    var names = store.values { try $0.fetch(cook).map { "\($0.id.zone) \($0.name)" } }.makeAsyncIterator()
    #expect(try await names.next() == "home Ann")
    let moved = try await store.write { try $0.move(cook, to: "club") }
    #expect(try await names.next() == "club Ann")
    try await store.write { $0[moved].name = "Bob" }
    #expect(try await names.next() == "club Bob")
    try await store.write { try $0.delete(moved) }
    let last = try await names.next()
    #expect(last == .some(nil))
  }
}
