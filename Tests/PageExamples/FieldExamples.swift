import EventStore
import StoreTesting
import Testing

// The example of Fields.md is between the marks: an app author's code, which may use only public API.

// page
/// Writes each kind of field of a trip, and reads it again.
func planTrip(_ trip: RecordID, _ tx: inout WriteTransaction) throws -> [String] {
  try tx.create(trip, type: "trip")

  // Registers: the last writer wins.
  try tx.set("title", of: trip, to: "Lisbon")
  try tx.set("nights", of: trip, to: .int(3))

  // A counter: all additions count.
  try tx.add(.int(40), to: "budget", of: trip)
  try tx.add(.int(-15), to: "budget", of: trip)

  // A set: an element that is added and removed at once stays.
  try tx.insert("beach", into: "tags", of: trip)
  try tx.remove("rain", from: "tags", of: trip)

  // A map: a register at each key.
  try tx.put("Ann", at: "driver", in: "roles", of: trip)

  // A list: elements move without duplicates.
  try tx.insertElements(["book", "pack"], at: 0, in: "todo", of: trip)
  try tx.moveElement(from: 1, to: 0, in: "todo", of: trip)

  // A text: several people write in it at once.
  try tx.insertText("Train at 9.", at: 0, in: "notes", of: trip)

  // Contributions: a function of the app reduces them.
  try tx.contribute(.int(5), to: "stars", of: trip)

  return [
    "\(try tx.value(of: "title", in: trip) ?? .null)",
    "\(try tx.value(of: "budget", in: trip) ?? .null)",
    "\(try tx.contains("beach", in: "tags", of: trip))",
    "\(try tx.value(at: "driver", of: "roles", in: trip) ?? .null)",
    "\(try tx.list("todo", of: trip) ?? [])",
    try tx.text(of: "notes", in: trip) ?? "",
    "\(try tx.contributions(of: "stars", in: trip)?.count ?? 0)",
  ]
}
// page end

@Suite("The fields of the page")
struct FieldExamples {
  @Test("read as they were written")
  func read() async throws {
    let directory = TemporaryDirectory()
    let store = try LocalStore(directory: directory.path + "/store", durability: .consistent)
    defer { store.close() }
    let trip = RecordID(zone: ZoneID(name: "trips"), name: "lisbon")
    let shown = try await store.write { tx in
      try tx.createZone(trip.zone)
      return try planTrip(trip, &tx)
    }
    #expect(
      shown == ["\"Lisbon\"", "25", "true", "\"Ann\"", "[\"pack\", \"book\"]", "Train at 9.", "1"])
  }
}
