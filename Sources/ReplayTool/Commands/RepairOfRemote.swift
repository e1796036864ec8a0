import ArgumentParser
import EventStore
import Replicator

/// Puts back what a remote lost and a store has.
struct RepairOfRemote {
  var store: String
  var zone: ZoneID?

  /// Opens the remote. First restores the marker, which identifies the remote, if it is missing or damaged.
  ///
  /// - Returns: the remote, and whether the marker was restored.
  func open(
    _ address: RemoteAddress, _ console: Console
  ) async throws -> (any LogOfObjects, isMarkerPutBack: Bool) {
    let remote = try address.withObjects(isReadOnly: false, console)
    do throws(RemoteError) {
      try await remote.log.check()
      return (remote, false)
    } catch {
      guard error.code == .notARemote || error.code == .damaged else { throw error }
      let opened = try StoreOptions.parse([store]).openForReading(console)
      defer { opened.close() }
      guard let token = try opened.syncState().databaseToken else { throw error }
      let logs = try opened.read { try $0.remoteLogs().map(\.incarnation) }
      try await remote.log.putMarkerBack(token.remote, logs: logs)
      try await remote.log.check()
      return (remote, true)
    }
  }

  func run(_ remote: any LogOfObjects, _ console: Console) async throws -> RepairedRemote {
    let opened = try StoreOptions.parse([store]).openForReading(console)
    defer { opened.close() }
    var made: [String] = []
    if let token = try opened.syncState().databaseToken {
      guard token.remote == (try await remote.identity()) else {
        throw ToolError.input(
          "remoteChanged", "“\(Display.plain(store))” is synced with another remote, \(token.remote)",
          hint: "give a store of this remote")
      }
      made = try await (remote as? FolderRemote)?.objects.makeMissingFolders(of: token.remote) ?? []
    }
    var repair = RemoteRepair(remote, from: opened, zone: zone)
    try await repair.addReadEvents()
    var audit = try await RemoteAudit(of: remote, zone: zone, objects: try await remote.log.objects.list())
    if !audit.unreadableEvents.isEmpty {
      try await repair.repairEvents(audit.unreadableEvents)
    }
    try await repair.addLostEvents()
    try await repair.repairSnapshots(audit)
    if !repair.steps.isEmpty || repair.snapshots.contains(where: { $0.outcome == .putBack }) {
      audit = try await RemoteAudit(of: remote, zone: zone, objects: try await remote.log.objects.list())
      // What was put back may say of which log the others are.
      try await repair.repairSnapshots(audit)
    }
    try await repair.repairLogs(audit)
    try await repair.repairManifests(audit)
    return RepairedRemote(
      made: made.map { "\($0)/" } + repair.manifests.map(\.description), steps: repair.steps,
      snapshots: repair.snapshots, rereading: try await repair.rereading())
  }
}
