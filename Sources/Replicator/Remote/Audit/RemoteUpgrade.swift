package import OperationFormat

/// Gives the entries of a remote of a former version what those of this version have: the chain of their log in
/// their envelopes. No segment changes, and no offset.
///
/// It can be stopped at any time, and continues where it ended: an entry that has a chain is left as it is.
/// Stores may sync meanwhile. A former version cannot read the entries any more: it reports a newer version.
///
/// What follows an entry that cannot be read or was given up stays as it is: stores that had read that entry
/// have another chain there than those that had not.
package struct RemoteUpgrade: Sendable {
  /// What there is to do, or was done.
  package struct Report: Sendable {
    package var logs: [Log] = []
    /// Events of the list of zones that cannot be read: the logs that they name were not found.
    package var listProblems: [ZoneListProblem] = []
  }

  /// What there is to do in a log, or was done.
  package struct Log: Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID
    /// All entries, to the log's end or to the first that stops it.
    package var entries: UInt64 = 0
    /// Those without a chain, which get it: of a former version, or appended after one that could not be read.
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
  /// - Parameter progress: called after each entry and each page of the list that was read, with the number of
  ///   entries.
  /// - Throws: ``RemoteError``; what the closure throws.
  package func run(progress: (UInt64) throws -> Void = { _ in }) async throws -> Report {
    var report = Report()
    var done: UInt64 = 0
    var listed = ListedLogs()
    var token: DatabaseToken?
    while true {
      let page = try await remote.zoneEvents(after: token)
      listed.add(page)
      report.listProblems += page.problems
      try progress(done)
      if !page.hasMore || page.token == token { break }
      token = page.token
    }
    for open in listed.logs where open.fate == nil {
      var log = Log(zone: open.zone, incarnation: open.incarnation)
      do {
        try await upgrade(&log) {
          done += 1
          try progress(done)
        }
      } catch let error as RemoteError where [.damaged, .damagedSegment, .denied].contains(error.code) {
        // Something else is in the place of its directory, or this user may not read it.
        log.stop = log.entries + 1
      }
      report.logs.append(log)
    }
    report.logs.sort { ($0.zone, $0.incarnation.description) < ($1.zone, $1.incarnation.description) }
    return report
  }

  private func upgrade(_ log: inout Log, _ didRead: () throws -> Void) async throws {
    var chain = LogChain.start(of: log.incarnation)
    while true {
      let offset = log.entries + 1
      do throws(RemoteError) {
        let stored: StoredSegment
        switch try await entries.read(log.incarnation, log.zone, offset) {
        case .segment(let segment)?: stored = segment
        case .seal?, nil: return
        case .tombstone?:
          log.stop = offset
          return
        }
        let link = ChainLink(
          try LogObject.head(of: stored).header.statement.hash, at: offset, stated: stored.chain,
          after: chain)
        guard link.continues, let next = link.chain else {
          log.stop = offset
          return
        }
        chain = next
        if stored.chain == nil {
          if writes { try await write(stored, chain, log.incarnation) }
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
    _ stored: StoredSegment, _ chain: LogChain, _ incarnation: IncarnationID
  ) async throws(RemoteError) {
    // Also where an amendment has put the entry back: with a chain it is whole again.
    try await remote.objects.overwrite(
      .entry(of: incarnation, stored.offset),
      SegmentEnvelope.encode(
        offset: stored.offset, receivedMilliseconds: stored.receivedMilliseconds, chain: chain,
        segment: stored.bytes.span.bytes))
  }
}
