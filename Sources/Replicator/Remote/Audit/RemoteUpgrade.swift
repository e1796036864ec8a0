package import OperationFormat

/// Gives the entries of a remote of a former version what those of this version have: the chain of their log in their
/// envelopes. No segment changes, and no offset.
///
/// It can be stopped at any time, and continues where it ended: an entry that has a chain is left as it is.
/// Stores may sync meanwhile. A former version cannot read the entries any more: it reports a newer version.
///
/// What follows an entry that cannot be read or was given up stays as it is: stores that had read that entry
/// have another chain there than those that had not.
package struct RemoteUpgrade: Sendable {
  /// What there is to do in a log, or was done.
  package struct Log: Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID
    /// All entries, to the log's end or to the first that stops it.
    package var entries: UInt64 = 0
    /// Those of the former version that get a chain.
    package var former: UInt64 = 0
    /// The first entry that cannot be read, or was given up: it and those after it stay as they are.
    package var stop: UInt64?
  }

  private let remote: ObjectRemote
  private let entries: LogEntries
  private let writes: Bool

  /// - Parameter writes: whether to do it; else it only tells what there is to do.
  package init(_ remote: any LogOfObjects, writes: Bool) {
    self.remote = remote.log
    entries = LogEntries(objects: self.remote.objects)
    self.writes = writes
  }

  /// Goes through all open logs.
  ///
  /// - Parameter progress: called after each entry that was read, with their number.
  /// - Throws: ``RemoteError``; what the closure throws.
  package func run(progress: (UInt64) throws -> Void = { _ in }) async throws -> [Log] {
    var logs: [Log] = []
    var done: UInt64 = 0
    var listed = ListedLogs()
    try await remote.forEachZoneEventPage { page in
      listed.add(page)
      return true
    }
    for open in listed.logs where open.fate == nil {
      var log = Log(zone: open.zone, incarnation: open.incarnation)
      try await upgrade(&log) {
        done += 1
        try progress(done)
      }
      logs.append(log)
    }
    return logs.sorted { ($0.zone, $0.incarnation.description) < ($1.zone, $1.incarnation.description) }
  }

  private func upgrade(_ log: inout Log, _ didRead: () throws -> Void) async throws {
    var chain = LogChain.start(of: log.incarnation)
    while true {
      let offset = log.entries + 1
      let name = ObjectName.entry(of: log.incarnation, offset)
      do throws(RemoteError) {
        guard let bytes = try await remote.objects.get(name, bytesMax: LogObject.bytesMax) else {
          if try await entries.isHole(offset, of: log.incarnation) { log.stop = offset }
          return
        }
        let stored: StoredSegment
        switch try LogObject.read(bytes, name, log.zone, log.incarnation, offset) {
        case .segment(let segment): stored = segment
        case .seal: return
        case .tombstone:
          log.stop = offset
          return
        }
        let link = ChainLink(
          try LogObject.head(of: stored).header.statement.hash, at: offset, stated: stored.chain,
          after: chain, followsTombstone: false)
        guard link.continues, let next = link.chain else {
          log.stop = offset
          return
        }
        chain = next
        if stored.chain == nil {
          if writes { try await write(stored, chain, name) }
          log.former += 1
        }
      } catch {
        guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
        log.stop = offset
        return
      }
      log.entries = offset
      try didRead()
    }
  }

  private func write(
    _ stored: StoredSegment, _ chain: LogChain, _ name: ObjectName
  ) async throws(RemoteError) {
    try await remote.objects.overwrite(
      name,
      SegmentEnvelope.encode(
        offset: stored.offset, receivedMilliseconds: stored.receivedMilliseconds, chain: StatedChain(chain),
        segment: stored.bytes.span.bytes))
  }
}
