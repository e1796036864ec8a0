import ArgumentParser
import EventStore
import OperationFormat

/// `replay info`: counts what is in a store.
struct InfoCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Counts what is in a store: zones, replicas, tables, clock.",
    discussion: "Example: replay info notes.store")

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let (information, pauses) = (try opened.information(), try opened.read { try $0.pauses() })
    let wall = console.wallMilliseconds()
    if store.json {
      try console.output.line(information.json(wallMilliseconds: wall, pauses))
    } else {
      try InfoPage(output: console.output, directory: store.directory, pauses: pauses).print(
        information, wallMilliseconds: wall)
    }
    return nil
  }
}

/// The text of `replay info`.
private struct InfoPage {
  let output: Output
  let directory: String
  let pauses: [ZoneID: PausedZone]

  func print(_ information: StoreInformation, wallMilliseconds: Int64) throws {
    var columns = Columns(output)
    func row(_ name: String, _ text: String) throws { try columns.add([.init(name, .quiet), .init(text)]) }
    let identity = information.identity
    try row("store", Display.plain(directory))
    try row("replica", "\(identity.replica)")
    for (index, former) in information.formerReplicas.enumerated() {
      try row(index == 0 ? "before" : "", "\(former)")
    }
    try row("format", "\(information.formatVersion)")
    try row("file", Display.count(information.fileBytes, "byte"))
    try row("log", Self.log(information))
    if information.assets.count > 0 { try row("assets", Self.assets(information.assets)) }
    try row("clock", Self.clock(information.clock, wallMilliseconds))
    if information.isFoldingAgain {
      try columns.add([
        .init("records", .quiet), .init("behind the log, which is being folded again", .warning),
      ])
    }
    try columns.flush()
    for zone in information.zones { try print(zone, own: identity) }
    try output.line()
    try print(information.tables)
  }

  private static func log(_ information: StoreInformation) -> String {
    let (first, last) = (information.firstPosition.rawValue, information.lastPosition.rawValue)
    guard last > 0 else { return "empty" }
    return "positions \(first) to \(last)"
  }

  private static func assets(_ assets: StoreInformation.Assets) -> String {
    let all = "\(Display.count(assets.count)), \(Self.bytes(assets.bytes))"
    if assets.missing == 0 { return all }
    return "\(all); \(Display.count(assets.missing)) not here, \(Self.bytes(assets.missingBytes))"
  }

  private static func bytes(_ count: UInt64) -> String { Display.count(count, "byte") }

  private static func clock(_ clock: Timestamp, _ wallMilliseconds: Int64) -> String {
    guard clock.rawValue > 0 else { return "not used yet" }
    let (wall, last) = (UInt64(max(0, wallMilliseconds)), clock.milliseconds)
    let relation =
      wall >= last
      ? "\(Display.duration(milliseconds: wall - last)) before the wall clock"
      : "\(Display.duration(milliseconds: last - wall)) ahead of the wall clock"
    return "\(Display.time(clock)), counter \(clock.counter), \(relation)"
  }

