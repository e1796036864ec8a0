internal import OperationFormat

/// Discards zones' logs: purges or resets them. The seal comes first, then the event in the list of zones, and only then do the
/// entries go, from the last one on: see ``DiscardSeal``; then the assets and snapshots. It may be cut short anywhere; who
/// discards the log again in the same way, or opens it again, continues.
struct LogDiscarder: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList
  let appender: LogAppender
  private var entries: LogEntries { appender.entries }

  /// A reset log that stores open again at once is what a reset is for: then what is left is theirs to remove or to use.
  ///
  /// - Parameter removeAssets: removes the assets and snapshots of the log.
  /// - Throws: ``RemoteError`` `zoneUnknown` also if the log was closed for another reason; `later` if it was opened again
  ///   before a purge had removed all, or while assets went: a store may take one as sent that went then.
  func discard(
    _ zone: ZoneID, _ incarnation: IncarnationID, as kind: LogSeal.Kind,
    removeAssets: () async throws(RemoteError) -> Void
  ) async throws(RemoteError) {
    let fate = ZoneFate(kind)
    try await zones.read()
    let listed = try await zones.fate(of: zone, incarnation, checkedAt: 0)
    guard listed == nil || listed == fate else { throw .closed(zone) }
    let seal = try await appender.seal(incarnation, zone, kind)
    guard seal.fate == fate else { throw .closed(zone) }
    try await zones.recordEnd(fate, of: zone, incarnation, sealedAt: seal.offset)
    guard try await removeEntries(of: incarnation, before: seal.offset) else {
      if fate == .reset { return }
      throw madeAgain(zone)
    }
    try await removeAssets()
    if try await entries.isAmended(incarnation, seal.offset) { throw madeAgain(zone) }
  }

  private func madeAgain(_ zone: ZoneID) -> RemoteError {
    RemoteError(
      .later, "a store has made zone “\(zone)” again before all of it was discarded",
      hint: "run the command again: it discards what was sent since, and assets of which only a part is there"
    )
  }

  /// Removes what a discarded log has left.
  ///
  /// - Parameter seal: the offset of its seal.
  /// - Returns: false if the log was opened again meanwhile: then nothing more is removed.
  func removeEntries(
    of incarnation: IncarnationID, before seal: UInt64
  ) async throws(RemoteError) -> Bool {
    let offsets = try await offsets(of: incarnation, before: seal)
    let lastFloor = try await entries.floors.last(of: incarnation)
    if try await entries.isAmended(incarnation, seal) { return false }
    for offset in offsets.reversed() {
      let entry = ObjectName.entry(of: incarnation, offset)
      let amendment = ObjectName.amendment(of: incarnation, offset)
      let (bytes, amended) = try await (read(entry), read(amendment))
      try await objects.delete(entry)
      try await objects.delete(amendment)
      guard try await entries.isAmended(incarnation, seal) else { continue }
      if let amended { _ = try await objects.putIfAbsent(amendment, amended) }
      try await restore(bytes, at: offset, of: incarnation)
      return false
    }
    try await entries.floors.removeAll(of: incarnation, through: lastFloor)
    return true
  }

  /// Undoes the removal of an entry, if the log was opened again in that moment: a store may have put the entry back just
  /// before, and others behind it. One that has not come that far finds what it was to put back.
  private func restore(
    _ bytes: [UInt8]?, at offset: UInt64, of incarnation: IncarnationID
  ) async throws(RemoteError) {
    guard let bytes else { return }
    if offset > 1, try await !entries.exists(incarnation, offset - 1) { return }
    _ = try await objects.putIfAbsent(.entry(of: incarnation, offset), bytes)
  }

  /// The bytes of an entry; nil if it is none.
  private func read(_ entry: ObjectName) async throws(RemoteError) -> [UInt8]? {
    do throws(RemoteError) {
      return try await objects.get(entry, bytesMax: LogObject.bytesMax)
    } catch {
      guard error.ofSegment.isAboutOneObject else { throw error }
      return nil
    }
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
