import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// An entry of a remote as the user names it: ZONE@OFFSET, or @OFFSET for an event of the list of zones.
struct EntryArgument {
  var zone: ZoneID?
  var offset: UInt64

  init(_ text: String) throws {
    guard let mark = text.lastIndex(of: "@"),
      let offset = UInt64(text[text.index(after: mark)...]), 1...Limits.placeMax ~= offset
    else {
      throw ToolError.input(
        "entryInvalid", "“\(Display.plain(text))” names no entry of a remote",
        hint: "write it as zone@offset, or @offset for an event of the list of zones")
    }
    self.offset = offset
    zone = mark == text.startIndex ? nil : try Inputs.zone(String(text[..<mark]))
  }

  /// Gives the entry up.
  func giveUp(_ remote: FolderRemote, note: String, _ console: Console) async throws {
    var log: EntryPlace.Log?
    if let zone { log = EntryPlace.Log(zone, try await incarnation(of: zone, remote)) }
    let place = EntryPlace(log: log, offset: offset)
    let last = try await remote.objects.list().lazy.compactMap(\.name)
      .filter { $0.incarnation == log?.incarnation }.compactMap(\.offset).max()
    let now = UInt64(max(0, console.wallMilliseconds()))
    let state: EntryState
    do throws(RemoteError) {
      state = try await remote.log.quarantine(place, last: last ?? 0, note: note, milliseconds: now)
    } catch {
      guard error.code == .mismatch else { throw error }
      // The entry that was named can be read, or is none: nothing is wrong with the remote.
      throw ToolError.input("entryInvalid", error.message, hint: error.hint)
    }
    guard case .givenUp = state else {
      throw ToolError(
        "repaired", "\(place) was put back meanwhile: nothing was given up", hint: "sync, and look again")
    }
  }

  /// The log of a zone: the open one, or the last.
  private func incarnation(of zone: ZoneID, _ remote: FolderRemote) async throws -> IncarnationID {
    var found: IncarnationID?
    var closed: Set<IncarnationID> = []
    var token: DatabaseToken?
    var hasMore = true
    while hasMore {
      let page = try await remote.zoneEvents(after: token)
      for event in page.events + page.later where event.zone == zone {
        switch event.kind {
        case .created, .reset:
          if found.map(closed.contains) ?? true || event.kind == .reset { found = event.incarnation }
        case .deleted, .purged: closed.insert(event.incarnation)
        default: break
        }
      }
      (token, hasMore) = (page.token, page.hasMore)
    }
    guard let found else {
      throw ToolError.input(
        "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
        hint: "run it without --quarantine to see the zones that are there")
    }
    return found
  }
}

/// Puts back what a store has of what a remote lost.
struct RepairOfRemote {
  var store: String
  var zone: ZoneID?

  /// Opens the remote. What says which one it is, is put back first where it is missing or damaged.
  ///
  /// - Returns: the remote, and whether that was so.
  func open(_ directory: String, _ console: Console) async throws -> (FolderRemote, isMarkerPutBack: Bool) {
    do throws(RemoteError) {
      return (try await FolderRemote(directory: directory), false)
    } catch {
      guard error.code == .notARemote || error.code == .damaged else { throw error }
      let opened = try StoreOptions.parse([store]).openForReading(console)
      defer { opened.close() }
      guard let token = try opened.syncState().databaseToken else { throw error }
      let logs = try opened.read { try $0.remoteLogs().map(\.incarnation) }
      let objects = FolderObjects(directory: directory, makeRandom: SystemEnvironment.makeRandom)
      try await FolderRemote(objects).log.putMarkerBack(token.remote, logs: logs)
      return (try await FolderRemote(directory: directory), true)
    }
  }

  /// - Returns: the folders that were lost and were made again, and what was done besides.
  func run(
    _ remote: FolderRemote, _ console: Console
  ) async throws -> (made: [String], steps: [RemoteRepair.Step]) {
    let opened = try StoreOptions.parse([store]).openForReading(console)
    defer { opened.close() }
    var made: [String] = []
    if let token = try opened.syncState().databaseToken {
      guard token.remote == (try await remote.identity()) else {
        throw ToolError.input(
          "remoteChanged", "“\(Display.plain(store))” was synced with another remote, \(token.remote)",
          hint: "name a store of this remote")
      }
      made = try await remote.objects.makeMissingFolders(of: token.remote)
    }
    var repair = RemoteRepair(remote, from: opened, zone: zone)
    var audit = try await RemoteAudit(of: remote, zone: zone, objects: try await remote.objects.list())
    if !audit.unreadableEvents.isEmpty {
      try await repair.repairEvents(audit.unreadableEvents)
    }
    try await repair.addLostEvents()
    if !repair.steps.isEmpty {
      audit = try await RemoteAudit(of: remote, zone: zone, objects: try await remote.objects.list())
    }
    try await repair.repairLogs(audit)
    return (made, repair.steps)
  }
}
