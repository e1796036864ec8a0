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
    let text = ProseField("text")
  }

  func rename(_ idea: Ref<Idea>, to title: String, in store: Store) async throws {
    try await store.write { tx in
      tx.label = "Rename"
      tx[idea].title = title
    }
  }

  /// What a menu shows.
  func undoTitle(_ undoManager: StoreUndoManager) throws -> String? {
    try undoManager.next.map { "Undo \($0.label ?? "")" }
  }

  func undo(_ undoManager: StoreUndoManager) async throws -> [String] {
    guard let report = try await undoManager.undo() else { return [] }
    return report.kept.map { kept in
      switch kept.reason {
      case .changedSince: "\(kept.author ?? "Somebody") has changed \(kept.field?.rawValue ?? "it") since."
      case .lasting: "\(kept.field?.rawValue ?? "It") cannot be taken back."
      }
    }
  }
  // page end

  // page
  /// Deletes an idea, and returns what takes that back.
  func delete(_ idea: Ref<Idea>, in store: Store) async throws -> Position? {
    let written = try await store.write { tx in
      try tx.delete(idea)
      return tx.written
    }
    return written.transactions.first?.position
  }

  func rejectLastChange(of idea: Ref<Idea>, in store: Store) async throws {
    let mine = try store.history(of: idea, limit: 20).first { $0.transaction.author == "ann" }
    guard let mine else { return }
    do {
      try await store.undo(mine.position)
    } catch let error as StoreError where error.code == .notUndoable {
      // It is taken back already, or it takes another one back.
    }
  }
  // page end

  @Test("a write is taken back, and brought back; what others changed stays")
  func undoes() async throws {
    let directory = TemporaryDirectory()
    let store = try Store(
      directory.path + "/store", .consistent, models: [Idea.self], zones: [.local("ideas")], author: "ann")
    let idea = try await store.write { tx in try tx.create(Idea.self, in: "ideas") { $0.title = "one" } }
    let undoManager = store.undoManager()
    try await rename(idea, to: "two", in: store)
    #expect(try undoTitle(undoManager) == "Undo Rename")
    #expect(try await undo(undoManager) == [])
    #expect(try store.fetch(idea)?.title == "one")
    try await undoManager.redo()
    #expect(try store.fetch(idea)?.title == "two")
    try await store.local.write { tx in
      tx.author = "Bob"
      tx[idea].title = "three"
    }
    #expect(try await undo(undoManager) == ["Bob has changed title since."])
    #expect(try store.fetch(idea)?.title == "three")
    try await store.write { tx in
      tx[idea].votes.add(2)
      tx[idea].text.append("text")
    }
    try await rejectLastChange(of: idea, in: store)
    try await rejectLastChange(of: idea, in: store)
    let row = try store.fetch(idea)
    #expect(row?.votes == 0 && row?.text == "")
    let deletion = try #require(try await delete(idea, in: store))
    try await store.undo(deletion)
    #expect(try store.fetch(idea)?.title == "three")
  }
}
