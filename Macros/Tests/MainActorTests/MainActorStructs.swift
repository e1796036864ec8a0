import Foundation
import RecordMacro
import Testing
import Tributary

@Record("note")
struct Note: Equatable {
  var text: String
  @Merging var tags: Set<String> = []
  static let indexes: [Fields.Index] = [Fields.Index { [$0.text.words] }]
}

@Suite("A struct with @Record in a module whose code is the main actor's")
struct MainActorStructs {
  @Test("is written and read")
  func writtenAndRead() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("note-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let store = try Store(
      directory.path + "/store", .consistent, models: [Note.Fields.self], zones: [.local("notes")])
    defer { store.close() }
    let note = Note(text: "Hello", tags: ["a"])
    let ref = try await store.write { tx in try tx.create(note, in: "notes") }
    #expect(try store.fetch(ref)?.decode(Note.self) == note)
    #expect(try store.keys(Note.where { $0.text.hasWords("hello") }) == [ref])
  }
}
