import ArgumentParser
import EventStore
import Replicator

/// `replay upgrade`: says what a store or a remote of a former version would become, and does it.
struct UpgradeCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade", abstract: "Rewrites a store or a remote of a former version.",
    discussion: """
      Without --write it only says what there is to do. Stores and remotes of former versions work without it.

      In a store, rows of records are written shorter, and small transactions share rows of the log, as addends of a \
      counter share rows. Without it a record's row gets shorter when the record changes. In a remote, each entry \
      gets the chain of its log, so that every reader sees at once if the log was changed: no segment and no offset changes. \
      Former versions of the program cannot read what was rewritten. Upgrade all programs first.

      It works in steps; other processes may read and write meanwhile. If it is interrupted, nothing is lost, and the next run continues.

      Examples:
        replay upgrade notes.store
        replay upgrade notes.store --write
        replay upgrade folder:/mnt/team/lists --write
      """)

  @Argument(
    help: ArgumentHelp(
      "The directory of a store, or a remote: folder:DIRECTORY or s3://BUCKET/PREFIX.", valueName: "place"))
  var place: String

  @Flag(name: .long, help: "Do it.")
  var write = false

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  private var isRemote: Bool { place.hasPrefix("folder:") || place.lowercased().hasPrefix("s3://") }
  var places: HintPlaces { isRemote ? HintPlaces(remote: place) : HintPlaces(store: place) }
  var hintIfInterrupted: String {
    write ? "what was rewritten is kept; the next run continues" : "nothing was changed; run it again"
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let progress = Progress(console)
    let lines: [String]
    let members: [Name: JSON]
    var hasProblem = false
    if isRemote {
      (lines, members, hasProblem) = try await upgradeRemote(progress, console)
    } else {
      (lines, members) = try await upgradeStore(progress, console)
    }
    if json {
      var members = members
      members["written"] = .bool(write)
      try console.output.line(.object(members))
    } else {
      for line in lines { try console.output.line(line) }
    }
    return hasProblem ? .problem : nil
  }

  /// Ends the sentence of what there is to do.
  private func end(_ isNeeded: Bool) -> String {
    write ? "" : isNeeded ? "; --write does it" : ": there is nothing to do"
  }

  // MARK: Stores

  private func upgradeStore(
    _ progress: Progress, _ console: Console
  ) async throws -> ([String], [Name: JSON]) {
    let options = try StoreOptions.parse([place])
    let store = try write ? options.openForWriting(console, creates: false) : options.openForReading(console)
    defer { store.close() }
    func update(_ report: UpgradeReport) throws {
      try progress.update("rows", done: min(report.done, report.total), total: report.total)
    }
    let format = try store.information().formatVersion
    let report = try await write ? store.upgrade(progress: update) : store.upgradeNeeded(progress: update)
    progress.end()
    let records = Display.count(report.records, "record")
    let transactions = Display.count(report.transactions, "transaction")
    let addends = report.addends > 0 ? " and \(Display.count(report.addends, "addend"))" : ""
    let isNeeded =
      report.records + report.transactions + report.addends > 0 || format < LocalStore.formatVersion
    let verb = write ? "were" : "would be"
    return (
      [
        "format \(format)"
          + (format < LocalStore.formatVersion
            ? "; it becomes \(LocalStore.formatVersion) when it is opened for writing" : ""),
        "\(records) \(verb) written shorter, by \(Display.count(report.bytesSaved, "byte")); "
          + "\(write ? "" : "up to ")\(transactions)\(addends) \(verb) joined with others" + end(isNeeded),
      ],
      [
        "format": .number(format), "records": .number(report.records),
        "bytesSaved": .number(report.bytesSaved), "transactions": .number(report.transactions),
        "addends": .number(report.addends),
      ]
    )
  }

  // MARK: Remotes

  private func upgradeRemote(
    _ progress: Progress, _ console: Console
  ) async throws -> ([String], [Name: JSON], hasProblem: Bool) {
    let remote = try RemoteAddress(place).withObjects(isReadOnly: !write, console)
    try await remote.log.check()
    let report = try await RemoteUpgrade(remote, writes: write).run {
      try progress.update("entries", done: $0)
    }
    progress.end()
    let logs = report.logs
    let verb = write ? "got" : "would get"
    let former = logs.reduce(0) { $0 + $1.former }
    var lines = logs.filter { $0.former > 0 || $0.stop != nil }.map { log in
      "\(Display.zone(log.zone))  \(Display.count(log.former, "entry", plural: "entries")) of "
        + "\(Display.count(log.entries)) \(verb) a chain"
        + (log.stop.map { "; from offset \($0.offset) on they stay: that entry \(Self.text($0.reason))" }
          ?? "")
    }
    for problem in report.listProblems {
      lines.append("the list of zones has an event that cannot be read, and its log stays: \(problem)")
    }
    let hasProblem = !report.listProblems.isEmpty || logs.contains { $0.stop?.reason == .unreadable }
    if hasProblem { lines.append("`replay remote \(place.argument)` says what is wrong, and what to do") }
    lines.append(
      "\(Display.count(former, "entry", plural: "entries")) in \(Display.count(logs.count, "log")) "
        + "\(verb) a chain" + end(former > 0))
    return (
      lines,
      [
        "problems": .array(report.listProblems.map { .string("\($0)") }),
        "logs": .array(
          logs.map { log in
            var members: [Name: JSON] = [
              "zone": .text(log.zone), "incarnation": .text(log.incarnation), "entries": .number(log.entries),
              "former": .number(log.former),
            ]
            if let stop = log.stop {
              members["stop"] = .number(stop.offset)
              members["stopReason"] = .text(stop.reason.rawValue)
            }
            return .object(members)
          }),
      ],
      hasProblem
    )
  }

  private static func text(_ reason: RemoteUpgrade.Stop.Reason) -> String {
    switch reason {
    case .unreadable: "cannot be read"
    case .givenUp: "was given up"
    case .leftOut: "does not continue the log, and readers leave it out"
    }
  }
}
