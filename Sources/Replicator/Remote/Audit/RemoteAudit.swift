package import OperationFormat

/// Reads a whole remote and checks it for consistency: the hashes of every segment, the chain and sequences
/// of each writer, the hash that each segment names for its base, and the assets that the segments name. It
/// changes nothing.
package struct RemoteAudit: Sendable {
  package private(set) var logs: [AuditedLog] = []
  package private(set) var problems: [AuditProblem] = []
  /// The offsets of events of the list of zones that cannot be read.
  package private(set) var unreadableEvents: [UInt64] = []
  /// Events of the list of zones that were given up.
  package private(set) var eventTombstones: [LogTombstone] = []

  /// Reads every log of a remote, or those of one zone.
  ///
  /// - Parameters:
  ///   - zone: the only zone to read; nil for all.
  ///   - objects: what was listed before, for a remote of objects: the list of zones and the start of its log
  ///     must lead to each of them.
  ///   - progress: called after each page, with the segments so far. An error that it throws ends the audit.
  package init(
    of remote: any RemoteLog, zone: ZoneID? = nil, objects: [ObjectEntry] = [],
    progress: (UInt64) throws -> Void = { _ in }
  ) async throws {
    var listed = ListedLogs(of: zone)
    var unreadable: [ZoneListProblem] = []
    var end: UInt64 = 0
    try await remote.forEachZoneEventPage { page in
      listed.add(page)
      unreadable += page.problems
      end = page.token.offset
      return true
    }
    for problem in unreadable {
      let entry = EntryPlace(offset: problem.offset)
      problems.append(AuditProblem("\(entry)", "\(problem.failure)", entry: entry))
      unreadableEvents.append(problem.offset)
    }
    logs = listed.logs
    let names = objects.compactMap(\.name)
    if let remote = remote as? any LogOfObjects {
      eventTombstones = try await Self.tombstones(of: names, remote.log.amendments)
    }
    // By the log that they are of; nil for the list of zones.
    let namesOfLogs = Dictionary(grouping: names, by: \.incarnation)
    let besideLogs = Dictionary(
      grouping: objects.filter { $0.name?.isBesideLog ?? false }, by: \.name?.incarnation)
    var segments: UInt64 = 0
    for index in logs.indices {
      var auditor = LogAuditor(of: logs[index], remote)
      let names = namesOfLogs[logs[index].incarnation] ?? []
      try await auditor.read(names.compactMap(\.offset).sorted()) { try progress(segments + $0) }
      try await auditor.checkAmendments(names)
      try await auditor.checkSnapshots(besideLogs[logs[index].incarnation] ?? [])
      try await auditor.checkAssets()
      segments += auditor.log.segments
      logs[index] = auditor.log
      if logs[index].fate?.discardsLog ?? false { logs[index].leftObjects = AuditedLog.leftObjects(names) }
      problems += auditor.problems
    }
    let isWhole = zone == nil && unreadableEvents.isEmpty
    checkAreReached(names, namesOfLogs, list: isWhole ? end : nil, named: listed.incarnations)
    for index in logs.indices where logs[index].isReadable {
      logs[index].findUnnamed(
        (besideLogs[logs[index].incarnation] ?? []).filter { $0.name?.isOfAsset ?? false })
    }
  }

  /// The logs whose zones have no other one: the name of the zone identifies the log.
  package var onlyLogs: Set<IncarnationID> {
    var lives: [ZoneID: Int] = [:]
    for log in logs { lives[log.zone, default: 0] += 1 }
    return Set(logs.lazy.filter { lives[$0.zone] == 1 }.map(\.incarnation))
  }

  /// Adds a problem for each folder that every remote has, and this one has lost.
  package mutating func note(missingFolders: [String]) {
    problems += missingFolders.map {
      AuditProblem("\($0)/", "this folder is missing, with all that was in it")
    }
  }

  /// The events of the list of zones that were given up.
  private static func tombstones(
    of names: [ObjectName], _ amendments: EntryAmendments
  ) async throws(RemoteError) -> [LogTombstone] {
    var found: [LogTombstone] = []
    for name in names where name.incarnation == nil {
      guard let offset = name.offset ?? name.amendedOffset else { continue }
      let place = EntryPlace(offset: offset)
      if name.offset == nil {
        // An event that can be read needs no amendment.
        if case .readable = try await amendments.state(of: place) { continue }
      }
      do throws(RemoteError) {
        let state =
          name.offset == nil
          ? try await amendments.amendment(of: place) : try await amendments.state(of: place)
        if case .givenUp(let tombstone)? = state { found.append(tombstone) }
      } catch {
        guard error.isAboutOneObject else { throw error }
      }
    }
    return found
  }

  /// Adds a problem for each object to which no event of the list of zones leads.
  ///
  /// - Parameters:
  ///   - names: all objects, and those of each log and of the list of zones, in the same order.
  ///   - offset: the list's last one; nil unless all of the list was read.
  ///   - named: the logs that its events name. If an event that named a log was given up, readers do not find
  ///     that log.
  private mutating func checkAreReached(
    _ names: [ObjectName], _ namesOfLogs: [IncarnationID?: [ObjectName]], list offset: UInt64?,
    named: Set<IncarnationID>
  ) {
    func note(_ name: ObjectName?, _ message: String) {
      if let name { problems.append(AuditProblem("\(name)", message)) }
    }
    if let offset {
      note(
        namesOfLogs[nil]?.first { $0.offset ?? 0 > offset },
        "the list of zones ends at event \(offset): one in between is missing")
    }
    for index in logs.indices {
      let incarnation = logs[index].incarnation
      guard let fate = logs[index].fate, let last = logs[index].lastOffset else { continue }
      let after = (namesOfLogs[incarnation] ?? []).filter { $0.offset ?? 0 > last }
      let message = "its log is closed at offset \(last)"
      if fate == .deleted {
        // Every reader stops before it, and no store needs it: it needs no repair.
        logs[index].consequences += after.map { AuditProblem("\($0)", message) }
      } else {
        note(after.first, message)
      }
    }
    guard offset != nil else { return }
    var known = named
    for name in names {
      guard let log = name.incarnation, known.insert(log).inserted else { continue }
      problems.append(
        AuditProblem("\(name)", "no event of the list of zones names its log", unnamedLog: log))
    }
  }
}
