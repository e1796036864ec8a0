import ArgumentParser
import EventStore
import OperationFormat

/// `replay compact`: lets the records of zones be folded together, in all stores that sync them.
struct CompactCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Lets all stores drop what the records of a zone do not need any more.",
    discussion: """
      Without --write it only says what would go, and who holds it up.

      A floor is an offset of a zone's remote log. Of a record that nobody has changed since, stays what it shows: values \
      that lost a conflict go, and so do deleted records, removed elements of lists and characters of texts, and the single \
      contributions to a counter. With --write the store names a floor in a transaction. It works in each store that reads \
      the log up to there, in this one once it is synced; all get the same bytes.

      The floor is not above what writers have seen that were there within --horizon, and not above what came within \
      --older-than. Who is away for longer loses nothing: but what it writes meets the compacted records as if both had \
      been written at once, and what it changes of a dropped record is hidden until the record is created again.

      Logs and snapshots do not shrink by it at once: stores put new snapshots at the remote as its log grows, then \
      `replay trim` removes the old part.

      Stores of former versions of the program keep everything, and show the same. Upgrade all programs first.

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
    for zone in chosen {
      let plan =
        try write
        ? await opened.compact(zone, keeping: policy) : opened.compactionPlan(of: zone, keeping: policy)
      if store.json { lines.append(json(plan)) } else { try console.output.line(text(plan)) }
    }
    if store.json {
      try console.output.line(.object(["written": .bool(write), "zones": .array(lines)]))
    } else if chosen.isEmpty {
      try console.output.line("no zone was ever synced: nothing is compacted")
    } else if write {
      try console.output.line("sync the store: the floors work once they are in the log")
    } else {
      try console.output.line("--write does it")
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

  private func text(_ plan: CompactionPlan) -> String {
    var gone = [(plan.records, "deleted record"), (plan.values, "lost value")].filter { $0.0 > 0 }
      .map { Display.count($0.0, $0.1) }
    if plan.units > 0 {
      let words = plan.units == 1 ? "removed element or character" : "removed elements or characters"
      gone.append("\(Display.count(plan.units)) \(words)")
    }
    var text = "\(Display.zone(plan.zone))  "
    if let next = plan.next {
      text +=
        (write ? "named the floor \(Display.count(next))" : "the floor would be \(Display.count(next))")
        + (gone.isEmpty ? "; nothing is to go but stamps" : ", and go: \(gone.joined(separator: ", "))")
    } else {
      text += plan.floor > 0 ? "stays at the floor \(Display.count(plan.floor))" : "nothing can be compacted"
    }
    switch plan.limit {
    case .age: text += "; what comes next is younger than \(olderThan)"
    case .unsent: text += "; something that waits to be sent has not seen more"
    case .writers(let replicas):
      text += "; these writers have not seen more: " + replicas.map { "\($0)" }.joined(separator: ", ")
    case nil: break
    }
    return text
  }
}
