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
    if let first = try await objects.firstEntry(of: incarnation), first < seal {
      for offset in (first..<seal).reversed() {
        if try await entries.isAmended(incarnation, seal) { return false }
        try await objects.delete(.entry(of: incarnation, offset))
        try await objects.delete(.amendment(of: incarnation, offset))
      }
    }
    if try await entries.isAmended(incarnation, seal) { return false }
    try await entries.floors.removeAll(of: incarnation)
    return true
  }
}