  private func print(_ zone: StoreInformation.Zone, own: StoreIdentity) throws {
    try output.line()
    try output.line(output.styled("zone \(Display.zone(zone.id))", .heading))
    var columns = Columns(output, indent: 2)
    func row(_ name: String, _ text: String, _ style: Style = .plain) throws {
      try columns.add([.init(name, .quiet), .init(text, style)])
    }
    let hidden = zone.hiddenRecords > 0 ? ", \(Display.count(zone.hiddenRecords)) hidden" : ""
    try row("records", "\(Display.count(zone.records))\(hidden)")
    try row("transactions", Display.count(zone.transactions))
    try row("pending", Display.count(zone.pending), zone.pending > 0 ? .warning : .plain)
    try row("conflicts", Display.count(zone.conflicts), zone.conflicts > 0 ? .warning : .plain)
    try row("attachment", "\(zone.attachment)")
    if let pause = pauses[zone.id] {
      try row("paused", "\(pause.message). \(pause.hint(HintPlaces(store: directory)))", .warning)
    }
    try row(
      "token",
      zone.changeToken.map { "offset \($0.offset) of incarnation \($0.incarnation)" } ?? "never synced")
    for (index, replica) in zone.replicas.enumerated() {
      try row(
        index == 0 ? "replicas" : "",
        "\(replica.replica), epoch \(replica.epoch), up to sequence \(Display.count(replica.lastSequence))"
          + (zone.writtenHere.isOwn(replica.replica) ? Self.writer(replica, zone.writtenHere) : ""))
    }
    if let origin = zone.origin {
      try row("begins", "\(Display.begin(origin)): \(Display.notBeforeSnapshot)")
    }
    if let floor = zone.floor {
      let uncreated =
        zone.uncreatedRecords == 0
        ? "" : "; \(Display.count(zone.uncreatedRecords, "record")) changed since, not created again"
      try row("compacted", "up to offset \(Display.count(floor))\(uncreated)")
    }
    if let offset = zone.rereadFrom {
      try row(
        "reading", "again from offset \(offset): nothing is sent before the end of the remote log", .warning)
    }
    for (index, lane) in zone.closedLanes.enumerated() {
      let writer = "\(lane.writer.replica), epoch \(lane.writer.epoch)"
      try row(
        index == 0 ? "closed" : "",
        "\(Display.count(lane.pending)) pending of \(writer), cannot be sent: \(Self.reason(lane, own: own))",
        .warning)
    }
    for (index, segment) in zone.rejected.enumerated() {
      try row(
        index == 0 ? "rejected" : "",
        "offset \(segment.offset) of \(segment.writer.replica), epoch \(segment.writer.epoch): \(segment.reason)",
        .warning)
    }
    for (index, fork) in zone.forks.enumerated() { try row(index == 0 ? "forked" : "", Self.text(fork)) }
    try columns.flush()
  }

  /// What became of both branches of a lane.
  private static func text(_ fork: LaneFork) -> String {
    let place = fork.place.map { "at offset \($0.offset)" } ?? "in the log"
    var text =
      "\(fork.lane.replica), epoch \(fork.lane.epoch): two stores wrote from sequence "
      + "\(Display.count(fork.firstSequence)) on; one branch is \(place)"
    if let continuation = fork.continuation {
      let isOther = continuation.replica != fork.lane.replica
      text += ", the other one is \(isOther ? "\(continuation.replica), " : "")epoch \(continuation.epoch)"
    }
    if let noticed = fork.noticedMilliseconds {
      text += ", issued again by this store at \(CalendarTime.text(milliseconds: noticed))"
    }
    return text
  }

  /// Who wrote the transactions that have this store's identity.
  private static func writer(_ replica: StoreInformation.Replica, _ written: WrittenHere) -> String {
    let last = written.lastSequence(in: StoreIdentity(replica: replica.replica, epoch: replica.epoch))
    if last >= replica.lastSequence { return ", this store" }
    return last == 0
      ? ", a copy of this store" : ", this store up to \(Display.count(last)), then a copy of it"
  }

  private static func reason(_ lane: StoreInformation.ClosedLane, own: StoreIdentity) -> String {
    let reason =
      switch lane.reason {
      case .closed(let offset): "the log takes no more of it since offset \(offset)"
      case .branched(let offset): "the log has other work under the same sequences at offset \(offset)"
      case .basesUnknown: "the log does not have what it had seen"
      }
    let isOwn = lane.writer.replica == own.replica
    return reason
      + (isOwn ? "; the next sync sends it under another epoch" : "; `replay sync` says what to do")
  }

