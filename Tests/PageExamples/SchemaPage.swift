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
      let isHard = Field<Bool>("effort")
      let reps = Field<Int>("reps")
      let tags = Field<[String]>("tags")
      let exercises = ListField<Exercise>("exercises")
    }
    // page end
  }

  // page
  enum Effort: String, FieldValue { case easy, hard, extreme }

  struct Exercise: Codable, Sendable {
    var name: String
    var weight = 0
  }

  struct Workout: Model {
    static let type: Name = "workout"
    let name = Field<String>("name", formerly: "title", default: "untitled")
    let minutes = Field<Int>("minutes")
    let effort = Field<Effort>("effort", default: .easy).upcasting(.values([true: "hard", false: "easy"]))
    let reps = CounterField("reps", startingAt: "reps")
    let tags = SetField<String>("tags", startingWith: "tags")
    let exercises = ListField<Exercise>("exercises", filledBy: Exercise(name: ""))
  }

  func openStore(in directory: String) throws -> Store {
    try Store(directory, .durable, models: [Workout.self], zones: [.synced("gym")], schema: 2)
  }
  // page end

  // page
  func tryOut(_ store: Store) async throws {
    let report = try await store.dryRun([Workout.self])
    print("\(report.recordCount) records, \(report.changedCount) fields show another value or name")
    for place in report.undecodable { print("\(place.field) of \(place.record) does not decode") }
    for (type, fields) in report.unread { print("\(type): nothing reads \(fields.keys.sorted())") }
  }
  // page end

  // page
  func requireSecondVersion(_ store: Store) async throws {
    try await store.write { tx in try tx.requireSchema(2, in: "gym") }
  }
  // page end

  // page
  func splitNames(_ store: Store) async throws -> Bool {
    let waiting = try await store.migrate(
      to: 2,
      [
        .records(of: Workout.self) { tx, workout in
          let parts = tx[workout].name.split(separator: ":", maxSplits: 1)
          if parts.count == 2 {
            tx[workout].tags.insert(String(parts[0]))
            tx[workout].name = String(parts[1])
          }
        }
      ])
    return waiting.isEmpty
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("read what the first version wrote, while it continues to write")
  func run() async throws {
    let path = directory.path + "/store"
    var store = try Store(path, .durable, models: [First.Workout.self], zones: [.synced("gym")], schema: 1)
    let first = try await store.write { tx in
      try tx.create(First.Workout.self, in: "gym") {
        $0.title = "Legs"
        $0.isHard = true
        $0.reps = 10
        $0.tags = ["home"]
        $0.exercises.append(First.Exercise(name: "squat"))
      }
    }
    store.close()
    store = try openStore(in: path)
    let workout = Ref<Workout>(first.record)
    var row = try #require(try store.fetch(workout))
    #expect(row.name == "Legs" && row.effort == .hard && row.exercises.map(\.weight) == [0])
    #expect(row.reps == 10 && row.tags == ["home"])
    #expect(try store.count(Workout.where { $0.name == "Legs" && $0.effort == .hard && $0.reps == 10 }) == 1)
    try await tryOut(store)
    try await store.write { tx in
      tx[workout].name = "Legs and back"
      tx[workout].effort = .extreme
      tx[workout].reps.add(2)
      tx[workout].tags.insert("gym")
    }
    store.close()

    // A device with the first version does not see the new name, and its own change shows here.
    store = try Store(path, .durable, models: [First.Workout.self], schema: 1)
    #expect(try store.fetch(first)?.title == "Legs" && store.fetch(first)?.isHard == false)
    try await store.write { tx in
      tx[first].title = "Legs, short"
      tx[first].reps = 20
      tx[first].tags = ["outside"]
    }
    store.close()
    store = try openStore(in: path)
    row = try #require(try store.fetch(workout))
    #expect(row.name == "Legs, short" && row.effort == .extreme && row.reps == 22)
    #expect(row.tags == ["home", "gym", "outside"])

    // What does not decode shows the default, and stays.
    try await store.write { tx in try tx.set("effort", of: workout.record, to: "unknown") }
    #expect(try store.fetch(workout)?.effort == .easy)
    let report = try await store.dryRun([Workout.self])
    #expect(report.undecodable.map(\.field) == ["effort"])
    #expect(try store.read { try $0.value(of: "effort", in: workout.record) } == "unknown")

    try await requireSecondVersion(store)
    store.close()
    store = try Store(path, .durable, models: [First.Workout.self], schema: 1)
    await #expect {
      try await store.write { tx in tx[first].title = "late" }
    } throws: {
      ($0 as? StoreError)?.code == .schemaTooOld
    }
  }

  @Test("a migration waits for a sync, and runs once")
  func migration() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 7))
    let stores = try ["a", "b"].map { try openStore(in: directory.path + "/" + $0) }
    let workout = try await stores[0].write { tx in
      try tx.create(Workout.self, in: "gym") { $0.name = "home: Legs" }
    }
    for round in 0..<3 {
      for store in stores {
        let isDone = try await splitNames(store)
        #expect(isDone == (round == 2) || store === stores[0] && round == 1)
        _ = try await LogReplicator(store: store, remote: remote).syncOnce()
      }
    }
    for store in stores {
      let row = try #require(try store.fetch(workout))
      #expect(row.name == " Legs" && row.tags == ["home"])
    }
  }
}
