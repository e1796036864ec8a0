import EventStore
import Replicator

/// Prints the results of rounds of replication, as text or JSON.
struct SyncPage: Sendable {
  let output: Output
  let printsJSON: Bool
  /// The words that replace placeholders in hints.
  var places = HintPlaces()
  /// Whether zones that the remote offers are listed.
  var listsOffered = false
  /// Reads them.
  var offered: @Sendable () throws -> [ZoneID] = { [] }

  /// Prints a round.
  func print(_ report: SyncReport) throws {
    if printsJSON { return try output.line(report.json(places, offered: try offered())) }
    if let failure = report.failure { try output.line(Self.problem(failure, places)) }
    for problem in report.listProblems {
      try output.line(
        output.styled("the list of zones waits at event \(problem.offset)", .warning) + ": "
          + Self.problem(problem.failure, places))
    }
    if let offset = report.clockOffset, offset.isNotable {
      try output.line("\(output.styled("\(offset)", .warning)): \(offset.hint)")
    }
    var columns = Columns(output)
    for zone in report.zones {
      try columns.add(
        [
          .init(Display.zone(zone.zone)), .init(Self.word(zone.status), Self.style(zone.status)),
          .init(Self.moved("sent", zone.sent, zone.sentSegments, zone.bytesSent)),
          .init(
            zone.beganAt != nil && zone.receivedSegments == 0
              ? "received a snapshot"
              : Self.moved("received", zone.received, zone.receivedSegments, zone.bytesReceived)),
          .init(
            zone.conflicts > 0 ? Display.count(zone.conflicts, "conflict") : "",
            zone.conflicts > 0 ? .warning : .plain),
        ], below: below(zone).map { "  " + $0 })
    }
    try columns.flush()
    let offered = try listsOffered ? self.offered() : []
    if report.zones.isEmpty, report.failure == nil {
      try output.line(
        offered.isEmpty
          ? "no zones: neither the store nor the remote has one yet" : "no zone of the remote is synced here")
    }
    for zone in offered { try output.line("\(Display.zone(zone))  \(output.styled("offered", .quiet))") }
    if !offered.isEmpty {
      let command = places.zoneCommand("attach")
      try output.line(
        "Offered zones are at the remote, and not here. \(command) lets the next sync fetch one")
    }
  }

  /// Prints a round if it moved something, or differs from the previous one.
  ///
  /// - Returns: whether it printed the round.
  func printNews(_ report: SyncReport, after last: SyncReport?) throws -> Bool {
    let isSame =
      last?.failure == report.failure && last?.listProblems == report.listProblems
      && last?.zones.map(\.status) == report.zones.map(\.status)
    guard report.hasMoved || !(report.isInSync || isSame) else { return false }
    try print(report)
    return true
  }

  /// The lines below a zone's line: why the zone is not in sync, and its assets.
  private func below(_ zone: ZoneReport) -> [String] {
    var lines = Self.explanation(of: zone, places).map { ["\($0.message). \($0.hint)"] } ?? []
    if let offset = zone.beganAt {
      let records =
        zone.beganWithRecords.map { ": \(Display.count($0, "record")), counting deleted ones" } ?? ""
      lines.append("began with the snapshot at offset \(Display.count(offset))\(records)")
    }
    if let fate = zone.reopened {
      let count = zone.putBack > 0 ? ": put back \(Display.count(zone.putBack, "segment"))" : ""
      lines.append(
        "made again at the remote, for everybody, since \(Self.formerEnd(fate))\(count)")
    } else if zone.putBack > 0, zone.restoresLog {
      lines.append("sent \(Display.count(zone.putBack, "segment")) that the remote did not have")
    } else if zone.putBack > 0 {
      lines.append("put back \(Display.count(zone.putBack, "segment")) that the remote had lost")
    }
    if let offset = zone.partedAt {
      lines.append(
        "the remote has another log than was read, from offset \(offset) on: it was restored from an older copy, or "
          + "was changed. It was read again, and what it lacks is sent again")
    }
    if zone.removedTransactions > 0 {
      lines.append(
        "removed \(Display.count(zone.removedTransactions, "transaction")) of other stores, which the remote "
          + "does not have: they return when a store that still has them sends them")
    }
    if zone.rejectedSegments > 0 {
      let count = Display.count(zone.rejectedSegments, "segment")
      lines.append("rejected \(count): `replay info` lists them, and why")
    }
    if zone.forks > 0 {
      lines.append(
        "another store wrote under this one's identity: both branches are kept, and this store's is sent under another "
          + "epoch. `replay info` shows them")
    }
    for (verb, count, bytes) in [
      ("sent", zone.sentAssets, zone.assetBytesSent),
      ("received", zone.receivedAssets, zone.assetBytesReceived),
    ] where count > 0 || bytes > 0 {
      lines.append("\(verb) \(Display.count(count, "asset")), \(Display.count(bytes, "byte"))")
    }
    lines += zone.assetProblems.prefix(Self.assetProblemsMax).map {
      Self.text($0, remote: places.fill("REMOTE"))
    }
    let rest = zone.assetProblemCount - min(zone.assetProblems.count, Self.assetProblemsMax)
    if rest > 0 { lines.append("and \(Display.count(rest, "asset")) more that did not move") }
    return lines
  }

