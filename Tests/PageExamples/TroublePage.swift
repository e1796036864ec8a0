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
    case .paused(.deleted):
      "This list was deleted on another device. Keep it, or bring it back for everybody?"
    case .paused(.purged): "This list was removed from the server. Keep it, or bring it back for everybody?"
    case .paused(.reset): "This list is to be sent again by a device that may write. Keep it on this device?"
    case .paused(.revoked): "You may not read this list any more. Keep it on this device?"
    }
  }
  // page end

  struct Note: Model {
    static let type: Name = "note"
    let title = Field<String>("title")
    let body = ProseField("body")
  }

  // page
  enum Choice { case keepHere, bringBack, delete }

  func settle(_ zone: ZoneID, _ choice: Choice, in store: Store) async throws {
    try await store.write { tx in
      switch choice {
      case .keepHere: try tx.detachZone(zone)  // a local zone from now on
      case .bringBack:
        try tx.detachZone(zone)
        try tx.attachZone(zone)  // the next round makes it again, for everybody
      case .delete: try tx.deleteZone(zone)
      }
    }
  }
  // page end

  // page
  /// A journal that was deleted on another device stays on this one.
  func journalReplicator(_ store: Store, _ remote: any RemoteLog) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    configuration.zoneEndAnswer = { zone, fate in
      zone.name == "journal" && fate == .deleted ? .detach : fate.standardAnswer
    }
    return LogReplicator(store: store, remote: remote, configuration: configuration)
  }
  // page end

  // page
  /// Moves this device to another remote: after the user has confirmed that the former one is gone.
  func move(_ store: Store, to remote: any RemoteLog) async throws -> SyncReport {
    try await store.local.leaveRemote()
    return try await LogReplicator(store: store, remote: remote).syncOnce()
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

  @Test(
    "a zone that was deleted elsewhere is paused, and the user decides",
    arguments: ["keep", "bring", "delete"])
  func paused(choice: String) async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let ann = try #require(try openStore(in: directory.path + "/a"))
    let bob = try #require(try openStore(in: directory.path + "/b"))
    let (annsReplicator, replicator) = (
      LogReplicator(store: ann, remote: remote), LogReplicator(store: bob, remote: remote)
    )
    let note = try await ann.write { tx in
      try tx.create(Note.self, in: "notes") { ($0.title, _) = ("Tea", $0.body.set("Buy tea")) }
    }
    _ = try await annsReplicator.syncOnce()
    _ = try await replicator.syncOnce()
    try await bob.write { tx in tx[note].title = "Green tea" }
    try await ann.write { tx in try tx.deleteZone("notes") }
    _ = try await annsReplicator.syncOnce()
    let report = try await replicator.syncOnce()
    let zone = try #require(report.zones.first)
    #expect(zone.status == .paused(.deleted))
    #expect(banner(for: zone)?.contains("deleted on another device") == true)
    try await settle(
      "notes", choice == "keep" ? .keepHere : choice == "bring" ? .bringBack : .delete, in: bob)
    #expect(try await replicator.syncOnce().isInSync)
    _ = try await annsReplicator.syncOnce()
    #expect(try bob.fetch(note)?.title == (choice == "delete" ? nil : "Green tea"))
    let isBack = try ann.read { try $0.zones() } == ["notes"]
    #expect(isBack == (choice == "bring"))
    if isBack { #expect(try ann.fetch(note)?.title == "Green tea") }
  }

  @Test("a journal that was deleted elsewhere stays")
  func journal() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let ann = try #require(try openStore(in: directory.path + "/a"))
    let bob = try #require(try openStore(in: directory.path + "/b"))
    try await ann.write { tx in
      for zone: ZoneID in ["journal", "trip"] {
        try tx.createZone(zone)
        try tx.attachZone(zone)
        _ = try tx.create(Note.self, in: zone) { $0.title = "Monday" }
      }
    }
    _ = try await LogReplicator(store: ann, remote: remote).syncOnce()
    _ = try await journalReplicator(bob, remote).syncOnce()
    try await ann.write { tx in for zone: ZoneID in ["journal", "trip"] { try tx.deleteZone(zone) } }
    _ = try await LogReplicator(store: ann, remote: remote).syncOnce()
    _ = try await journalReplicator(bob, remote).syncOnce()
    #expect(try bob.read { try $0.zones() } == ["journal", "notes"])
    #expect(try bob.read { try $0.attachment(of: "journal") } == .local)
  }

  @Test("a remote is lost: both devices move to a new one, and have all that either had")
  func moved() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let ann = try #require(try openStore(in: directory.path + "/a"))
    let bob = try #require(try openStore(in: directory.path + "/b"))
    for (store, title) in [(ann, "Tea"), (bob, "Milk")] {
      _ = try await store.write { tx in try tx.create(Note.self, in: "notes") { $0.title = title } }
      _ = try await LogReplicator(store: store, remote: remote).syncOnce()
    }
    _ = try await ann.write { tx in try tx.create(Note.self, in: "notes") { $0.title = "Salt" } }
    let new = MemoryRemote(identity: RemoteID(rawValue: 2))
    for store in [ann, bob, ann] { #expect(try await move(store, to: new).isInSync) }
    for store in [ann, bob] {
      #expect(try Set(store.fetch(Note.all).map(\.title)) == ["Tea", "Milk", "Salt"])
    }
  }

  @Test("a damaged store is not opened")
  func damaged() async throws {
    let path = directory.path + "/store"
    try #require(try openStore(in: path)).close()
    try FileManager.default.removeItem(atPath: path + "/data.mdb")
    #expect(try openStore(in: path) == nil)
  }
}
