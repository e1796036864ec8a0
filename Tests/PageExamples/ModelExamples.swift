import Foundation
import StoreTesting
import Testing
import Tributary

// The example of DefiningYourData.md is between the marks: an app author's code, which may use only public API.

// page
struct Item: Codable, Sendable, Hashable {
  var text: String
  var isPacked = false
}

enum Season: String, FieldValue { case summer, winter }

struct Person: Model {
  static let type: Name = "person"
  let name = Field<String>("name")
}

struct Trip: Model {
  static let type: Name = "trip"
  let title = Field<String>("title", formerly: "name", default: "untitled")
  let start = Field<Date>("start")
  let season = Field<Season>("season", default: .summer)
  let guide = Field<Ref<Person>?>("guide", .nullify)
  let guests = SetField<Ref<Person>>("guests", .nullify)
  let likes = CounterField("likes")
  let roles = MapField<String>("roles")
  let luggage = ListField<Item>("luggage")
  let notes = ProseField("notes")
  let stars = ReducedField<Int, Int>("stars", initial: 0) { $0 += $1 }
}
// page end

// page
func planTrip(in directory: String) async throws -> String {
  let store = try Store(
    directory, .durable, models: [Person.self, Trip.self], zones: [.synced("trips")], author: "ann")
  defer { store.close() }
  let trip = try await store.write { tx in
    let ann = try tx.create(Person.self, in: "trips") { $0.name = "Ann" }
    return try tx.create(Trip.self, in: "trips") {
      $0.title = "Lisbon"
      $0.start = .now
      $0.guide = ann
      $0.guests.insert(ann)
      $0.luggage.append(contentsOf: [Item(text: "book"), Item(text: "towel")])
      $0.notes.set("Train at 9.")
    }
  }
  guard let before = try store.fetch(trip) else { return "" }
  let towel = before.luggage[1].id
  try await store.write { tx in
    tx[trip].likes.add(1)
    tx[trip].roles["driver"] = "Ann"
    tx[trip].luggage[id: towel]?.isPacked = true
    tx[trip].luggage.move(id: towel, to: 0)
    tx[trip].notes.set("Train at 10.")  // one character changes, and what others wrote stays
    tx[trip].stars.contribute(5)
  }
  let rows = try store.fetch(Trip.self, in: "trips")
  return rows.map { row in
    "\(row.title), \(row.likes) like, \(row.guests.count) guest, first \(row.luggage[0].text), \(row.notes)"
  }.joined()
}
// page end

// page
struct Media: Model {
  static let type: Name = "media"
  static let submodels: [any Model.Type] = [Photo.self]
  let title = Field<String>("title").indexed
  let taken = Field<Date>("taken")
}

struct Photo: Submodel {
  static let type: Name = "photo"
  let parent = Media()
  let place = Field<String>("place")
}

func photosAndOthers(_ store: Store) async throws -> [String] {
  let photo = try await store.write { tx in
    try tx.create(Photo.self, in: "trips") { ($0.title, $0.place) = ("Harbour", "Lisbon") }
  }
  guard let row = try store.fetch(photo) else { return [] }
  return [row.title, row.place] + (try store.fetch(Media.all).map(\.title))
}
// page end

@Suite("The models of the page")
struct ModelExamples {
  let directory = TemporaryDirectory()

  @Test("are written and read as the page says")
  func areRead() async throws {
    let found = try await planTrip(in: directory.path + "/trips.store")
    #expect(found == "Lisbon, 1 like, 1 guest, first towel, Train at 10.")
    let store = try Store(
      directory.path + "/media.store", .consistent, models: [Media.self], zones: [.local("trips")])
    #expect(try await photosAndOthers(store) == ["Harbour", "Lisbon", "Harbour"])
  }
}
