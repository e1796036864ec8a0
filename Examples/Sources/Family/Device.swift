import Tributary

/// One device of the family: a store of its own, and a replicator.
struct Device {
  static let zone: ZoneID = "family"

  let name: String
  let store: Store
  let replicator: LogReplicator

  init(_ name: String, in directory: String, remote: FolderRemote) throws {
    self.name = name
    store = try Store(
      "\(directory)/\(name).store", .durable,
      models: [Post.self, Tag.self, Attachment.self, Event.self, Member.self, Movie.self],
      zones: [.synced(Self.zone)], author: name)
    replicator = LogReplicator(store: store, remote: remote)
  }

  /// Sends what is new here, and receives what is new there. An app calls `replicator.run()` instead.
  func sync() async throws {
    let report = try await replicator.syncOnce()
    print("\(name) syncs: sent \(report.sent), received \(report.received), conflicts \(report.conflicts)")
  }

  /// All that the device shows.
  func screen() throws -> [String] {
    ["Journal"] + (try PostScreen.lines(of: store)) + ["Agenda"] + (try AgendaScreen.lines(of: store))
      + ["Movies"] + (try MovieScreen.lines(of: store))
  }

  func show() throws {
    print("\n\(name) shows")
    for line in try screen() { print("  \(line)") }
    print()
  }
}
