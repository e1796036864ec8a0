import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of Undo.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Undo")
struct UndoPage {
  // page
  struct Idea: Model {
    static let type: Name = "idea"
    let title = Field<String>("title")
    let votes = CounterField("votes")
    let tags = SetField<String>("tags")
    let deleted = Field<Date?>("deleted")
  }

  /// A write that takes another one back.
  typealias Undo = @Sendable (inout WriteTransaction) throws -> Void

  func rename(_ idea: Ref<Idea>, to title: String, in store: Store) async throws -> Undo {
    let old = try await store.write { tx in
      tx.label = "Rename"
      let old = tx[idea].title
      tx[idea].title = title
      return old
    }
    return { tx in
      // Somebody has changed it since: leave it alone.
      if tx[idea].title == title { tx[idea].title = old }
    }
  }

  func vote(for idea: Ref<Idea>, in store: Store) async throws -> Undo {
    try await store.write { tx in tx[idea].votes.add(1) }
    return { tx in tx[idea].votes.add(-1) }
  }
  // page end

  // page
  func delete(_ idea: Ref<Idea>, in store: Store) async throws -> Undo {
    try await store.write { tx in tx[idea].deleted = .now }
    return { tx in tx[idea].deleted = nil }
  }

  func ideas(in store: Store) throws -> [Row<Idea>] {
    try store.fetch(Idea.where { $0.deleted == nil }.sorted(by: \.title))
  }

  /// Deletes for good what was deleted before a date.
  func emptyBin(before date: Date, in store: Store) async throws {
    let old = try store.keys(Idea.where { $0.deleted < date })
    try await store.write { tx in for idea in old { try tx.delete(idea) } }
  }
  // page end

  // page
  struct Change {
    var author: String
    var label: String
    var position: Position
  }

  func changes(of idea: Ref<Idea>, in store: Store) throws -> [Change] {
    var changes: [Change] = []
    try store.read { tx in
      try tx.history(record: idea.record) { entry in
        let transaction = entry.transaction
        changes.append(
          Change(
            author: transaction.author ?? "", label: transaction.label ?? "", position: entry.position))
        return true
      }
    }
    return changes
  }

  struct IdeaText: Codable { var title: String, tags: Set<String> }

  func restore(_ idea: Ref<Idea>, to position: Position, in store: Store) async throws {
    let past = try await store.local.snapshot(at: position)
    guard let text = try past.read({ try $0.fetch(idea)?.decode(IdeaText.self) }) else { return }
    try await store.write { tx in
      tx.label = "Restore"
      try tx.update(idea, with: text)
    }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("take writes back, empty a bin, and restore an earlier state")
  func run() async throws {
    let store = try Store(
      directory.path + "/store", .consistent, models: [Idea.self], zones: [.local("ideas")], author: "ann")
    let idea = try await store.write { tx in
      try tx.create(Idea.self, in: "ideas") {
        $0.title = "Boat"
        $0.tags.insert("sea")
      }
    }
    let undoName = try await rename(idea, to: "Ship", in: store)
    let undoVote = try await vote(for: idea, in: store)
    try await store.write(undoVote)
    try await store.write(undoName)
    #expect(try store.fetch(idea)?.title == "Boat" && store.fetch(idea)?.votes == 0)
    try await store.write { tx in tx[idea].title = "Raft" }
    try await store.write(undoName)
    #expect(try store.fetch(idea)?.title == "Raft")

    let undoDelete = try await delete(idea, in: store)
    #expect(try ideas(in: store).isEmpty)
    try await emptyBin(before: .distantPast, in: store)
    try await store.write(undoDelete)
    #expect(try ideas(in: store).map(\.title) == ["Raft"])

    let changes = try changes(of: idea, in: store)
    #expect(changes.count == 8 && changes[1].label == "Rename" && changes[1].author == "ann")
    try await store.write { tx in tx[idea].tags.remove("sea") }
    try await restore(idea, to: changes[1].position, in: store)
    let row = try #require(try store.fetch(idea))
    #expect(row.title == "Ship" && row.tags == ["sea"])
    _ = try await delete(idea, in: store)
    try await emptyBin(before: .distantFuture, in: store)
    #expect(try store.fetch(idea) == nil && store.conflicts(of: idea).isEmpty)
  }
}
