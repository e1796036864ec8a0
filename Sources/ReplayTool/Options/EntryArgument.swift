import EventStore
import OperationFormat
import Replicator

/// An entry of a remote as the user names it: ZONE@OFFSET, INCARNATION@OFFSET if the zone was created more
/// than once, or @OFFSET for an event of the list of zones.
struct EntryArgument {
  private var zone: ZoneID?
  /// The log, if the text before the offset may be an incarnation; it may also be a zone's name.
  private var incarnation: IncarnationID?
  private var offset: UInt64

  init(_ text: String) throws {
    guard let mark = text.lastIndex(of: "@"),
      let offset = UInt64(text[text.index(after: mark)...]), 1...Limits.placeMax ~= offset
    else {
      throw ToolError.input(
        "entryInvalid", "“\(Display.plain(text))” does not name an entry of a remote",
        hint:
          "write it as zone@offset or incarnation@offset, or @offset for an event of the list of zones")
    }
    self.offset = offset
    guard mark > text.startIndex else { return }
    zone = try Inputs.zone(String(text[..<mark]))
    incarnation = IncarnationID(String(text[..<mark]))
  }

  /// Gives the entry up.
  ///
  /// - Returns: its place.
  func giveUp(_ remote: any LogOfObjects, note: String, _ console: Console) async throws -> EntryPlace {
    let names = try await remote.log.objects.list().compactMap(\.name)
    let place = try await place(in: remote, names)
    let last = Self.lastOffset(besides: place, names)
    let now = UInt64(max(0, console.wallMilliseconds()))
    let state: EntryState
    do throws(RemoteError) {
      state = try await remote.log.amendments.quarantine(place, last: last, note: note, milliseconds: now)
    } catch {
      guard error.code == .mismatch else { throw error }
      // The named entry can be read, or does not exist: the remote has no problem there.
      throw ToolError.input("entryInvalid", error.message, hint: error.hint)
    }
    guard case .givenUp = state else {
      throw ToolError(
        "repaired", "meanwhile \(place) was put back: nothing was given up", hint: "sync, and check again")
    }
    return place
  }

  /// The last offset of a place's log that has an entry.
  private static func lastOffset(besides place: EntryPlace, _ names: [ObjectName]) -> UInt64 {
    names.lazy.filter { $0.incarnation == place.log?.incarnation }.compactMap(\.offset).max() ?? 0
  }

  /// Finds the named place. If the zone has several logs, it is in the log where nobody can read that offset.
  /// If all logs can be read there, it is in the open log, or else in the last one.
  private func place(in remote: any LogOfObjects, _ names: [ObjectName]) async throws -> EntryPlace {
    guard let zone else { return EntryPlace(offset: offset) }
    let logs = try await Self.logs(of: remote)
    func place(_ log: AuditedLog) -> EntryPlace {
      EntryPlace(log: EntryPlace.Log(log.zone, log.incarnation), offset: offset)
    }
    if let log = logs.first(where: { $0.incarnation == incarnation }) { return place(log) }
    let lives = logs.filter { $0.zone == zone }
    guard let present = lives.last(where: { $0.fate == nil }) ?? lives.last else {
      throw ToolError.input(
        "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
        hint: "run the command without --quarantine to see the remote's zones")
    }
    guard lives.count > 1 else { return place(present) }
    var lost: [EntryPlace] = []
    for log in lives where try await Self.isLost(place(log), remote, names) { lost.append(place(log)) }
    if lost.count > 1 {
      let entries = lost.map { RemotePage.argument($0, []) }.joined(separator: ", ")
      throw ToolError.input(
        "entryInvalid",
        "the zone “\(Display.zone(zone))” was created more than once, and offset \(offset) of more than one of its logs cannot "
          + "be read",
        hint: "name the log: --quarantine with one of \(entries)")
    }
    return lost.first ?? place(present)
  }

  /// Whether nobody can read an entry of a log, and no tombstone replaces it.
  private static func isLost(
    _ place: EntryPlace, _ remote: any LogOfObjects, _ names: [ObjectName]
  ) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      switch try await remote.log.amendments.state(of: place) {
      case .unreadable: return try await remote.log.amendments.amendment(of: place) == nil
      case .hole: return true
      case .end: return place.offset < lastOffset(besides: place, names)
      case .readable, .givenUp, .newer: return false
      }
    } catch {
      switch error.code {
      // The tombstone that replaces it is damaged too.
      case .damaged, .damagedSegment: return true
      // Others may be able to read it.
      case .denied: return false
      default: throw error
      }
    }
  }

  /// The logs in the list of zones.
  private static func logs(of remote: any LogOfObjects) async throws(RemoteError) -> [AuditedLog] {
    var listed = ListedLogs()
    try await remote.forEachZoneEventPage { page in
      listed.add(page)
      return true
    }
    return listed.logs
  }
}