  /// What had ended the log of a zone that was made again.
  private static func formerEnd(_ fate: ZoneFate) -> String {
    switch fate {
    case .deleted: "it had been deleted there"
    case .purged, .reset: "the remote had discarded it"
    case .revoked: "this account might not read it"
    }
  }

  private static let assetProblemsMax = 10

  /// Why an asset did not move, and what to do about it.
  static func text(_ problem: AssetProblem, remote: String = "REMOTE") -> String {
    Display.plain("\(problem)" + (hint(problem, remote: remote).map { ": \($0)" } ?? ""))
  }

  /// What to do about an asset that did not move, with the command; nil if the problem already says it.
  static func hint(_ problem: AssetProblem, remote: String = "REMOTE") -> String? {
    let upload = "`replay asset upload STORE \(problem.reference.hash) --remote \(remote)`"
    switch problem.kind {
    case .damagedAtRemote: return "repair it from a store that has it, with \(upload)"
    case .missingAtRemote: return "send it from a store that has it, with \(upload)"
    case .damagedHere, .missingHere:
      return "import it again, or send it from a store that has it, with \(upload)"
    case .failed: return nil
    }
  }

  private static func moved(_ verb: String, _ transactions: Int, _ segments: Int, _ bytes: Int) -> String {
    guard segments > 0 else { return "\(verb) nothing" }
    return "\(verb) \(Display.count(transactions, "transaction")) in \(Display.count(segments, "segment")), "
      + Display.count(bytes, "byte")
  }

  private static func word(_ status: ZoneStatus) -> String {
    switch status {
    case .inSync: "in sync"
    case .unchanged: "unchanged"
    case .local: "local"
    case .unfinished: "unfinished"
    case .parked(let offset, _): "parked at offset \(offset)"
    case .paused: "paused"
    case .forked(let offset): "forked at offset \(offset)"
    case .removed: "removed"
    case .failed: "failed"
    }
  }

  private static func style(_ status: ZoneStatus) -> Style {
    switch status {
    case .inSync, .unchanged, .removed: .plain
    case .local: .quiet
    default: .warning
    }
  }

  /// Why a zone is not in sync, and what to do; nil if it is in sync, or was removed.
  fileprivate static func explanation(of zone: ZoneReport, _ places: HintPlaces) -> (
    message: String, hint: String
  )? {
    let places = places.of(zone.zone)
    switch zone.status {
    case .inSync, .unchanged, .removed: return nil
    case .local:
      let attach = places.zoneCommand("attach")
      if zone.wasSynced {
        return ("it is not synced any more: it was detached", "\(attach) lets it continue where it was")
      }
      return zone.isAtRemote
        ? ("it is not synced, and the remote has a zone of that name", "\(attach) joins the two")
        : ("it is only here", "\(attach) lets it be synced from now on")
    case .unfinished: return ("there is more to do", "Sync again")
    case .parked(_, let failure): return parked(failure, zone, places)
    case .failed(let failure):
      return ("\(Display.plain(failure.message)) (\(failure.code))", Display.plain(places.fill(failure.hint)))
    case .paused(let fate):
      let pause = PausedZone(zone.zone, fate)
      return (pause.message, pause.hint(places))
    case .forked:
      return (
        "another store has this one's identity, and sent other changes under it: nothing is sent. One of "
          + "them is a copy or an old backup of the other",
        "When the zone can be read up to there, this store takes another epoch and sends its changes again"
      )
    }
  }

  /// What a parked zone waits for. If its user must decide, nothing is read or sent before.
  private static func parked(
    _ failure: SyncFailure, _ zone: ZoneReport, _ places: HintPlaces
  ) -> (message: String, hint: String) {
    if failure.code == StoreError.Code.laneClosed.rawValue {
      return (
        "\(problem(failure, places)) Until you decide, nothing of the zone is read or sent",
        "`replay sync --help` says what --take-over and --let-go do"
      )
    }
    let sent =
      switch zone.shippingFailure {
      case nil: "; what is written here is still sent"
      case failure: ", and nothing is sent before it is read"
      case let other?: ", and nothing is sent: \(Display.plain(other.message)) (\(other.code))"
      }
    return (
      "\(problem(failure, places)) What follows it waits\(sent)",
      "`replay remote \(places.fill("REMOTE"))` says what is wrong at the remote"
    )
  }

