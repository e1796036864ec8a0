import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of WhatToDoWhen.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page What to do when")
struct TroublePage {
  // page
  /// What to show above the list of a zone; nil if all is well.
  func banner(for zone: ZoneReport) -> String? {
    switch zone.status {
    case .inSync, .unchanged, .local, .unfinished, .removed: nil
    case .forked: "This device continues a copy or a backup. Its changes are sent as soon as they can be."
    case .parked(_, let failure): "Changes of others wait. \(failure.message). \(failure.hint)."
    case .failed(let failure): "Not synced. \(failure.message). \(failure.hint)."
    case .paused(.revoked): "You may not read this list any more. Keep a copy of it?"
    case .paused: "This list was deleted on another device. Keep a copy of it?"
    }
  }
  // page end

  // page
  struct Note: Model {
    static let type: Name = "note"
    let title = Field<String>("title")
    let body = ProseField("body")
  }

  struct NoteText: Codable { var title: String, body: String }

  func keepCopy(of zone: ZoneID, as copy: ZoneID, in store: Store) async throws {
    try await store.write { tx in
      try tx.createZone(copy)
      try tx.attachZone(copy)
      for note in try tx.fetch(Note.self, in: zone) {
        let new = try tx.create(Note.self, in: copy, named: note.id.name)
        try tx.update(new, with: note.decode(NoteText.self))
      }
      try tx.deleteZone(zone)
    }
  }
  // page end

  // page
  func openStore(in directory: String) throws -> Store? {
    do {
      return try Store(directory, .durable, models: [Note.self], zones: [.synced("notes")])
    } catch let error as StoreError {
      switch error.code {
      case .damaged: print("Keep a copy of the directory, and contact us.", error.hint)
      case .newerFormat: print("Please update the app.")
      case .full: print("The disk is full.")
      case .accessDenied, .readOnly: print("The app may not write to \(directory).")
      default: print(error.localizedDescription, error.recoverySuggestion ?? "")
      }
      return nil
    }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("a zone that was deleted elsewhere is paused, and a copy of it is kept")
  func paused() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let ann = try #require(try openStore(in: directory.path + "/a"))
    let bob = try #require(try openStore(in: directory.path + "/b"))
    let replicator = LogReplicator(store: bob, remote: remote)
    let note = try await ann.write { tx in
      try tx.create(Note.self, in: "notes") { ($0.title, _) = ("Tea", $0.body.set("Buy tea")) }
    }
    _ = try await LogReplicator(store: ann, remote: remote).syncOnce()
    _ = try await replicator.syncOnce()
    try await bob.write { tx in tx[note].title = "Green tea" }
    try await ann.write { tx in try tx.deleteZone("notes") }
    _ = try await LogReplicator(store: ann, remote: remote).syncOnce()
    let report = try await replicator.syncOnce()
    let zone = try #require(report.zones.first)
    #expect(zone.status == .paused(.deleted))
    #expect(banner(for: zone)?.contains("deleted on another device") == true)
    try await keepCopy(of: "notes", as: "notes 2", in: bob)
    #expect(try await replicator.syncOnce().isInSync)
    let carol = try #require(try openStore(in: directory.path + "/c"))
    _ = try await LogReplicator(store: carol, remote: remote).syncOnce()
    let copy = try #require(try carol.fetch(Ref<Note>(in: "notes 2", note.name)))
    #expect(copy.title == "Green tea" && copy.body == "Buy tea")
  }

  @Test("a damaged store is not opened")
  func damaged() async throws {
    let path = directory.path + "/store"
    try #require(try openStore(in: path)).close()
    try FileManager.default.removeItem(atPath: path + "/data.mdb")
    #expect(try openStore(in: path) == nil)
  }
}