  private func print(_ tables: [StoreInformation.Table]) throws {
    var columns = Columns(output)
    try columns.add([
      .init("table", .quiet), .init("entries", .quiet, right: true), .init("bytes", .quiet, right: true),
    ])
    for table in tables {
      try columns.add([
        .init(table.name), .init(Display.count(table.entries), right: true),
        .init(Display.count(table.bytes), right: true),
      ])
    }
    try columns.flush()
  }
}

extension StoreInformation {
  fileprivate func json(wallMilliseconds: Int64, _ pauses: [ZoneID: PausedZone]) -> JSON {
    .members([
      "replica": .text(identity.replica), "epoch": .number(identity.epoch),
      "formerReplicas": .array(formerReplicas.map { .text($0) }),
      "format": .number(formatVersion), "fileBytes": .number(fileBytes),
      "clock": .text(clock), "clockTime": Display.knownTime(clock).map { .string($0) },
      "wallMilliseconds": .number(wallMilliseconds),
      "firstPosition": .number(firstPosition.rawValue),
      "lastPosition": .number(lastPosition.rawValue),
      "isFoldingAgain": .bool(isFoldingAgain),
      "zones": .array(zones.map { $0.json(pauses[$0.id]) }),
      "assets": .object([
        "count": .number(assets.count), "bytes": .number(assets.bytes),
        "missing": .number(assets.missing),
        "missingBytes": .number(assets.missingBytes),
      ]),
      "tables": .array(
        tables.map {
          .object(["name": .string($0.name), "entries": .number($0.entries), "bytes": .number($0.bytes)])
        }),
    ])
  }
}

extension StoreInformation.Zone {
  fileprivate func json(_ pause: PausedZone?) -> JSON {
    .members([
      "paused": pause.map { .string($0.word) }, "zone": .text(id), "records": .number(records),
      "hiddenRecords": .number(hiddenRecords),
      "transactions": .number(transactions), "pending": .number(pending),
      "conflicts": .number(conflicts), "attachment": .string("\(attachment)"),
      "token": token?.json,
      "epoch": .number(writtenHere.identity.epoch),
      "replicas": .array(
        replicas.map {
          .object([
            "replica": .text($0.replica), "epoch": .number($0.epoch),
            "lastSequence": .number($0.lastSequence),
          ])
        }),
      "rejected": .array(
        rejected.map {
          .object([
            "offset": .number($0.offset), "replica": .text($0.writer.replica),
            "epoch": .number($0.writer.epoch), "reason": .string("\($0.reason)"),
          ])
        }),
      "forks": .array(forks.map(\.json)),
      "rereadFrom": rereadFrom.map { .number($0) },
      "origin": origin.map {
        .members([
          "content": .text($0.content), "offset": .number($0.offset),
          "position": .number($0.position.rawValue),
          "time": $0.arrivedMilliseconds.map { .string(CalendarTime.text(milliseconds: $0)) },
        ])
      },
      "closedLanes": .array(closedLanes.map(\.json)),
      "floor": floor.map { .number($0) }, "uncreated": floor.map { _ in .number(uncreatedRecords) },
    ])
  }
}

extension LaneFork {
  fileprivate var json: JSON {
    .members([
      "replica": .text(lane.replica), "epoch": .number(lane.epoch), "firstSequence": .number(firstSequence),
      "place": place?.json,
      "continuation": continuation.map {
        .object(["replica": .text($0.replica), "epoch": .number($0.epoch)])
      },
      "noticed": noticedMilliseconds.map { .string(CalendarTime.text(milliseconds: $0)) },
    ])
  }
}

extension StoreInformation.ClosedLane {
  fileprivate var json: JSON {
    let (word, offset): (String, UInt64?) =
      switch reason {
      case .closed(let offset): ("closed", offset)
      case .branched(let offset): ("branched", offset)
      case .basesUnknown: ("basesUnknown", nil)
      }
    return .members([
      "replica": .text(writer.replica), "epoch": .number(writer.epoch),
      "pending": .number(pending), "reason": .string(word), "offset": offset.map { .number($0) },
    ])
  }
}
