import Foundation
import Tributary

/// A note whose text several people may edit at once.
struct Note: Model {
  static let type: Name = "note"
  let title = Field<String>("title").indexed
  let text = ProseField("text")
  let tags = SetField<String>("tags")
}

/// Notes in the terminal: a list that follows each change, also those of other processes, and undo.
///
/// `Notes DIRECTORY AUTHOR` reads commands: `add TITLE`, `edit NUMBER TEXT`, `tag NUMBER TAG`, `delete NUMBER`, `undo`,
/// `redo`.
@main
struct Notes {
  static let query = Note.all.sorted(by: \.title)
  let store: Store
  let undoManager: StoreUndoManager

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return print("Notes DIRECTORY AUTHOR") }
    let store = try Store(
      arguments[1], .durable, models: [Note.self], zones: [.synced("notes")], author: arguments[2])
    let notes = Notes(store: store, undoManager: store.undoManager())
    let list = Task { try await notes.follow() }
    while let line = readLine() {
      do {
        try await notes.perform(line.split(separator: " ", maxSplits: 2).map(String.init))
      } catch {
        print("  \(error)")
      }
    }
    list.cancel()
    store.close()
  }

  /// Prints the list, and then what changes.
  func follow() async throws {
    var before: [Row<Note>] = []
    for try await update in store.changes(of: Self.query) {
      for place in update.removed { print("  - \(before[place].title)") }
      for place in update.inserted { print("  + \(line(update.rows, place))") }
      for place in update.updated { print("  ~ \(line(update.rows, place))") }
      before = update.rows
    }
  }

  private func line(_ rows: [Row<Note>], _ place: Int) -> String {
    let (row, tags) = (rows[place], rows[place].tags.sorted().map { "#\($0)" })
    return ([String(place), row.title, row.text] + tags).joined(separator: " ")
  }

  func perform(_ words: [String]) async throws {
    let text = words.dropFirst(2).joined(separator: " ")
    switch words.first {
    case "add":
      let title = words.dropFirst().joined(separator: " ")
      try await write("Add") { tx in _ = try tx.create(Note.self, in: "notes") { $0.title = title } }
    case "edit": try await change(words, "Edit") { $0.text.set(text) }
    case "tag": try await change(words, "Tag") { $0.tags.insert(text) }
    case "delete":
      guard let note = try note(words) else { return }
      try await write("Delete") { tx in try tx.delete(note) }
    case "undo": tell(try await undoManager.undo(), "undo")
    case "redo": tell(try await undoManager.redo(), "redo")
    default: print("  add, edit, tag, delete, undo, redo")
    }
  }

  private func note(_ words: [String]) throws -> Ref<Note>? {
    let rows = try store.fetch(Self.query)
    guard words.count > 1, let place = Int(words[1]), rows.indices.contains(place) else {
      print("  There is no such note.")
      return nil
    }
    return rows[place].id
  }

  private func change(
    _ words: [String], _ label: String, _ body: @escaping @Sendable (borrowing Editor<Note>) -> Void
  ) async throws {
    guard let note = try note(words) else { return }
    try await write(label) { tx in body(tx[note]) }
  }

  private func write(
    _ label: String, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) async throws {
    try await store.write { tx in
      tx.label = label
      try body(&tx)
    }
  }

  private func tell(_ report: UndoReport?, _ verb: String) {
    guard let report else { return print("  There is nothing to \(verb).") }
    for kept in report.kept {
      print("  \(kept.author ?? "Somebody") has changed \(kept.field?.rawValue ?? "it") since.")
    }
  }
}
