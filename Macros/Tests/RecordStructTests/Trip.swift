// page
import Foundation
import RecordMacro
import Tributary

enum Season: String, FieldValue, Codable { case summer, winter }

struct Stop: Codable, Sendable, Hashable {
  var place: String
  var nights = 1
}

@Record("guide")
struct Guide {
  var name: String
}

@Record("trip")
struct Trip {
  var title = "untitled"
  @Indexed var start: Date
  var season = Season.summer
  var days: Int?
  @Reference(.nullify) var guide: Ref<Guide.Fields>?
  @Merging var likes = 0
  @Merging @Indexed var tags: Set<String> = []
  @Merging var stops: [Stop] = []
  @Merging var notes = ""

  var isLong: Bool { (days ?? 0) > 14 }
}
// page end

// page
func planTrip(in directory: String) async throws -> [Trip] {
  let store = try Store(
    directory, .durable, models: [Guide.Fields.self, Trip.Fields.self], zones: [.synced("trips")])
  defer { store.close() }

  let trip = try await store.write { tx in
    let ann = try tx.create(Guide(name: "Ann"), in: "trips")
    return try tx.create(Trip(start: .now, guide: ann, tags: ["sea"]), in: "trips")
  }

  try await store.write { tx in
    tx[trip].likes.add(1)  // one field
    if var values = try tx.fetch(trip)?.decode(Trip.self) {  // several, as a struct
      values.title = "Lisbon"
      values.stops.append(Stop(place: "Belém"))
      try tx.update(trip, with: values)
    }
  }

  let rows = try store.fetch(Trip.where { $0.tags.contains("sea") }.sorted(by: \.start))
  for row in rows { print(row.title, row.likes, row.stops.count) }
  return try rows.map { try $0.decode(Trip.self) }
}
// page end
