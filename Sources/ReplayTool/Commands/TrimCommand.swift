import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// `replay trim`: removes the old part of a remote's logs.
struct TrimCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "trim", abstract: "Removes the old part of a remote's logs, for which snapshots stand.",
    discussion: """
      Without --write it only says what would go, and why no more does.

      Stores put snapshots of their zones at a remote as its logs grow. A log is trimmed up to the snapshot before its \
      newest one, and begins with that; up to the newest one, if the records were compacted since the one before. Both are \
      read whole first, and compared with the log. Entries stay that are younger than --older-than by their receive times \
      and this machine's clock, and those that a writer who was there since has not seen. A store that has not read up to \
      where the log then begins starts with a snapshot when it syncs next: it keeps what it has not sent, and loses nothing. \
      Who has the history in a store keeps it; the remote does not have it any more.

      Stores of former versions of the program cannot read a trimmed log. Upgrade all programs first.

      Where the file that says where a log begins cannot be read, or is wrong, it is written again.

      Others may sync meanwhile. If it is interrupted, nothing is lost, and the next run continues.

      Examples:
        replay trim folder:/mnt/team/lists
        replay trim folder:/mnt/team/lists --older-than 90d --write
      """)

  @Argument(help: ArgumentHelp("The remote: folder:DIRECTORY or s3://BUCKET/PREFIX.", valueName: "remote"))
  var address: String

  @Option(name: .long, help: "Only this zone.")
  var zone: String?

  @Option(
    name: .long,
    help: ArgumentHelp("How old entries must be to go, as 30d, 12h or 90min.", valueName: "age"))
  var olderThan = "30d"

  @Flag(name: .long, help: "Do it.")
  var write = false

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  var places: HintPlaces { HintPlaces(remote: address) }
  var hintIfInterrupted: String {
    write ? "what was removed is not needed; the next run continues" : "nothing was changed; run it again"
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map { try Inputs.zone($0) }
    let age = UInt64(try Inputs.age(olderThan))
    let remote = try RemoteAddress(address).withObjects(isReadOnly: !write, console)
    try await remote.log.check()
    let progress = Progress(console)
    let listed = try await remote.log.objects.list()
    let audit = try await RemoteAudit(of: remote, zone: zone, objects: listed) {
      try progress.update("segments", done: $0)
    }
    if let zone, audit.logs.isEmpty {
      throw ToolError(
        "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
        hint: "run the command without --zone to see the remote's zones", exit: .input)
    }
    let trim = RemoteTrim(remote)
    let policy = LogFloorChoice(
      now: UInt64(max(0, SystemEnvironment.wallMilliseconds())), olderThanMilliseconds: age)
    var logs = trim.plan(audit, listed, policy)
    progress.end()
    var failure: RemoteError?
    if write {
      var done: UInt64 = 0
      let total = logs.reduce(0) { $0 + $1.objects }
      var trimmed: [RemoteTrim.Log] = []
      for log in logs {
        do {
          try await trim.run(log) {
            done += 1
            try progress.update("removing", done: min(done, total), total: total)
          }
          trimmed.append(log)
        } catch let error as RemoteError where [.damaged, .damagedSegment, .denied].contains(error.code) {
          // What is wrong with one log holds up no other, and is told at the end.
          failure = failure ?? error
        }
      }
      logs = trimmed
      progress.end()
    }
    try print(logs, console.output)
    if let failure { throw failure }
    return logs.contains { $0.limit == .damage } ? .problem : nil
  }

  private func print(_ logs: [RemoteTrim.Log], _ output: Output) throws {
    if json {
      return try output.line(
        .object([
          "written": .bool(write),
          "logs": .array(
            logs.map { log in
              .members([
                "zone": .text(log.zone), "incarnation": .text(log.incarnation),
                "begins": .number(log.offset), "began": .number(log.first),
                "objects": .number(log.objects), "bytes": .number(log.bytes),
                "mendsBegin": log.mendsFloor ? .bool(true) : nil,
                "limit": log.limit.map { .string(Self.word($0)) },
                "writers": Self.writers(log.limit).map { .array($0.map { .text($0) }) },
              ])
            }),
        ]))
    }
    for log in logs {
      let removed =
        log.objects == 0
        ? "nothing \(write ? "went" : "would go")"
        : "\(Display.count(log.objects, "file")) \(write ? "went" : "would go"), "
          + "\(Display.count(log.bytes, "byte")); the log \(write ? "begins" : "would begin") at offset "
          + "\(Display.count(log.offset))"
      try output.line("\(Display.zone(log.zone))  \(removed)\(reason(log).map { "; \($0)" } ?? "")")
    }
    for log in logs where log.mendsFloor {
      try output.line(
        "\(Display.zone(log.zone))  where it begins \(write ? "was" : "would be") written again: offset "
          + Display.count(log.offset))
    }
    if !write, logs.contains(where: { $0.objects > 0 || $0.mendsFloor }) {
      try output.line("--write does it")
    }
  }

  private static func word(_ limit: RemoteTrim.Limit) -> String {
    switch limit {
    case .choice(.snapshots): "snapshots"
    case .choice(.age): "age"
    case .choice(.writers): "writers"
    case .damage: "damage"
    case .empty: "empty"
    }
  }

  private static func writers(_ limit: RemoteTrim.Limit?) -> [ReplicaID]? {
    if case .choice(.writers(let replicas))? = limit { replicas } else { nil }
  }

  /// Why no more of a log goes; nil if all goes that may.
  private func reason(_ log: RemoteTrim.Log) -> String? {
    if let limit = log.limit { return text(limit) }
    return log.objects > 0
      ? nil
      : "the log begins at offset \(Display.count(log.first)), as late as its snapshots allow: stores make others as it grows"
  }

  private func text(_ limit: RemoteTrim.Limit) -> String {
    switch limit {
    case .choice(.snapshots):
      "more stays, because the log has fewer than two snapshots that can be read: stores make one as it grows"
    case .choice(.age):
      "more stays, because it is not older than \(olderThan)"
    case .choice(.writers(let replicas)):
      "more stays, because these writers were there since, and have not seen it: "
        + replicas.map { "\($0)" }.joined(separator: ", ")
    case .damage:
      "all stays, because the log is damaged: `replay remote \(address.argument)` says what is wrong"
    case .empty: "the log is empty"
    }
  }
}