  private static func problem(_ failure: SyncFailure, _ places: HintPlaces) -> String {
    "\(Display.plain(failure.message)) (\(failure.code)). \(Display.plain(places.fill(failure.hint)))."
  }
}

extension SyncReport {
  /// - Parameter offered: the zones that the remote has, and that are not here.
  func json(_ places: HintPlaces = HintPlaces(), offered: [ZoneID] = []) -> JSON {
    .members([
      "isInSync": .bool(isInSync), "failure": failure.map { $0.json(places) },
      "clockOffsetMilliseconds": clockOffset.map { .number($0.milliseconds) },
      "createdZones": .array(createdZones.map { .text($0) }), "offered": .array(offered.map { .text($0) }),
      "listProblems": .array(
        listProblems.map {
          .object(["offset": .number($0.offset), "failure": $0.failure.json(places)])
        }),
      "zones": .array(zones.map { $0.json(places) }),
    ])
  }
}

extension ZoneReport {
  fileprivate func json(_ places: HintPlaces) -> JSON {
    let places = places.of(zone)
    return .members([
      "zone": .text(zone), "status": statusJSON(places), "sent": .number(sent),
      "sentSegments": .number(sentSegments), "bytesSent": .number(bytesSent),
      "received": .number(received), "receivedSegments": .number(receivedSegments),
      "bytesReceived": .number(bytesReceived), "conflicts": .number(conflicts),
      "rejectedSegments": .number(rejectedSegments), "forks": .number(forks),
      "removedTransactions": .number(removedTransactions), "putBack": .number(putBack),
      "madeAgainAfter": reopened.map { .string(RemotePage.text($0)) },
      "partedAt": partedAt.map { .number($0) }, "beganAt": beganAt.map { .number($0) },
      "sentAssets": .number(sentAssets), "assetBytesSent": .number(assetBytesSent),
      "receivedAssets": .number(receivedAssets), "assetBytesReceived": .number(assetBytesReceived),
      "assetProblemCount": .number(assetProblemCount),
      "assetProblems": .array(assetProblems.map { $0.json(places) }),
    ])
  }

  private func statusJSON(_ places: HintPlaces) -> JSON {
    var members = status.jsonMembers(places)
    if let told = SyncPage.explanation(of: self, places) {
      members["message"] = .string(told.message)
      members["hint"] = .string(told.hint)
    }
    return .object(members)
  }
}

extension AssetProblem {
  fileprivate func json(_ places: HintPlaces) -> JSON {
    let (word, failure): (String, SyncFailure?) =
      switch kind {
      case .missingHere: ("missingHere", nil)
      case .damagedHere: ("damagedHere", nil)
      case .missingAtRemote: ("missingAtRemote", nil)
      case .damagedAtRemote: ("damagedAtRemote", nil)
      case .failed(let failure): ("failed", failure)
      }
    return .members([
      "hash": .text(reference.hash), "bytes": .number(reference.byteCount), "kind": .string(word),
      "failure": failure.map { $0.json(places) }, "message": .string("\(self)"),
      "hint": SyncPage.hint(self, remote: places.fill("REMOTE")).map { .string($0) },
    ])
  }
}

extension ZoneStatus {
  fileprivate func jsonMembers(_ places: HintPlaces) -> [Name: JSON] {
    switch self {
    case .inSync: ["state": "inSync"]
    case .unchanged: ["state": "unchanged"]
    case .local: ["state": "local"]
    case .unfinished: ["state": "unfinished"]
    case .removed: ["state": "removed"]
    case .parked(let offset, let failure):
      ["state": "parked", "offset": .number(offset), "failure": failure.json(places)]
    case .paused(.deleted): ["state": "paused", "fate": "deleted"]
    case .paused(.purged): ["state": "paused", "fate": "purged"]
    case .paused(.revoked): ["state": "paused", "fate": "revoked"]
    case .paused(.reset): ["state": "paused", "fate": "reset"]
    case .forked(let offset): ["state": "forked", "offset": .number(offset)]
    case .failed(let failure): ["state": "failed", "failure": failure.json(places)]
    }
  }
}

extension SyncFailure {
  fileprivate func json(_ places: HintPlaces) -> JSON {
    .object([
      "code": .string(code), "message": .string(message), "hint": .string(places.fill(hint)),
    ])
  }
}
