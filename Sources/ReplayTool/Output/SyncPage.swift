import Replicator

/// What rounds of replication did, as text or JSON.
struct SyncPage: Sendable {
  let output: Output
  let printsJSON: Bool

  /// Prints a round.
  func print(_ report: SyncReport) throws {
    if printsJSON { return try output.line(JSON(report)) }
    if let failure = report.failure { try output.line(Self.problem(failure)) }
    for problem in report.listProblems {
      try output.line(
        output.styled("the list of zones waits at event \(problem.offset)", .warning) + ": "
          + Self.problem(problem.failure))
    }
    var columns = Columns(output)
    for zone in report.zones {
      try columns.add(
        [
          .init(Display.zone(zone.zone)), .init(Self.word(zone.status), Self.style(zone.status)),
          .init(Self.moved("sent", zone.sent, zone.sentSegments, zone.bytesSent)),
          .init(Self.moved("received", zone.received, zone.receivedSegments, zone.bytesReceived)),
          .init(
            zone.conflicts > 0 ? Display.count(zone.conflicts, "conflict") : "",
            zone.conflicts > 0 ? .warning : .plain),
        ], below: Self.below(zone).map { "  " + $0 })
    }
    try columns.flush()
    if report.zones.isEmpty, report.failure == nil {
      try output.line("no zones: attach one with --attach, or let another store ship one first")
    }
  }

  /// Prints a round if it moved something, or is not as the one before.
  ///
  /// - Returns: whether it did.
  func printNews(_ report: SyncReport, after last: SyncReport?) throws -> Bool {
    let isSame =
      last?.failure == report.failure && last?.listProblems == report.listProblems
      && last?.zones.map(\.status) == report.zones.map(\.status)
    guard report.hasMoved || !(report.isInSync || isSame) else { return false }
    try print(report)
    return true
  }

  /// What is said below a zone's line: why it is not in sync, and of assets, if there is anything.
  private static func below(_ zone: ZoneReport) -> [String] {
    var lines = explanation(zone.status).map { [$0] } ?? []
    if zone.rejectedSegments > 0 {
      let count = Display.count(zone.rejectedSegments, "segment")
      lines.append("rejected \(count), as every replica does: `replay info` lists them")
    }
    for (verb, count, bytes) in [
      ("sent", zone.sentAssets, zone.assetBytesSent),
      ("received", zone.receivedAssets, zone.assetBytesReceived),
    ] where count > 0 || bytes > 0 {
      lines.append("\(verb) \(Display.count(count, "asset")), \(Display.count(bytes, "byte"))")
    }
    lines += zone.assetProblems.prefix(assetProblemsMax).map { Display.plain("\($0)") }
    let rest = zone.assetProblemCount - min(zone.assetProblems.count, assetProblemsMax)
    if rest > 0 { lines.append("and \(Display.count(rest, "asset")) more that did not move") }
    return lines
  }

  private static let assetProblemsMax = 10

  private static func moved(_ verb: String, _ transactions: Int, _ segments: Int, _ bytes: Int) -> String {
    guard segments > 0 else { return "\(verb) nothing" }
    return "\(verb) \(Display.count(transactions, "transaction")) in \(Display.count(segments, "segment")), "
      + Display.count(bytes, "byte")
  }

  private static func word(_ status: ZoneStatus) -> String {
    switch status {
    case .inSync: "in sync"
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
    case .inSync, .removed: .plain
    case .local: .quiet
    default: .warning
    }
  }

  private static func explanation(_ status: ZoneStatus) -> String? {
    switch status {
    case .inSync, .local, .removed: nil
    case .unfinished: "there is more to do: sync again"
    case .parked(_, let failure):
      problem(failure) + ". What lies behind it waits; what is written here is sent all the same"
    case .failed(let failure): problem(failure)
    case .paused(.deleted):
      "it was deleted at the remote, and something here was never shipped: it is kept. Delete the zone here, or copy "
        + "what is in it to another one"
    case .paused(.purged): "the remote threw it away: everything here is kept"
    case .paused(.reset(let incarnation)):
      "the remote's log of it began anew as incarnation \(incarnation): everything here is kept"
    case .forked:
      "another store has this one's identity, and shipped other changes under it: nothing is shipped. One of them is a "
        + "copy or an old backup of the other"
    }
  }

  private static func problem(_ failure: SyncFailure) -> String {
    "\(Display.plain(failure.message)) (\(failure.code)). \(Display.plain(failure.hint))"
  }
}

extension JSON {
  init(_ report: SyncReport) {
    self = .members([
      "isInSync": .bool(report.isInSync), "failure": report.failure.map { JSON($0) },
      "createdZones": .array(report.createdZones.map { .text($0) }),
      "listProblems": .array(
        report.listProblems.map { .object(["offset": .number($0.offset), "failure": JSON($0.failure)]) }),
      "zones": .array(report.zones.map { JSON($0) }),
    ])
  }

  private init(_ zone: ZoneReport) {
    self = .object([
      "zone": .text(zone.zone), "status": JSON(zone.status), "sent": .number(zone.sent),
      "sentSegments": .number(zone.sentSegments), "bytesSent": .number(zone.bytesSent),
      "received": .number(zone.received), "receivedSegments": .number(zone.receivedSegments),
      "bytesReceived": .number(zone.bytesReceived), "conflicts": .number(zone.conflicts),
      "rejectedSegments": .number(zone.rejectedSegments),
      "sentAssets": .number(zone.sentAssets), "assetBytesSent": .number(zone.assetBytesSent),
      "receivedAssets": .number(zone.receivedAssets), "assetBytesReceived": .number(zone.assetBytesReceived),
      "assetProblemCount": .number(zone.assetProblemCount),
      "assetProblems": .array(zone.assetProblems.map { JSON($0) }),
    ])
  }

  private init(_ problem: AssetProblem) {
    let (kind, failure): (String, SyncFailure?) =
      switch problem.kind {
      case .missingHere: ("missingHere", nil)
      case .damagedHere: ("damagedHere", nil)
      case .missingAtRemote: ("missingAtRemote", nil)
      case .damagedAtRemote: ("damagedAtRemote", nil)
      case .failed(let failure): ("failed", failure)
      }
    self = .members([
      "hash": .text(problem.reference.hash), "bytes": .number(problem.reference.byteCount),
      "kind": .string(kind), "failure": failure.map { JSON($0) },
    ])
  }

  private init(_ status: ZoneStatus) {
    switch status {
    case .inSync: self = .object(["state": .string("inSync")])
    case .local: self = .object(["state": .string("local")])
    case .unfinished: self = .object(["state": .string("unfinished")])
    case .removed: self = .object(["state": .string("removed")])
    case .parked(let offset, let failure):
      self = .object(["state": .string("parked"), "offset": .number(offset), "failure": JSON(failure)])
    case .paused(.deleted): self = .object(["state": .string("paused"), "fate": .string("deleted")])
    case .paused(.purged): self = .object(["state": .string("paused"), "fate": .string("purged")])
    case .paused(.reset(let incarnation)):
      self = .object([
        "state": .string("paused"), "fate": .string("reset"), "incarnation": .text(incarnation),
      ])
    case .forked(let offset): self = .object(["state": .string("forked"), "offset": .number(offset)])
    case .failed(let failure): self = .object(["state": .string("failed"), "failure": JSON(failure)])
    }
  }

  private init(_ failure: SyncFailure) {
    self = .object([
      "code": .string(failure.code), "message": .string(failure.message), "hint": .string(failure.hint),
    ])
  }
}
