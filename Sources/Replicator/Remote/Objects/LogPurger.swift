internal import OperationFormat

/// Discards zones' logs. The seal comes first, then the event in the list of zones, and only then do the entries go, from the
/// last one on: see ``LogPurge``. It may be cut short anywhere; who purges the log again, or opens it again, continues.
struct LogPurger: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList
  let appender: LogAppender
  private var entries: LogEntries { appender.entries }

  /// - Throws: ``RemoteError`` `zoneUnknown` also if the log was closed for another reason; `later` if it was opened again
  ///   meanwhile.
  func purge(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await zones.read()
    let listed = try await zones.fate(of: zone, incarnation, checkedAt: 0)
    guard listed == nil || listed == .purged else { throw .closed(zone) }
    let seal = try await appender.seal(incarnation, zone, .purged)
    guard seal.fate == .purged else { throw .closed(zone) }
    try await zones.recordEnd(.purged, of: zone, incarnation, sealedAt: seal.offset)
    guard try await removeEntries(of: incarnation, before: seal.offset) else {
      throw RemoteError(
        .later, "zone “\(zone)” was made again while it was purged",
        hint: "what its store has is there again: run the command again if it should go after all")
    }
  }

  /// Removes what a purged log has left.
  ///
  /// - Parameter seal: the offset of its seal.
  /// - Returns: false if the log was opened again meanwhile: then nothing more is removed.
  func removeEntries(
    of incarnation: IncarnationID, before seal: UInt64
  ) async throws(RemoteError) -> Bool {
    for offset in try await offsets(of: incarnation, before: seal).reversed() {
      if try await entries.isAmended(incarnation, seal) { return false }
      try await objects.delete(.entry(of: incarnation, offset))
      try await objects.delete(.amendment(of: incarnation, offset))
    }
    if try await entries.isAmended(incarnation, seal) { return false }
    try await entries.floors.removeAll(of: incarnation)
    return true
  }

  /// The offsets before a seal at which a log has entries, and the missing ones behind each that may have an amendment. The
  /// seal may be any distance behind the last entry.
  private func offsets(
    of incarnation: IncarnationID, before seal: UInt64
  ) async throws(RemoteError) -> [UInt64] {
    var offsets: [UInt64] = []
    var next = try await objects.firstEntry(of: incarnation)
    while let offset = next, offset < seal {
      let name = ObjectName.entry(of: incarnation, offset)
      let isNextThere = try await objects.exists(.entry(of: incarnation, offset + 1))
      next = isNextThere ? offset + 1 : try await objects.nextEntry(after: name)?.offset
      offsets += offset..<min(next ?? seal, seal, offset + ObjectName.entriesInDirectory)
    }
    return offsets
  }
}
