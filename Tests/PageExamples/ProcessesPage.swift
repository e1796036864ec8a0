import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of AppAndExtension.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page An app and its extension")
struct ProcessesPage {
  // page
  struct Reminder: Model {
    static let type: Name = "reminder"
    let title = Field<String>("title")
    let due = Field<Date>("due").indexed
  }

  /// What every process of the app opens.
  enum AppStore {
    static let models: [any Model.Type] = [Reminder.self]

    static func open(in directory: String) throws -> Store {
      try Store(directory, .durable, models: models, zones: [.synced("reminders")], author: "ann")
    }

    static func openForReading(in directory: String) throws -> Store {
      var configuration = StoreConfiguration()
      configuration.isReadOnly = true
      return try Store(directory, .durable, models: models, configuration: configuration)
    }
  }

  /// The lines of a widget; none before the app has made the store.
  func widgetLines(in directory: String) throws -> [String] {
    do {
      let store = try AppStore.openForReading(in: directory)
      defer { store.close() }
      return try store.fetch(Reminder.all.sorted(by: \.due).limit(3)).map(\.title)
    } catch let error as StoreError where error.code == .notAStore {
      return []
    }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("read what the app wrote, write nothing, and open a store once in a process")
  func run() async throws {
    let path = directory.path + "/store"
    #expect(try widgetLines(in: path) == [])
    let store = try AppStore.open(in: path)
    try await store.write { tx in
      for (index, title) in ["d", "c", "b", "a"].enumerated() {
        try tx.create(Reminder.self, in: "reminders") {
          ($0.title, $0.due) = (title, Date(timeIntervalSince1970: Double(index)))
        }
      }
    }
    let twice = #expect(throws: StoreError.self) { try AppStore.openForReading(in: path) }
    #expect(twice?.code == .alreadyOpen)
    store.close()
    #expect(try widgetLines(in: path) == ["d", "c", "b"])
    let reader = try AppStore.openForReading(in: path)
    let write = await #expect(throws: StoreError.self) {
      try await reader.write { tx in try tx.create(Reminder.self, in: "reminders") }
    }
    #expect(write?.code == .readOnly)
    #expect(try reader.explain(Reminder.all.sorted(by: \.due).limit(3)).index == "reminder: due")
  }
}
