import ArgumentParser
import EventStore
import OperationFormat

/// `replay compact`: lets the records of zones be folded together, in all stores that sync them.
struct CompactCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Lets all stores drop what the records of a zone do not need any more.",
    discussion: """
      Without --write it only says what would go, and who holds the floor back.

      A floor is an offset of a zone's remote log. Of a record that nobody has changed since, stays what it shows: values \
      that lost a conflict go, and so do deleted records, removed elements of lists and characters of texts, and the single \
      contributions to a counter. Who wrote a value, and when, stays; which transaction did, what it replaced, and its undo \
      go. With --write the store names a floor in a transaction. It works in each store that reads the log up to there, in \
      this one once it is synced; all get the same bytes.

      The floor is not above what writers have seen that were there within --horizon, and not above what came within \
      --older-than, counted back from the log's newest entry: no clock that is ahead makes anything \
      old. Who is away for longer loses nothing: but what it writes meets the compacted records as if both had been written at \
      once, and what it changes of a dropped record is hidden until the record is created again.

      Logs and snapshots do not shrink by it at once: stores put new snapshots at the remote as its log grows, then \
      `replay trim` removes the old part.

      Stores of former versions of the program keep everything, and show the same. Upgrade all programs first.

      What a store has seen is known from what it writes. One that has written and now only reads counts as one that has not \
      seen what came since: it holds the floor back until it writes again, or its last write is older than --horizon.

      Examples:
        replay compact notes.store
        replay compact notes.store --zone shopping --older-than 30d --horizon 90d --write
      """)

  @OptionGroup var store: StoreOptions

  @Option(name: .long, help: "Only this zone; may be given several times.")
  var zone: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("How old must be what is compacted, as 30d, 12h or 90min.", valueName: "age"))
  var olderThan = "30d"

  @Option(
    name: .long,
    help: ArgumentHelp("How long a writer that sends nothing is waited for, as 90d.", valueName: "age"))
  var horizon = "90d"

  @Flag(name: .long, help: "Do it.")
  var write = false

  var hintIfInterrupted: String {
    write ? "zones that were named before are done; run it again" : "run it again"
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let policy = CompactionPolicy(
      millisecondsMax: UInt64(try Inputs.age(olderThan)), horizonMilliseconds: UInt64(try Inputs.age(horizon))
    )
    let opened =
      try write
      ? store.openForWriting(console, creates: false) : store.openForReading(console)
    defer { opened.close() }
    let synced = try opened.information().zones.filter { $0.token != nil }.map(\.id)
    let chosen = zone.isEmpty ? synced : try zone.map(Inputs.zone)
    var lines: [JSON] = []
    var hasNext = false
    for zone in chosen {
      let plan =
        try write
        ? await opened.compact(zone, keeping: policy) : opened.compactionPlan(of: zone, keeping: policy)
      hasNext = hasNext || plan.next != nil
      if store.json { lines.append(json(plan)) } else { try console.output.line(text(plan, opened)) }
    }
    if store.json {
      try console.output.line(.object(["written": .bool(write), "zones": .array(lines)]))
    } else if chosen.isEmpty {
      try console.output.line("no zone was ever synced: nothing is compacted")
    } else if hasNext {
      try console.output.line(
        write ? "sync the store: the floors work once they are in the log" : "--write does it")
    }
    return nil
  }

  private func json(_ plan: CompactionPlan) -> JSON {
    var writers: [ReplicaID]?
    let limit: String? =
      switch plan.limit {
      case .age: "age"
      case .unsent: "unsent"
      case .writers(let found):
        {
          writers = found
          return "writers"
        }()
      case nil: nil
      }
    return .members([
      "zone": .text(plan.zone), "floor": .number(plan.floor), "next": plan.next.map { .number($0) },
      "records": .number(plan.records), "values": .number(plan.values), "units": .number(plan.units),
      "limit": limit.map { .string($0) }, "writers": writers.map { .array($0.map { .text($0) }) },
    ])
  }

  private func text(_ plan: CompactionPlan, _ opened: LocalStore) throws -> String {
    var gone = [(plan.records, "deleted record"), (plan.values, "lost value")].filter { $0.0 > 0 }
      .map { Display.count($0.0, $0.1) }
    if plan.units > 0 {
      let words = plan.units == 1 ? "removed element or character" : "removed elements or characters"
      gone.append("\(Display.count(plan.units)) \(words)")
    }
    var text = "\(Display.zone(plan.zone))  "
    if let next = plan.next {
      let goes =
        gone.isEmpty
        ? "of what is there goes only which transaction wrote it, and its undo"
        : "these go: \(gone.joined(separator: ", "))"
      let offset = Display.count(next)
      text += write ? "named the floor \(offset)" : "the floor would be \(offset)"
      text += ", and \(goes)"
    } else {
      text += plan.floor > 0 ? "stays at the floor \(Display.count(plan.floor))" : "nothing can be compacted"
    }
    switch plan.limit {
    case .age: text += "; what comes next came less than \(olderThan) before the log's newest entry"
    case .unsent: text += "; something that waits to be sent has not seen more"
    case .writers(let replicas):
      let (peers, own) = (try opened.read { try $0.peers(of: plan.zone) }, opened.identity.replica)
      let writers = replicas.map { replica in
        replica == own ? "this store" : Self.text(replica, peers.first { $0.id == replica })
      }
      text += "; held back by writers that have not seen more: " + writers.joined(separator: ", ")
    case nil: break
    }
    return text
  }

  /// `ann on replica 9c1f03aa, who wrote last at 2026-01-31T09:05:00.000Z`.
  private static func text(_ replica: ReplicaID, _ peer: Peer?) -> String {
    let author = peer?.author.map { "\(Display.plain($0)) on " } ?? ""
    let last = peer.flatMap { $0.wroteMilliseconds > 0 ? $0.wroteMilliseconds : nil }
    return "\(author)replica \(Display.short(replica))"
      + (last.map { " (wrote last at \(CalendarTime.text(milliseconds: $0)))" } ?? "")
  }
}
