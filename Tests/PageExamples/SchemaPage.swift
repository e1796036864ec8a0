import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of SchemaChanges.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Schema changes")
struct SchemaPage {
  enum First {
    // page
    struct Exercise: Codable, Sendable {
      var name: String
    }

    struct Workout: Model {
      static let type: Name = "workout"
      let title = Field<String>("title")
      let minutes = Field<Int>("minutes")
      let exercises = ListField<Exercise>("exercises")
    }
    // page end
  }

  // page
  enum Effort: String, FieldValue { case easy, hard }

  struct Exercise: Codable, Sendable {
    var name: String
    var weight: Int?  // optional: elements of the first version do not have it
  }

  struct Workout: Model {
    static let type: Name = "workout"
    let name = Field<String>("name", formerly: "title", default: "untitled")
    let minutes = Field<Int>("minutes")
    let effort = Field<Effort>("effort", default: .easy)
    let exercises = ListField<Exercise>("exercises")
  }

  func openStore(in directory: String) throws -> Store {
    try Store(directory, .durable, models: [Workout.self], zones: [.synced("gym")], schema: 2)
  }
  // page end

  // page
  /// The newest version of the app that wrote to a zone.
  func newestSchema(in zone: ZoneID, of store: Store) throws -> UInt64 {
    var newest: UInt64 = 0
    try store.read { tx in
      try tx.history(zone: zone) { entry in
        newest = max(newest, entry.transaction.schemaVersion ?? 0)
        return true
      }
    }
    return newest
  }
  // page end

  struct Stricter: Codable, Sendable {
    var name: String
    var weight = 0
  }

  struct StrictWorkout: Model {
    static let type: Name = "workout"
    let exercises = ListField<Stricter>("exercises")
  }

  struct CountedWorkout: Model {
    static let type: Name = "workout"
    let minutes = CounterField("minutes")
  }

  let directory = TemporaryDirectory()

  @Test("read what the first version wrote, while it continues to write")
  func run() async throws {
    let path = directory.path + "/store"
    var store = try Store(path, .durable, models: [First.Workout.self], zones: [.synced("gym")], schema: 1)
    let first = try await store.write { tx in
      try tx.create(First.Workout.self, in: "gym") {
        $0.title = "Legs"
        $0.exercises.append(First.Exercise(name: "squat"))
      }
    }
    store.close()
    store = try openStore(in: path)
    let workout = Ref<Workout>(first.record)
    var row = try #require(try store.fetch(workout))
    #expect(row.name == "Legs" && row.effort == .easy && row.exercises.map(\.weight) == [nil])
    #expect(try store.count(Workout.where { $0.name == "Legs" }) == 1)
    try await store.write { tx in
      tx[workout].name = "Legs and back"
      tx[workout].effort = .hard
    }
    // A device with the first version does not see the new name, and its own change shows here.
    #expect(try store.fetch(first)?.title == "Legs")
    try await store.write { tx in tx[first].title = "Legs, short" }
    row = try #require(try store.fetch(workout))
    #expect(row.name == "Legs, short" && row.effort == .hard)
    #expect(try newestSchema(in: "gym", of: store) == 2)

    // What does not decode shows the default, and stays.
    try await store.write { tx in try tx.set("effort", of: workout.record, to: "extreme") }
    #expect(try store.fetch(workout)?.effort == .easy)
    #expect(try store.read { try $0.value(of: "effort", in: workout.record) } == "extreme")

    // The traps of the page: a property that old elements do not have, and another kind under the same name.
    #expect(try store.fetch(Ref<StrictWorkout>(workout.record))?.exercises.isEmpty == true)
    try await store.write { tx in tx[workout].minutes = 30 }
    try await store.write { tx in tx[Ref<CountedWorkout>(workout.record)].minutes.add(5) }
    #expect(try store.fetch(workout)?.minutes == 30)
    #expect(try store.fetch(Ref<CountedWorkout>(workout.record))?.minutes == 5)
  }
}
