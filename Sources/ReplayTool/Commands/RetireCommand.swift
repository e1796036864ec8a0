import ArgumentParser
import EventStore
import OperationFormat

/// `replay retire`: lets zones begin with a snapshot, and takes what that has out of the log.
struct RetireCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "retire", abstract: "Retires the history of zones: records stay, the log begins later.",
    discussion: """
      It writes a snapshot of each zone beside the data, lets the zone's records begin with it, and takes the transactions \
      that it has out of the log. What the store shows does not change. What a zone was before, who wrote it, and why a value \
      won, the store then does not know any more; others that keep their history do.

      All of it goes, or with --older-than and --larger-than what exceeds one of these. Ages are by when transactions arrived \
      here. A zone is cut where a segment of its remote log ends. \(Inputs.sizeHelp)

      What waits to be sent is never retired: sync the zone first, unless you give a limit. It works in steps; other processes may read and write \
      meanwhile. If it is interrupted, nothing is lost; run it again.

      Examples:
        replay retire notes.store
        replay retire notes.store --zone shopping
        replay retire notes.store --older-than 30d --larger-than 100MB
      """)

  @OptionGroup var store: StoreOptions

  @Option(name: .long, help: "Only this zone; may be given several times.")
  var zone: [String] = []

  @Option(name: .long, help: ArgumentHelp("Only what is older, as 30d, 12h or 90min.", valueName: "age"))
  var olderThan: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Only what is before so much of a zone's newest history, as 100MB.", valueName: "size")
  )
  var largerThan: String?

  var hintIfInterrupted: String { "nothing is lost; run it again" }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let policy = HistoryPolicy(
      millisecondsMax: try olderThan.map(Inputs.age), logBytesMax: try largerThan.map(Inputs.byteCount))
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let progress = Progress(console)
    let chosen =
      try zone.isEmpty
      ? opened.read { tx in try tx.zones().filter { try tx.token(of: $0) != nil } } : zone.map(Inputs.zone)
    var lines: [JSON] = []
    for zone in chosen {
      let before = try opened.read { try $0.information(of: zone) }.transactions
      if policy == .everything {
        try await opened.retireHistory(of: zone) { done, total in
          try progress.update("loading records", done: done, total: total)
        }
      } else {
        try await opened.retireHistory(keeping: policy, in: [zone]) { done, total in
          try progress.update("folding", done: done, total: total)
        }
      }
      progress.end()
      let after = try opened.read { try $0.information(of: zone) }
      let retired = before - min(before, after.transactions)
      if store.json {
        lines.append(
          .members([
            "zone": .text(zone), "retired": .number(retired),
            "begins": after.origin.map { .number($0.position.rawValue) },
            "snapshot": after.origin.map { .number($0.offset) },
            "beginTime": after.origin?.arrivedMilliseconds.map {
              .string(CalendarTime.text(milliseconds: $0))
            },
          ]))
      } else {
        try console.output.line(
          "\(Display.zone(zone))  \(Display.count(retired, "transaction")) retired"
            + (after.origin.map { "; its history begins \(Display.begin($0))" } ?? ""))
      }
    }
    if store.json {
      try console.output.line(.object(["zones": .array(lines)]))
    } else if chosen.isEmpty {
      try console.output.line("no zone was ever synced: nothing is retired")
    }
    return nil
  }
}
