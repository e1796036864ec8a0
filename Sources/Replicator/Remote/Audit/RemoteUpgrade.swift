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
    /// Where it stops: that entry and those after it stay as they are.
    package var stop: Stop?
  }

  /// Why nothing is done from an offset on.
  package struct Stop: Sendable {
    package enum Reason: String, Sendable {
      /// The entry cannot be read.
      case unreadable
      /// The entry was given up.
      case givenUp
      /// The entry does not continue the log, and readers leave it out.
      case leftOut
    }

    package var offset: UInt64
    package var reason: Reason
  }

  /// A put of an entry that failed.
  private struct FailedWrite: Error { var error: RemoteError }

  private let remote: ObjectRemote
  private var entries: LogEntries { remote.entries }
  private let writes: Bool

  /// - Parameter writes: whether to do it; else it only tells what there is to do.
  package init(_ remote: any LogOfObjects, writes: Bool) {
    self.remote = remote.log
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
      } catch let failure as FailedWrite {
        throw failure.error
      } catch let error as RemoteError where [.damaged, .damagedSegment, .denied].contains(error.code) {
        // Something else is in the place of its directory, or this user may not read it.
        log.stop = Stop(offset: log.entries + 1, reason: .unreadable)
      }
      report.logs.append(log)
    }
    report.logs.sort { ($0.zone, $0.incarnation.description) < ($1.zone, $1.incarnation.description) }
    return report
  }

  private func upgrade(_ log: inout Log, _ didRead: () throws -> Void) async throws {
    var chain = LogChain.start(of: log.incarnation)
    if let floor = try await entries.floors.floor(of: log.incarnation) {
      // What the first entry states is as its snapshot says.
      (log.entries, chain) = (floor.offset, floor.chain)
    }
    while true {
      let offset = log.entries + 1
      let stored: StoredSegment
      do throws(RemoteError) {
        switch try await entries.read(log.incarnation, log.zone, offset) {
        case .segment(let segment)?: stored = segment
        case .seal?, nil: return
        case .tombstone?:
          log.stop = Stop(offset: offset, reason: .givenUp)
          return
        }
        let link = ChainLink(
          try LogObject.head(of: stored).header.statement.hash, at: offset, stated: stored.chain,
          after: chain)
        guard link.continues, let next = link.chain else {
          log.stop = Stop(offset: offset, reason: .leftOut)
          return
        }
        chain = next
      } catch {
        guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
        log.stop = Stop(offset: offset, reason: .unreadable)
        return
      }
      if stored.chain == nil {
        if writes { try await write(stored, chain, log.incarnation) }
        log.former += 1
      }
      log.entries = offset
      try didRead()
    }
  }

  private func write(
    _ stored: StoredSegment, _ chain: LogChain, _ incarnation: IncarnationID
  ) async throws {
    do throws(RemoteError) {
      // Also where an amendment has put the entry back: with a chain it is whole again.
      try await remote.objects.overwrite(
        .entry(of: incarnation, stored.offset),
        SegmentEnvelope.encode(
          offset: stored.offset, receivedMilliseconds: stored.receivedMilliseconds, chain: chain,
          segment: stored.bytes.span.bytes))
    } catch {
      throw FailedWrite(error: error)
    }
  }
}
